//! What happened in a step, for those who want to know.

use hearth_ipanema::ir::Event;

use crate::access::Access;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// A handler begins; `thread` is `NO_THREAD` for an event of a core.
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
    /// The core has nothing to do.
    Idle,
    /// It was about to go idle, but a thread has come.
    StaysAwake,
}

pub type Log = Vec<Happening>;
