//! Decisions of a handler.

use hearth_scx::log::{Record, kind};
use std::fmt;

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
    /// The decision of a record, if it has one.
    pub(crate) fn of(record: &Record) -> Option<Decision> {
        let (thread, core) = (record.thread, u32::from(record.core));
        Some(match record.kind {
            kind::READY => Decision::Ready {
                thread,
                core,
                queue: record.a as u32,
                key: record.b as i64,
                reason: record.c as u32,
            },
            kind::RUN => Decision::Run { thread },
            kind::BLOCKED => Decision::Blocked { thread },
            kind::TERMINATED => Decision::Terminated { thread },
            kind::ARM => Decision::Arm { thread, ns: record.a as i64 },
            kind::CANCEL => Decision::Cancel { thread },
            kind::KEEP_WARM => Decision::KeepWarm { core, ns: record.a as i64 },
            kind::PREEMPT => Decision::Preempt { core },
            kind::SET => Decision::Set { set: record.flag.into(), core, member: record.a != 0 },
            _ => return None,
        })
    }

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
