//! Result of a comparison.

use hearth_scx::log::Ending;
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of disagreements that a report lists.
pub const LISTED: usize = 10;

/// The result of comparing a log with a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub policy: String,
    pub kernel: String,
    pub command: Vec<String>,
    pub cores: usize,
    /// Number of records read from the log.
    pub records: u64,
    pub threads: usize,
    /// Number of replayed handlers, by event.
    pub handlers: BTreeMap<&'static str, u64>,
    /// Number of equal decisions, by kind.
    pub decisions: BTreeMap<&'static str, u64>,
    /// Number of threads that handlers visited in walks over queues.
    pub visits: u64,
    /// Number of handlers that disagree.
    pub disagreements: u64,
    /// The first disagreements. Later ones may be their consequences.
    pub first: Vec<Disagreement>,
    pub ending: Ending,
}

impl Report {
    /// Whether all handlers agree.
    pub fn agrees(&self) -> bool {
        self.disagreements == 0
    }

    pub fn handlers(&self) -> u64 {
        self.handlers.values().sum()
    }

    pub fn decisions(&self) -> u64 {
        self.decisions.values().sum()
    }
}

/// A difference between the kernel and the native build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// Number of the handler, from 1.
    pub handler: u64,
    /// Number of the record with which the handler begins.
    pub record: u64,
    pub event: &'static str,
    /// 0 if the event has no thread.
    pub thread: u32,
    pub core: u32,
    /// Time in nanoseconds.
    pub now: i64,
    pub kernel: String,
    pub native: String,
}
