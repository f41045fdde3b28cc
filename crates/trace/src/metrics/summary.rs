//! Results of the metrics. The field names are part of the `--json` interface and never change.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Metrics of a trace. `docs/src/metrics.md` defines each of them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Number of events, including skipped ones.
    pub events: u64,
    /// Events that refer to cores the machine does not have; they are ignored.
    pub skipped_events: u64,
    /// Events that the recorder lost; `None` if unknown (see [`crate::Trace::summary`]).
    pub lost_events: Option<u64>,
    /// Energy of the whole machine in joules; `None` if unknown.
    pub energy_j: Option<f64>,

    /// Sum of the underload of all 4 ms intervals, per second of the run.
    pub underload_per_s: f64,
    /// Time that cores were overloaded while another core was idle, in core-milliseconds.
    pub overload_core_ms: f64,
    /// Time that busy cores were slower than an idle one, in core-milliseconds.
    pub inversion_core_ms: f64,
    /// Number of times a core became slower than an idle one.
    pub inversions: u64,

    /// Number of cores (hardware threads) and sockets on which a traced thread ran.
    pub cores_used: u32,
    pub sockets_used: u32,
    /// Number of cores on which a traced thread ran in a 4 ms interval, averaged over all
    /// intervals.
    #[serde(default)]
    pub cores_used_per_tick: f64,
    /// CPU time of the traced threads in core-seconds.
    pub busy_core_s: f64,
    /// Mean frequency while traced threads ran; `None` if no frequency is known.
    pub busy_ghz_mean: Option<f64>,
    /// Time that traced threads ran, by frequency, lowest first; zeros are omitted.
    pub frequency_residency: Vec<Residency>,
    /// Time that traced threads ran at an unknown frequency, in core-milliseconds.
    pub frequency_unknown_ms: f64,

    pub wakeup_latency_us: Latency,
    /// Wake-ups of traced threads, forks not included.
    #[serde(default)]
    pub wakeups: u64,
    /// Number of switches from or to a traced thread.
    pub context_switches: u64,
    /// Number of times a traced thread ran on a different core than before.
    pub migrations: u64,
    pub migrations_by_distance: Migrations,
    /// Number of placements by the policy's reason.
    pub placements: BTreeMap<String, u64>,
    /// Time that idle loops spun to keep their cores warm, in core-milliseconds.
    pub spin_core_ms: f64,
}

/// Time spent at a frequency.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Residency {
    /// Frequency, rounded to 0.1 GHz.
    pub ghz: f64,
    pub ms: f64,
}

/// Latencies in microseconds. Percentiles have three significant digits; mean and maximum are exact. All are 0 if there is
/// none.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub max: f64,
}

/// Number of migrations by distance: the nearest hardware shared by the two cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Migrations {
    /// Within a physical core (to its other hyperthread).
    pub smt: u64,
    /// Within a last-level cache.
    pub llc: u64,
    /// Within a NUMA node.
    pub numa: u64,
    /// Between NUMA nodes.
    pub machine: u64,
}

impl Migrations {
    pub fn total(&self) -> u64 {
        self.smt + self.llc + self.numa + self.machine
    }
}
