//! The log of a step: what the events and accesses in it were.

use hearth_ipanema::ir::Event;

use crate::access::Access;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogEntry {
    /// A handler begins. `thread` is `NO_THREAD` for an event of a core.
    Begins {
        event: Event,
        thread: u8,
        core: u8,
    },
    Access {
        event: Event,
        access: Access,
        result: i64,
    },
    /// The core goes idle.
    Idle,
    /// The core was about to go idle, but a thread became ready on it.
    StaysAwake,
}

pub type Log = Vec<LogEntry>;
