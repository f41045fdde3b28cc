//! Perfetto's process tree.

use crate::export::programs::Programs;
use crate::numbers::Numbers;
use crate::wire::Put;
use hearth_trace::{Header, ProcessInfo, ThreadInfo, Tid};
use std::collections::{HashMap, HashSet};

pub struct ProcessTree<'a> {
    header: &'a Header,
    numbers: &'a Numbers,
    programs: &'a Programs,
    threads: HashMap<Tid, &'a ThreadInfo>,
    /// Number of each process of the header; `None`: it has no thread, and its number is taken.
    processes: Vec<Option<u32>>,
}

impl<'a> ProcessTree<'a> {
    pub fn new(header: &'a Header, numbers: &'a Numbers, programs: &'a Programs) -> Self {
        let mut first: HashMap<u32, Tid> = HashMap::new();
        for thread in &header.threads {
            if let Some(process) = thread.process {
                first.entry(process).or_insert(thread.tid);
            }
        }
        // A pid that an earlier process had: the process takes the number of its first thread, which is unique.
        let mut taken = HashSet::new();
        let number = |(index, process): (u32, &ProcessInfo)| match taken.insert(process.pid) {
            true => Some(process.pid),
            false => first.get(&index).map(|thread| numbers.of(*thread)),
        };
        let processes = (0..).zip(&header.processes).map(number).collect();
        let threads = header.threads.iter().map(|thread| (thread.tid, thread)).collect();
        ProcessTree { header, numbers, programs, threads, processes }
    }

    fn number(&self, process: Option<u32>) -> Option<u32> {
        *self.processes.get(process? as usize)?
    }

    /// Number of a thread's process.
    fn of(&self, thread: &ThreadInfo) -> u32 {
        let guessed = || self.numbers.of(self.programs.process(thread.tid, &self.threads));
        self.number(thread.process).unwrap_or_else(guessed)
    }

    /// Describes a process of the header.
    pub fn process(&self, index: usize, process: &ProcessInfo) -> Option<Vec<u8>> {
        let number = self.processes[index]?;
        let parent = self.number(process.parent).unwrap_or(0);
        Some(described(number, parent, &process.name))
    }

    /// Describes a thread, and its process if it is guessed.
    pub fn thread(&self, thread: &ThreadInfo) -> Vec<u8> {
        let (number, process) = (self.numbers.of(thread.tid), self.of(thread));
        if number == process && self.number(thread.process).is_none() {
            let parent = self.threads.get(&thread.parent).map_or(0, |parent| self.of(parent));
            let program = self.programs.name(thread.tid, self.header);
            return described(number, parent, program.unwrap_or(&thread.name));
        }
        let mut tree = Vec::new();
        tree.message(2, |message| {
            message.number(1, number.into());
            message.text(2, &thread.name);
            message.number(3, process.into());
        });
        tree
    }
}

fn described(number: u32, parent: u32, name: &str) -> Vec<u8> {
    let mut tree = Vec::new();
    tree.message(1, |message| {
        message.number(1, number.into());
        message.number(2, parent.into());
        message.text(3, name);
    });
    tree
}
