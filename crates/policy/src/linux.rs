//! The Linux that a policy stands for.

use crate::Policy;

/// The wake-ups that Linux queues on the target core, which then enqueues the thread itself (`ttwu_queue_cond`,
/// kernel/sched/core.c).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueuedWakeups {
    /// None: a policy that is no part of Linux.
    None,
    /// Those from another last-level cache (Linux 5.4, 5.9).
    OtherCaches,
    /// Also those of idle cores (Linux 5.19 and later).
    OtherCachesAndIdle,
}

impl Policy {
    /// The wake-ups that are queued if the policy is built into the Linux of its base.
    pub fn queued_wakeups(&self) -> QueuedWakeups {
        let is = |name: &str| self.name() == name || self.ir().bases.iter().any(|base| base == name);
        if is("eevdf") {
            QueuedWakeups::OtherCachesAndIdle
        } else if is("cfs") || is("cfs-5-4") {
            QueuedWakeups::OtherCaches
        } else {
            QueuedWakeups::None
        }
    }
}
