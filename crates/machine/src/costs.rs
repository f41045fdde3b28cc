//! Costs of kernel operations.

use crate::topology::Level;
use serde::{Deserialize, Serialize};

/// Costs that the simulator adds to the threads' own cycles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Share of a thread's time at nominal frequency that is memory stall, in thousandths. Stall
    /// time does not shrink when the core's clock rises.
    pub stall_permille: u32,
    /// Context switch on one core, in nanoseconds: kernel path and registers, without cache
    /// effects.
    pub context_switch_ns: u32,
    /// Latency from the waker's interrupt to the woken core's scheduler, in nanoseconds. The exit
    /// latency of the idle state is added to it.
    pub remote_wakeup_ns: u32,
    /// Speed of each of two busy hyperthreads, in thousandths of the speed of one alone.
    pub smt_share_permille: u32,
    /// Time a thread loses when it runs on a different core than before.
    pub migration: MigrationCosts,
    /// CPU time from a wake-up or fork to the moment at which the waking thread can block, and from the wake-up by an
    /// exiting thread to its last switch, at nominal frequency: the way out of the kernel and in again. In
    /// nanoseconds.
    #[serde(default = "handover_ns")]
    pub handover_ns: u32,
    /// Time to look at another core's state in the search for a core.
    #[serde(default)]
    pub search: SearchCosts,
}

/// The value of a machine whose file has none. Measured on an AMD EPYC (Linux 6.18 in a virtual machine, `perf record -e
/// sched:sched_wakeup,sched:sched_switch`): 2.1 us for a pipe (`perf bench sched pipe`) and a futex; 4.4 us for an exit.
fn handover_ns() -> u32 {
    2_000
}

/// Time to read a cache line that another core has modified, by distance. A search reads at least one line of the
/// run queue of each core that it looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchCosts {
    /// From a core with the same last-level cache, in nanoseconds.
    pub llc_ns: u32,
    /// From any other core, in nanoseconds.
    pub machine_ns: u32,
}

impl SearchCosts {
    /// Time to look at this many cores with the same last-level cache and elsewhere, in nanoseconds.
    pub fn ns(&self, near: u32, far: u32) -> u64 {
        u64::from(near) * u64::from(self.llc_ns) + u64::from(far) * u64::from(self.machine_ns)
    }
}

/// The values of a machine whose file has none.
impl Default for SearchCosts {
    fn default() -> SearchCosts {
        SearchCosts {
            // 40.3 to 42.3 ns on a Xeon E5-2660 v4 (Broadwell) with Intel's Memory Latency Checker, L2 to L2,
            // modified, same socket (J. McCalpin, Intel forum, topic 700477).
            llc_ns: 42,
            // Assumption: three times as long between sockets.
            machine_ns: 126,
        }
    }
}

/// Time to refill the caches after a migration, by distance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationCosts {
    /// To the other hyperthread of the same physical core, in nanoseconds.
    pub smt_ns: u32,
    /// To another physical core with the same last-level cache, in nanoseconds.
    pub llc_ns: u32,
    /// To another last-level cache in the same NUMA node, in nanoseconds.
    pub numa_ns: u32,
    /// To another NUMA node, in nanoseconds.
    pub machine_ns: u32,
}

impl Costs {
    /// Cycles of work done per millisecond at `khz`. One cycle of work takes one clock at
    /// `nominal_khz`. Time per work = (1 - stall) / f + stall / nominal.
    pub fn work_khz(&self, khz: u32, nominal_khz: u32) -> u64 {
        let (f, nominal, stall) = (u64::from(khz), u64::from(nominal_khz), u64::from(self.stall_permille));
        (f * nominal * 1000).checked_div((1000 - stall.min(1000)) * nominal + stall * f).unwrap_or(0)
    }

    /// Time that a thread loses when its new core is at distance `level` from its last one, in
    /// nanoseconds.
    pub fn migration_ns(&self, level: Level) -> u32 {
        match level {
            Level::Core => 0,
            Level::Smt => self.migration.smt_ns,
            Level::Llc => self.migration.llc_ns,
            Level::Numa => self.migration.numa_ns,
            Level::Machine => self.migration.machine_ns,
        }
    }
}
