//! A set of at most eight cores.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use serde::{Deserialize, Serialize};

/// Bit c: core c.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cores(pub u8);

impl Cores {
    pub const EMPTY: Cores = Cores(0);
    /// More cores than this do not fit.
    pub const MAX: usize = 8;

    pub fn one(core: u8) -> Cores {
        Cores(1 << core)
    }

    pub fn contains(self, core: u8) -> bool {
        self.0.checked_shr(core.into()).is_some_and(|bits| bits & 1 == 1)
    }

    pub fn insert(&mut self, core: u8) {
        self.0 |= 1 << core;
    }

    pub fn remove(&mut self, core: u8) {
        self.0 &= !(1 << core);
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..Self::MAX as u8).filter(move |core| self.contains(*core))
    }
}

impl FromIterator<u8> for Cores {
    fn from_iter<I: IntoIterator<Item = u8>>(cores: I) -> Cores {
        Cores(cores.into_iter().fold(0, |set, core| set | 1 << core))
    }
}

impl BitAnd for Cores {
    type Output = Cores;
    fn bitand(self, other: Cores) -> Cores {
        Cores(self.0 & other.0)
    }
}

impl BitOr for Cores {
    type Output = Cores;
    fn bitor(self, other: Cores) -> Cores {
        Cores(self.0 | other.0)
    }
}

impl Sub for Cores {
    type Output = Cores;
    fn sub(self, other: Cores) -> Cores {
        Cores(self.0 & !other.0)
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores: Vec<String> = self.iter().map(|core| core.to_string()).collect();
        write!(f, "{{{}}}", cores.join(" "))
    }
}
