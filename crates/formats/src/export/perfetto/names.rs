//! Names of threads, which `exec` changes.

use crate::numbers::Numbers;
use hearth_trace::{Header, Tid};
use std::collections::{HashMap, HashSet};

/// By the numbers of threads in the export.
pub struct Names<'a> {
    threads: HashMap<Tid, &'a str>,
    programs: &'a [String],
    /// Threads whose current name is written.
    written: HashSet<Tid>,
}

impl<'a> Names<'a> {
    pub fn new(header: &'a Header, numbers: &Numbers) -> Self {
        let threads = header.threads.iter().map(|thread| (numbers.of(thread.tid), thread.name.as_str()));
        Names { threads: threads.collect(), programs: &header.names, written: HashSet::new() }
    }

    /// The current name, if it is not written yet.
    pub fn unwritten(&mut self, thread: Tid) -> Option<&'a str> {
        let name = self.threads.get(&thread)?;
        self.written.insert(thread).then_some(*name)
    }

    pub fn exec(&mut self, thread: Tid, name: u32) {
        if let Some(name) = self.programs.get(name as usize) {
            self.threads.insert(thread, name);
            self.written.remove(&thread);
        }
    }
}
