//! Interned names.

use std::collections::HashMap;

/// Set of names, each with a number.
#[derive(Default)]
pub struct Names {
    numbers: HashMap<Box<[u8]>, u32>,
    names: Vec<Box<[u8]>>,
    bytes: usize,
}

impl Names {
    /// Number of a name, which is added if it is new.
    pub fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.bytes += name.len() + 64;
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        number
    }

    /// Name with this number; empty if there is none.
    pub fn get(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).map_or(&[], |name| name)
    }

    pub fn text(&self, number: u32) -> String {
        String::from_utf8_lossy(self.get(number)).into_owned()
    }

    /// All names, in order of their numbers.
    pub fn texts(&self) -> Vec<String> {
        (0..self.names.len() as u32).map(|number| self.text(number)).collect()
    }

    /// Approximate memory use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
