//! What a live Linux tells: the host's shape, and the recorder. (Policies are loaded by `hearth-scx`, workloads played by
//! `hearth-play`, virtual machines started by `hearth-vm`.)

mod host;
mod record;

pub use host::Host;
pub use record::{
    Assembled, Assembler, Decision, Decoder, EVENTS, Error, How, KernelEvent, Method, Missed, Options, Page,
    PageError, PageLayout, PageRecord, Quiet, Recorded, Recording, RunningPolicy, Scope, Session, Subject,
    What, record,
};
