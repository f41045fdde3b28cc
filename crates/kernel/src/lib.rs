//! What a live Linux tells: the host's shape, and the recorder. (Policies are loaded by `hearth-scx`, workloads played by
//! `hearth-play`, virtual machines started by `hearth-vm`.)

mod host;
mod record;

pub use host::Host;
pub use record::{
    Assembled, Assembler, Decoder, EVENTS, Error, KernelEvent, Method, Missed, Options, Page, PageError,
    PageLayout, PageRecord, Quiet, Recorded, Recording, Scope, Session, Subject, What, record,
};
