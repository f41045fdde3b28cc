//! The recorder: it records how the scheduler moves a command and its children, or all threads of the system.
//!
//! Buffers are polled: a reader that wakes up for each event would record itself. There are two backends:
//!
//! - `bpf`: BPF programs (`runtime/record/record.bpf.c`) write words into shared memory (`bpf::lanes`, `bpf::words`).
//! - `tracefs`: the kernel's own trace events (`buffers`). It costs more, and works where BPF is not allowed.
//!
//! Both deliver rounds of bytes. A `spool` holds them for a thread of low priority, which decodes them and assembles the
//! trace (`convert`, `hearth_trace::ftrace`).

mod backend;
mod bpf;
mod buffers;
mod command;
mod convert;
mod error;
mod frequency;
mod round;
mod session;
mod signals;
mod spool;
mod tracefs;
mod user;

pub use convert::LowPriority;
pub use error::Error;
pub use hearth_trace::ftrace::{Assembled, Scope};
pub use session::{Recorded, Session, Stop};
pub use user::User;

use hearth_trace::{Event, Trace};
use std::process::ExitStatus;
use std::time::Duration;

/// How to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub method: MethodChoice,
    /// Size of the buffer of each core in KiB. It must hold the events of one `poll`; an event takes about 50 bytes
    /// with tracefs, 8 to 12 with BPF.
    pub buffer_kb: u32,
    /// Poll interval of the buffers.
    pub poll: Duration,
    /// Record ticks of processors without APERF and MPERF, too (BPF only). Their frequency is unknown, unless a model
    /// supplies it.
    pub all_ticks: bool,
}

impl Default for Options {
    /// 4 MiB per core, polled every 100 ms: with tracefs 800 000 events per second and core.
    fn default() -> Self {
        Options {
            method: MethodChoice::Auto,
            buffer_kb: 4096,
            poll: Duration::from_millis(100),
            all_ticks: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MethodChoice {
    /// BPF; tracefs where BPF cannot be used.
    #[default]
    Auto,
    Bpf,
    Tracefs,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command. It and its descendants are `traced`. The trace ends when the last of them exits, or with the command
    /// if some outlive it.
    Command(&'a [String]),
    /// The whole system, while a command runs.
    SystemWhile(&'a [String]),
    /// The whole system, for this time or until a signal (Ctrl-C).
    System(Option<Duration>),
    /// The whole system, until [`Stop::stop`]. Signals are left to the caller.
    UntilStopped,
}

/// Result of [`record`].
#[derive(Clone, Debug)]
pub struct RecordedTrace {
    pub trace: Trace,
    pub status: ExitStatus,
    /// Number of inserted switches and migrations, which the kernel did not report. They are counted in the header's
    /// `lost`, too.
    pub inferred: u64,
}

/// Runs a command and records it into memory. [`Session`] records into a sink while the command runs.
///
/// The command inherits standard input, output and error. Time 0 is its release. Needs root, or the rights to use BPF
/// or tracefs.
pub fn record(command: &[String], options: Options) -> Result<RecordedTrace, Error> {
    let session = Session::prepare(Subject::Command(command), options)?;
    let Recorded { assembled, status, .. } =
        session.run(&std::env::temp_dir(), LowPriority::new(Vec::<Event>::new), |_| ())?;
    let Assembled { sink: events, header, inferred, .. } = assembled;
    let status = status.ok_or(Error::NoCommand)?;
    Ok(RecordedTrace { trace: Trace { header, events }, status, inferred })
}
