//! Names of threads, and their grouping into processes.

use hearth_trace::{Header, IDLE, Tid};
use std::collections::HashMap;

/// The names of threads. A trace has no process IDs, so all threads of one name count as one process: the threads of
/// a server, but also all compilers of a build.
pub struct Names {
    names: Vec<String>,
    /// The name of each thread that the header lists.
    of: HashMap<Tid, u32>,
}

/// Index of a name.
pub type Name = u32;

/// The name of threads without one in the header.
pub const UNNAMED: Name = 0;
/// The waker of wake-ups without a waking thread.
pub const INTERRUPT: Name = 1;

impl Names {
    pub fn new(header: &Header) -> Self {
        let mut names = vec!["(unnamed)".to_owned(), "(interrupt)".to_owned()];
        let mut known: HashMap<&str, Name> = HashMap::new();
        let mut of = HashMap::with_capacity(header.threads.len());
        for thread in header.threads.iter().filter(|thread| !thread.name.is_empty()) {
            let name = *known.entry(&thread.name).or_insert_with(|| {
                names.push(thread.name.clone());
                names.len() as Name - 1
            });
            of.insert(thread.tid, name);
        }
        Names { names, of }
    }

    pub fn of(&self, thread: Tid) -> Name {
        self.of.get(&thread).copied().unwrap_or(UNNAMED)
    }

    pub fn text(&self, name: Name) -> &str {
        self.names.get(name as usize).map_or("(unnamed)", String::as_str)
    }

    pub fn thread(&self, thread: Tid) -> String {
        if thread == IDLE { "(idle)".into() } else { self.text(self.of(thread)).into() }
    }
}
