//! Traces: event model, store, hash and metrics.
//!
//! Recorders and simulators write traces; reports, views, exporters and workload extraction read
//! them. [`ftrace`] assembles a trace from a kernel's scheduling events.

mod check;
mod energy;
mod event;
pub mod ftrace;
mod hash;
mod metrics;
mod played;
mod record;
pub mod series;
mod source;
mod store;

/// State of cores and threads after each event, and meters built on it, for consumers that need
/// more detail than [`Metrics`].
pub mod follow {
    pub use crate::metrics::{
        CoreState, Inversion, Observer, Occupant, Overload, Place, State, Underload, bin,
    };
}
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tiles;

pub use check::{Problem, Violation};
pub use energy::{EnergySampler, watts};
pub use event::*;
pub use hash::TraceHash;
pub use metrics::{
    Histogram, INVERSION_THRESHOLD_PERCENT, Latency, Metrics, Migrations, Residency, Summary,
    UNDERLOAD_INTERVAL,
};
pub use source::{
    Energy, Filter, FrequencyChange, INSTRUCTIONS, LaidOver, Method, RecordedPolicy, Recording,
    RunningPolicy, Source, Unrecorded,
};
pub use store::{Error, Group, KIND_NAMES, Reader, Row, Store, Writer};

/// A whole trace in memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    pub header: Header,
    pub events: Vec<Event>,
}
