//! The recorder: it records how the scheduler moves a command and its children, or all threads of the system. Also the
//! description of the [`Host`].
//!
//! Buffers are polled: a reader that wakes up for each event would record itself. There are two backends:
//!
//! - `bpf`: BPF programs (`runtime/record/record.bpf.c`) write words into shared memory (`bpf::lanes`, `bpf::words`).
//! - `tracefs`: the kernel's own trace events (`buffers`). It costs more, and works where BPF is not allowed.
//!
//! Both deliver rounds of bytes. A `spool` holds them for a thread of low priority, which decodes them and assembles the
//! trace (`convert`, `hearth_ftrace`).

mod bpf;
mod buffers;
mod command;
mod convert;
mod error;
mod host;
mod how;
mod round;
mod session;
mod signals;
mod spool;
mod tracefs;

pub use convert::Quiet;
pub use error::Error;
pub use hearth_ftrace::{Assembled, Scope};
pub use host::Host;
pub use how::How;
pub use session::{Recorded, RunningPolicy, Session};

use hearth_trace::{Event, Trace};
use std::process::ExitStatus;
use std::time::Duration;

/// How to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub method: Method,
    /// Size of the buffer of each core in KiB. It must hold the events of one `poll`; an event takes about 50 bytes
    /// with tracefs, 8 to 12 with BPF.
    pub buffer_kb: u32,
    /// How often the buffers are emptied.
    pub poll: Duration,
}

impl Default for Options {
    /// 4 MiB a core, emptied every 100 ms: with tracefs 800 000 events per second and core.
    fn default() -> Self {
        Options { method: Method::Auto, buffer_kb: 4096, poll: Duration::from_millis(100) }
    }
}

/// By what means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    /// BPF; tracefs where BPF cannot be used.
    #[default]
    Auto,
    Bpf,
    Tracefs,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command. What descends from it is `traced`; the trace ends with the last of its threads, or, if some outlive
    /// it, with the command.
    Command(&'a [String]),
    /// Everything, while a command runs.
    SystemWhile(&'a [String]),
    /// Everything, for so long, or until a signal (Ctrl-C).
    System(Option<Duration>),
}

/// What [`record`] returns.
#[derive(Clone, Debug)]
pub struct Recording {
    pub trace: Trace,
    /// How the command ended.
    pub status: ExitStatus,
    /// Switches and moves that the kernel did not tell of. They were put in where other events show that
    /// they happened, and are counted in the header's `lost`.
    pub inferred: u64,
}

/// Runs a command, and records what its threads do until it ends, into memory. ([`Session`] gives the events to a
/// sink while the command runs.)
///
/// The command inherits standard input, output and error. Time 0 is when it is let go. Needs root, or the rights to
/// use BPF or tracefs.
pub fn record(command: &[String], options: Options) -> Result<Recording, Error> {
    let session = Session::prepare(Subject::Command(command), options)?;
    let Recorded { assembled, status, .. } =
        session.run(&std::env::temp_dir(), Quiet::new(Vec::<Event>::new), |_| ())?;
    let Assembled { sink: events, header, inferred, .. } = assembled;
    let status = status.ok_or(Error::NoCommand)?;
    Ok(Recording { trace: Trace { header, events }, status, inferred })
}
