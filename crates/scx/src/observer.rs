//! What a recorder of a running policy implements. This crate does not know the recorder.

use hearth_trace::{FrequencyChange, RunningPolicy};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// Error of an observer, shown without a prefix.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Records a policy, from its loading to its end. Dropped, it ends, and the trace is complete up to then.
pub trait Observer: Send {
    /// Begins to fill the buffers. The policy is loaded, and not attached yet, so that no decision is missed.
    fn loaded(&mut self, policy: RunningPolicy) -> Result<(), Error>;

    /// Returns where to send the frequencies of a model. Called before [`Observer::attached`].
    fn model(&mut self, machine: &str, khz_range: (u32, u32)) -> Result<Sender<FrequencyChange>, Error>;

    /// Begins to write the trace. With a command, the trace is that of this process and its descendants.
    fn attached(&mut self, command: Option<(i32, Vec<String>)>);

    /// Completes the trace. The policy may never have been attached.
    fn ended(self: Box<Self>) -> Result<Recorded, Error>;
}

/// A trace to record.
#[derive(Clone, Debug)]
pub struct Record {
    pub path: PathBuf,
    /// Checks that the trace can be recorded, before the policy is loaded.
    pub prepare: fn(&Path) -> Result<Box<dyn Observer>, Error>,
}

/// Result of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub path: PathBuf,
    pub events: u64,
    pub threads: usize,
    /// Number of lost events, without inserted ones.
    pub lost: u64,
}
