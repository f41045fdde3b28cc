//! What handlers decide, and the calls of handlers.

use std::fmt;

/// An operation of `struct saakm_ops` that changes something. `thread` is an index into [`Memory`](super::Memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Ready { thread: u32, core: u32, queue: u32, key: i64, reason: u32 },
    Run { thread: u32 },
    Blocked { thread: u32 },
    Terminated { thread: u32 },
    Arm { thread: u32, ns: i64 },
    Cancel { thread: u32 },
    KeepWarm { core: u32, ns: i64 },
    Preempt { core: u32 },
    Set { set: u32, core: u32, member: bool },
}

impl Decision {
    /// The kind of the decision, for counting.
    pub fn name(&self) -> &'static str {
        match self {
            Decision::Ready { .. } => "ready",
            Decision::Run { .. } => "run",
            Decision::Blocked { .. } => "blocked",
            Decision::Terminated { .. } => "terminated",
            Decision::Arm { .. } => "arm",
            Decision::Cancel { .. } => "cancel",
            Decision::KeepWarm { .. } => "keep_warm",
            Decision::Preempt { .. } => "preempt",
            Decision::Set { .. } => "set",
        }
    }

    /// The thread, if it is about one.
    pub fn thread_mut(&mut self) -> Option<&mut u32> {
        match self {
            Decision::Ready { thread, .. }
            | Decision::Run { thread }
            | Decision::Blocked { thread }
            | Decision::Terminated { thread }
            | Decision::Arm { thread, .. }
            | Decision::Cancel { thread } => Some(thread),
            Decision::KeepWarm { .. } | Decision::Preempt { .. } | Decision::Set { .. } => None,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decision::Ready { thread, core, queue, key, reason } => {
                write!(f, "thread {thread} => core {core}, queue {queue}, key {key}, reason {reason}")
            }
            Decision::Run { thread } => write!(f, "thread {thread} => running"),
            Decision::Blocked { thread } => write!(f, "thread {thread} => blocked"),
            Decision::Terminated { thread } => write!(f, "thread {thread} => terminated"),
            Decision::Arm { thread, ns } => write!(f, "arms the timer of thread {thread} for {ns} ns"),
            Decision::Cancel { thread } => write!(f, "cancels the timer of thread {thread}"),
            Decision::KeepWarm { core, ns } => write!(f, "keeps core {core} warm for {ns} ns"),
            Decision::Preempt { core } => write!(f, "preempts core {core}"),
            Decision::Set { set, core, member: true } => write!(f, "core {core} enters set {set}"),
            Decision::Set { set, core, member: false } => write!(f, "core {core} leaves set {set}"),
        }
    }
}
