//! Rows of a table of events, with names instead of numbers.

use hearth_trace::{Event, Header, Kind, Stop, ThreadInfo, Tid, Waker};
use std::collections::HashMap;

/// Columns of every table, in order.
pub const COLUMNS: [&str; 12] = [
    "time_ns",
    "core",
    "kind",
    "thread",
    "thread_name",
    "other",
    "target",
    "detail",
    "value",
    "tid",
    "pid",
    "process",
];

/// Columns that a kind does not use are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    pub time: u64,
    pub core: u16,
    pub kind: &'static str,
    /// Thread of the event. Switch: the previous thread.
    pub thread: Option<u32>,
    pub thread_name: Option<&'a str>,
    /// Second thread. Switch: the next thread; wake-up: the waker (none: an interrupt); fork: the child.
    pub other: Option<u32>,
    pub target: Option<u16>,
    pub detail: Option<&'a str>,
    /// Frequency in kHz, or length.
    pub value: Option<u32>,
    /// The kernel's numbers of `thread` and of its process, and the process's name; none: unknown.
    pub tid: Option<u32>,
    pub pid: Option<u32>,
    pub process: Option<&'a str>,
}

/// Converts events to rows.
pub struct Rows<'a> {
    header: &'a Header,
    names: HashMap<Tid, &'a str>,
    threads: HashMap<Tid, &'a ThreadInfo>,
    /// Numbers of cores as text, for the source core of a migration.
    cores: Vec<String>,
}

impl<'a> Rows<'a> {
    pub fn new(header: &'a Header) -> Self {
        let names = header.threads.iter().map(|thread| (thread.tid, thread.name.as_str())).collect();
        let cores = (0..header.cores.len()).map(|core| format!("from core {core}")).collect();
        let threads = header.threads.iter().map(|thread| (thread.tid, thread)).collect();
        Rows { header, names, threads, cores }
    }

    pub fn row(&mut self, event: &Event) -> Row<'_> {
        if let Kind::Exec { thread, name } = event.kind
            && let Some(name) = self.header.names.get(name as usize)
        {
            self.names.insert(thread, name);
        }
        let mut row = Row {
            time: event.time,
            core: event.core,
            kind: kind_name(&event.kind),
            thread: None,
            thread_name: None,
            other: None,
            target: None,
            detail: None,
            value: None,
            tid: None,
            pid: None,
            process: None,
        };
        self.fill(&mut row, event.kind);
        let thread = row.thread.and_then(|thread| self.threads.get(&thread));
        row.tid = thread.and_then(|thread| thread.kernel_tid);
        if let Some(process) = thread.and_then(|thread| self.header.processes.get(thread.process? as usize)) {
            row.pid = Some(process.pid);
            row.process = Some(process.name.as_str()).filter(|name| !name.is_empty());
        }
        row.thread_name = row.thread.and_then(|thread| self.names.get(&thread).copied());
        row
    }

    fn fill<'s>(&'s self, row: &mut Row<'s>, kind: Kind) {
        let name = |names: &'s [String], number: usize| names.get(number).map(String::as_str);
        let on = |on| if on { "on" } else { "off" };
        match kind {
            Kind::Switch { prev, stop, next } => {
                (row.thread, row.other, row.detail) = (Some(prev), Some(next), Some(stop_name(stop)));
            }
            Kind::Wakeup { thread, waker, target, .. } => {
                (row.thread, row.target) = (Some(thread), Some(target));
                match waker {
                    Waker::Thread(waker) => row.other = Some(waker),
                    Waker::Interrupt => row.detail = Some("interrupt"),
                }
            }
            Kind::Fork { parent, child, target } => {
                (row.thread, row.other, row.target) = (Some(parent), Some(child), Some(target));
            }
            Kind::Exec { thread, name: number } => {
                (row.thread, row.detail) = (Some(thread), name(&self.header.names, number as usize));
            }
            Kind::Exit { thread } | Kind::Wait { thread } => row.thread = Some(thread),
            Kind::Migrate { thread, from, to } => {
                (row.thread, row.target) = (Some(thread), Some(to));
                row.detail = name(&self.cores, from.into());
            }
            Kind::Place { thread, target, reason, seen_khz } => {
                (row.thread, row.target) = (Some(thread), Some(target));
                (row.detail, row.value) = (name(&self.header.reasons, reason.into()), Some(seen_khz));
            }
            Kind::Frequency { khz } | Kind::Tick { khz } => row.value = Some(khz),
            Kind::Idle { state } => {
                row.value = Some(state.into());
                row.detail = name(&self.header.idle_states, state.into());
            }
            Kind::Spin { on: spins } => row.detail = Some(on(spins)),
            Kind::Queue { length } => row.value = Some(length.into()),
            Kind::Set { set, member } => {
                row.detail = name(&self.header.sets, set.into());
                row.value = Some(member.into());
            }
        }
    }
}

fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Switch { .. } => "switch",
        Kind::Wakeup { .. } => "wakeup",
        Kind::Fork { .. } => "fork",
        Kind::Exec { .. } => "exec",
        Kind::Exit { .. } => "exit",
        Kind::Wait { .. } => "wait",
        Kind::Migrate { .. } => "migrate",
        Kind::Place { .. } => "place",
        Kind::Frequency { .. } => "frequency",
        Kind::Tick { .. } => "tick",
        Kind::Idle { .. } => "idle",
        Kind::Spin { .. } => "spin",
        Kind::Queue { .. } => "queue",
        Kind::Set { .. } => "set",
    }
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Preempted => "preempted",
        Stop::Yielded => "yielded",
        Stop::Blocked => "blocked",
        Stop::Exited => "exited",
    }
}
