//! Guesses which threads form a process: a trace has no processes.
//!
//! A thread that executes a program or has no parent in the trace is a process. Its children that execute no program are
//! its threads: a shell's subshells appear as threads of the shell.

use hearth_trace::{Event, Header, Kind, ThreadInfo, Tid};
use std::collections::HashMap;

/// The last program of each thread.
#[derive(Default)]
pub struct Programs(HashMap<Tid, u32>);

/// Maximum number of ancestors: those of a damaged header may form a cycle.
const ANCESTORS: usize = 1000;

impl Programs {
    pub fn event(&mut self, event: &Event) {
        if let Kind::Exec { thread, name } = event.kind {
            self.0.insert(thread, name);
        }
    }

    /// The main thread of this thread's process.
    pub fn process(&self, thread: Tid, threads: &HashMap<Tid, &ThreadInfo>) -> Tid {
        let mut process = thread;
        for _ in 0..ANCESTORS {
            let parent = threads.get(&process).map_or(0, |thread| thread.parent);
            // The parent of a recorded command is the recorder, which is not in the tree.
            let known = threads.get(&parent).zip(threads.get(&process));
            let inside = known.is_some_and(|(parent, child)| parent.traced == child.traced);
            if self.0.contains_key(&process) || !inside || parent == process {
                return process;
            }
            process = parent;
        }
        thread
    }

    pub fn name<'a>(&self, thread: Tid, header: &'a Header) -> Option<&'a str> {
        let name = self.0.get(&thread)?;
        header.names.get(*name as usize).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_executes_nothing_belongs_to_its_parent() {
        let thread = |tid, parent| ThreadInfo { tid, parent, traced: true, ..ThreadInfo::default() };
        let threads = [thread(1, 0), thread(2, 1), thread(3, 2), thread(4, 3), thread(5, 6), thread(6, 5)];
        let by_tid: HashMap<Tid, &ThreadInfo> = threads.iter().map(|thread| (thread.tid, thread)).collect();
        let mut programs = Programs::default();
        programs.event(&Event { time: 0, core: 0, kind: Kind::Exec { thread: 3, name: 0 } });
        let processes: Vec<_> = (1..=4).map(|tid| programs.process(tid, &by_tid)).collect();
        assert_eq!(processes, [1, 1, 3, 3]);
        programs.process(5, &by_tid); // a ring: it ends
    }
}
