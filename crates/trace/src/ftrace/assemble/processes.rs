//! The table of processes: kernel numbers, and which process forked which.

use super::threads::Thread;
use crate::ftrace::names::Names;
use crate::{IDLE, ProcessInfo};
use std::collections::HashMap;

struct Process {
    pid: i32,
    /// Parent of a process that existed before the recording.
    parent: Option<u32>,
}

#[derive(Default)]
pub(super) struct Processes {
    processes: Vec<Process>,
    /// The process that has a kernel number now.
    living: HashMap<i32, u32>,
    /// Process of threads that have not been seen so far.
    expected: HashMap<i32, i32>,
    /// Parents of processes that have not been seen so far.
    parents: HashMap<i32, i32>,
}

impl Processes {
    /// A thread that has not been seen so far belongs to this process.
    pub(super) fn expect(&mut self, thread: i32, process: i32) {
        self.expected.insert(thread, process);
    }

    /// The same, of a process in the table; `None`: unknown.
    pub(super) fn expect_in(&mut self, thread: i32, process: Option<u32>) {
        match process {
            Some(process) => self.expect(thread, self.processes[process as usize].pid),
            None => drop(self.expected.remove(&thread)),
        }
    }

    /// Index of the process of a new thread, if it is known.
    pub(super) fn of_new_thread(&mut self, thread: i32) -> Option<u32> {
        let process = self.expected.remove(&thread)?;
        Some(self.living(process))
    }

    /// The kernel gives this number to a new thread: no process has it any more.
    pub(super) fn ended(&mut self, pid: i32) {
        self.living.remove(&pid);
        self.parents.remove(&pid);
    }

    /// Index of the process that has this kernel number now. It and its ancestors are added if they are new.
    pub(super) fn living(&mut self, pid: i32) -> u32 {
        if let Some(process) = self.living.get(&pid) {
            return *process;
        }
        let added = self.add(pid);
        let (mut child, mut child_pid) = (added, pid);
        // Each step takes an entry, so it ends.
        while let Some(parent) = self.parents.remove(&child_pid) {
            let known = self.living.get(&parent).copied();
            let process = known.unwrap_or_else(|| self.add(parent));
            self.processes[child as usize].parent = Some(process).filter(|process| *process != child);
            if known.is_some() {
                break;
            }
            (child, child_pid) = (process, parent);
        }
        added
    }

    fn add(&mut self, pid: i32) -> u32 {
        let process = self.processes.len() as u32;
        self.processes.push(Process { pid, parent: None });
        self.living.insert(pid, process);
        process
    }

    pub(super) fn parent(&mut self, process: i32, parent: i32) {
        match self.living.get(&process).copied() {
            None => drop(self.parents.insert(process, parent)),
            Some(child) => {
                let parent = self.living(parent);
                let known = &mut self.processes[child as usize].parent;
                *known = known.or(Some(parent).filter(|parent| *parent != child));
            }
        }
    }

    /// Descriptions for the trace. `early_names` are those of threads that were not seen.
    pub(super) fn describe(
        &self,
        threads: &[Thread],
        names: &Names,
        early_names: &HashMap<i32, u32>,
    ) -> Vec<ProcessInfo> {
        let describe = |process: &Process| ProcessInfo {
            pid: process.pid as u32,
            name: early_names.get(&process.pid).map(|name| names.text(*name)).unwrap_or_default(),
            parent: process.parent,
        };
        let mut described: Vec<ProcessInfo> = self.processes.iter().map(describe).collect();
        for thread in threads {
            let Some(index) = thread.process else { continue };
            let process = &mut described[index as usize];
            // The first thread has the number of its process, and so has one that took its place by `exec`.
            if thread.pid as u32 != process.pid {
                continue;
            }
            process.name = names.text(thread.name);
            if process.parent.is_none() && thread.parent != IDLE {
                let parent = threads[thread.parent as usize - 1].process;
                process.parent = parent.filter(|parent| *parent != index);
            }
        }
        described
    }
}
