//! The numbers of a run. Field names are part of the `--json` interface: they stay.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The metrics of a trace. See `docs/src/metrics.md` for each definition.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Number of events, the skipped ones included.
    pub events: u64,
    /// Events that speak of cores which the machine does not have: nothing else was made of them.
    pub skipped_events: u64,
    /// Events that the recorder lost; `None` if nobody told (see [`crate::Trace::summary`]).
    pub lost_events: Option<u64>,
    /// Energy of the whole machine in joules; `None` if unknown.
    pub energy_j: Option<f64>,

    /// Sum of the underload of all 4 ms intervals, per second of the run.
    pub underload_per_s: f64,
    /// Overloaded cores while another core is idle, in core-milliseconds.
    pub overload_core_ms: f64,
    /// Busy cores slower than an idle one, in core-milliseconds.
    pub inversion_core_ms: f64,
    /// How often a core came to be slower than an idle one.
    pub inversions: u64,

    /// Cores (hardware threads) and sockets on which a traced thread ran.
    pub cores_used: u32,
    pub sockets_used: u32,
    /// Cores on which a traced thread ran in an interval of 4 ms: the mean of all intervals.
    #[serde(default)]
    pub cores_used_per_tick: f64,
    /// CPU time of the traced threads in core-seconds.
    pub busy_core_s: f64,
    /// Mean frequency while traced threads ran; `None` if no frequency is known.
    pub busy_ghz_mean: Option<f64>,
    /// Time that traced threads ran, by frequency, lowest first; zeros are left out.
    pub frequency_residency: Vec<Residency>,
    /// Time that traced threads ran at a frequency that nobody told.
    pub frequency_unknown_ms: f64,

    pub wakeup_latency_us: Latency,
    /// Wake-ups of traced threads, forks not included.
    #[serde(default)]
    pub wakeups: u64,
    /// Switches from or to a traced thread.
    pub context_switches: u64,
    /// How often a traced thread ran on another core than the last time.
    pub migrations: u64,
    pub migrations_by_distance: Migrations,
    /// Placements by the policy's reason.
    pub placements: BTreeMap<String, u64>,
    /// Time that idle loops spun to keep their cores warm, in core-milliseconds.
    pub spin_core_ms: f64,
}

/// Time spent at a frequency.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Residency {
    /// The frequency, to the nearest 0.1 GHz.
    pub ghz: f64,
    pub ms: f64,
}

/// Percentiles in microseconds, to three significant digits; the maximum is exact.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub max: f64,
}

/// Migrations by the nearest hardware that the two cores share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Migrations {
    /// Hyperthreads of one physical core.
    pub smt: u64,
    /// The same last-level cache.
    pub llc: u64,
    /// The same NUMA node.
    pub numa: u64,
    /// Nothing nearer than the machine.
    pub machine: u64,
}

impl Migrations {
    pub fn total(&self) -> u64 {
        self.smt + self.llc + self.numa + self.machine
    }
}
