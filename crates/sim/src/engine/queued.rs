//! Wake-ups that Linux queues on the target core (`ttwu_queue_cond`, kernel/sched/core.c). The target enqueues the thread, and
//! so calls the governor for itself: governors ignore calls from other cores.

use super::{Engine, Mode};
use crate::batch::Job;
use hearth_machine::Level;

/// Which wake-ups are queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Queued {
    /// None: a scheduler of sched_ext without `SCX_OPS_ALLOW_QUEUED_WAKEUP`.
    No,
    /// Those from another last-level cache (Linux 5.4, 5.9).
    OtherCaches,
    /// Also those of idle cores (Linux 5.19 and later).
    OtherCachesAndIdle,
}

impl Queued {
    /// By the Linux that the policy stands for.
    pub fn of(job: &Job) -> Queued {
        let ir = job.policy.policy().ir();
        let is = |name: &str| job.policy.name() == name || ir.bases.iter().any(|base| base == name);
        match () {
            () if job.world.sched_ext => Queued::No,
            () if is("eevdf") => Queued::OtherCachesAndIdle,
            () if is("cfs") || is("cfs-5-4") => Queued::OtherCaches,
            () => Queued::No,
        }
    }
}

impl Engine<'_> {
    /// Calls the governor of core `to` for a thread that core `here` has woken.
    pub(super) fn governor_of_target(&mut self, to: u32, here: u32) {
        let idle = self.core(to).mode != Mode::Run;
        let queued = to != here
            && match self.queued {
                Queued::No => false,
                Queued::OtherCachesAndIdle if idle => true,
                _ => self.job.machine.topology.level(here as u16, to as u16) > Level::Llc,
            };
        match queued {
            // It is called when the core has left its idle state.
            true if idle => self.core(to).governor_due = true,
            true => self.update_util(to, to),
            false => self.update_util(to, here),
        }
    }

    /// A core has left its idle state.
    pub(super) fn governor_if_due(&mut self, core: u32) {
        if std::mem::take(&mut self.core(core).governor_due) {
            self.update_util(core, core);
            self.apply_frequencies();
        }
    }
}
