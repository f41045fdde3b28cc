//! Result of a comparison.

use hearth_scx::log::Ending;
use serde::Serialize;
use std::collections::BTreeMap;

/// Disagreements that are kept in full.
pub const KEPT: usize = 10;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub policy: String,
    pub kernel: String,
    pub command: Vec<String>,
    pub cores: usize,
    /// Records of the log that were read.
    pub records: u64,
    pub threads: usize,
    /// Calls of handlers that were repeated, by event.
    pub handlers: BTreeMap<&'static str, u64>,
    /// Decisions that were compared, by kind.
    pub decisions: BTreeMap<&'static str, u64>,
    /// Threads that handlers came to when they walked over queues.
    pub visits: u64,
    /// Handlers that disagree.
    pub disagreements: u64,
    /// The first of them: what follows may be their consequence.
    pub first: Vec<Disagreement>,
    pub ending: Ending,
}

impl Report {
    /// All agree, and the log is whole.
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
    /// Of the handler, from 1.
    pub handler: u64,
    /// Of the record with which it begins.
    pub record: u64,
    pub event: &'static str,
    /// 0: the event is about no thread.
    pub thread: u32,
    pub core: u32,
    /// ns
    pub now: i64,
    pub kernel: String,
    pub native: String,
}
