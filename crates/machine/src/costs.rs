//! What the kernel's own paths cost.

use crate::topology::Level;
use serde::{Deserialize, Serialize};

/// Costs that the simulator charges, beside the threads' own cycles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Of a thread's time at nominal frequency, the part that waits for memory and does not shrink
    /// as the core's clock rises, in thousandths.
    pub stall_permille: u32,
    /// Switching from one thread to another on a core, in nanoseconds: kernel
    /// path and registers, without the cache.
    pub context_switch_ns: u32,
    /// From the waker's interrupt to the woken core's scheduler, in nanoseconds;
    /// on top comes the idle state's exit latency.
    pub remote_wakeup_ns: u32,
    /// What each of two busy hyperthreads gets of the physical core's speed, in
    /// thousandths of what it would get alone.
    pub smt_share_permille: u32,
    /// What a thread loses that runs on another core than last time.
    pub migration: MigrationCosts,
}

/// Time to refill the caches after a move, by how far the thread moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigrationCosts {
    /// To the hyperthread of the same physical core, in nanoseconds.
    pub smt_ns: u32,
    /// To another physical core below the same last-level cache.
    pub llc_ns: u32,
    /// To another last-level cache of the same NUMA node.
    pub numa_ns: u32,
    /// To another NUMA node.
    pub machine_ns: u32,
}

impl Costs {
    /// Cycles of work done in a millisecond at `khz`, where a cycle of work is what takes one
    /// clock at `nominal_khz`: time per work = (1 - stall) / f + stall / nominal.
    pub fn work_khz(&self, khz: u32, nominal_khz: u32) -> u64 {
        let (f, nominal, stall) = (u64::from(khz), u64::from(nominal_khz), u64::from(self.stall_permille));
        (f * nominal * 1000).checked_div((1000 - stall.min(1000)) * nominal + stall * f).unwrap_or(0)
    }

    /// Time lost by a thread that last ran at distance `level` from its new core.
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
