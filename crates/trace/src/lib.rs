//! Traces: the event model, the store, the hash and the metrics.
//!
//! This is the middle of Hearth: recorders and simulators write traces; reports, views,
//! exporters and workload extraction read them.

mod check;
mod event;
mod hash;
mod metrics;
mod played;
mod record;
pub mod series;
mod store;
#[cfg(test)]
mod testing;
pub mod tiles;

pub use check::{Problem, Violation};
pub use event::*;
pub use hash::TraceHash;
pub use metrics::{
    INVERSION_THRESHOLD_PERCENT, Latency, Metrics, Migrations, Residency, Summary, UNDERLOAD_INTERVAL,
};
pub use store::{Error, Group, Reader, Store, Writer};

/// A whole trace in memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    pub header: Header,
    pub events: Vec<Event>,
}
