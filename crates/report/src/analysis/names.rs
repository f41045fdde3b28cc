//! Names of threads, and groups of threads.

use hearth_trace::{Header, IDLE, Tid};
use std::collections::HashMap;

/// Groups of threads, each with a name: all threads of one name, or the threads of one process.
pub struct Names {
    groups: Vec<Group>,
    /// The group of each thread that the header lists.
    of: HashMap<Tid, Name>,
}

struct Group {
    name: String,
    /// The kernel's number of the process; `None`: the threads of this name.
    pid: Option<u32>,
}

/// Index of a group.
pub type Name = u32;

/// Threads without a name in the header.
pub const UNNAMED: Name = 0;
/// The waker of wake-ups without a waking thread.
pub const INTERRUPT: Name = 1;

#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Process(u32),
    Name(&'a str),
}

impl Names {
    /// Groups threads by their names.
    pub fn new(header: &Header) -> Self {
        Names::grouped(header, false)
    }

    /// Groups threads by their processes; those of unknown processes by their names.
    pub fn of_processes(header: &Header) -> Self {
        Names::grouped(header, true)
    }

    fn grouped(header: &Header, processes: bool) -> Self {
        let group = |name: &str, pid| Group { name: name.to_owned(), pid };
        let mut groups = vec![group("(unnamed)", None), group("(interrupt)", None)];
        let mut known: HashMap<Key, Name> = HashMap::new();
        let mut of = HashMap::with_capacity(header.threads.len());
        for thread in &header.threads {
            let index = thread.process.filter(|_| processes);
            let process = index.and_then(|index| Some((index, header.processes.get(index as usize)?)));
            let (key, name, pid) = match process {
                Some((index, process)) => (Key::Process(index), &process.name, Some(process.pid)),
                None if thread.name.is_empty() => continue,
                None => (Key::Name(&thread.name), &thread.name, None),
            };
            let name = *known.entry(key).or_insert_with(|| {
                groups.push(group(if name.is_empty() { "(unnamed)" } else { name }, pid));
                groups.len() as Name - 1
            });
            of.insert(thread.tid, name);
        }
        Names { groups, of }
    }

    pub fn of(&self, thread: Tid) -> Name {
        self.of.get(&thread).copied().unwrap_or(UNNAMED)
    }

    pub fn text(&self, name: Name) -> &str {
        self.groups.get(name as usize).map_or("(unnamed)", |group| &group.name)
    }

    /// The kernel's number of the process that a group is; `None`: it is the threads of one name.
    pub fn pid(&self, name: Name) -> Option<u32> {
        self.groups.get(name as usize)?.pid
    }

    pub fn thread(&self, thread: Tid) -> String {
        if thread == IDLE { "(idle)".into() } else { self.text(self.of(thread)).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::{ProcessInfo, ThreadInfo};

    /// Two processes of one name, a thread with a name of its own, and threads of unknown processes.
    #[test]
    fn a_process_is_no_name() {
        let thread =
            |tid, name: &str, process| ThreadInfo { tid, name: name.into(), process, ..Default::default() };
        let process = |pid, name: &str| ProcessInfo { pid, name: name.into(), parent: None };
        let header = Header {
            threads: vec![
                thread(1, "sh", Some(0)),
                thread(2, "worker", Some(0)),
                thread(3, "sh", Some(1)),
                thread(4, "sh", None),
                thread(5, "sh", None),
                thread(6, "", Some(2)),
                thread(7, "", Some(9)),
            ],
            processes: vec![process(10, "sh"), process(12, "sh"), process(13, "")],
            ..Header::default()
        };
        let found = |names: Names| {
            let of = |tid| (names.of(tid), names.text(names.of(tid)).to_owned(), names.pid(names.of(tid)));
            (1..=7).map(of).collect::<Vec<_>>()
        };
        let row = |index, name: &str, pid| (index, name.to_owned(), pid);
        let expected = [
            row(2, "sh", Some(10)),
            row(2, "sh", Some(10)),
            row(3, "sh", Some(12)),
            row(4, "sh", None),
            row(4, "sh", None),
            row(5, "(unnamed)", Some(13)),
            row(UNNAMED, "(unnamed)", None),
        ];
        assert_eq!(found(Names::of_processes(&header)), expected);
        let (sh, unnamed) = (row(2, "sh", None), row(UNNAMED, "(unnamed)", None));
        let expected =
            [sh.clone(), row(3, "worker", None), sh.clone(), sh.clone(), sh, unnamed.clone(), unnamed];
        assert_eq!(found(Names::new(&header)), expected);
    }
}
