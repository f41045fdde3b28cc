//! Wake-ups that Linux queues on the target core. The target enqueues the thread, and so calls the governor for itself:
//! governors ignore calls from other cores.

use super::{Engine, Mode};
use hearth_machine::Level;
use hearth_policy::QueuedWakeups;

impl Engine<'_> {
    /// Calls the governor of core `to` for a thread that core `here` has woken.
    pub(super) fn governor_of_target(&mut self, to: u32, here: u32) {
        let idle = self.core(to).mode != Mode::Run;
        let queued = to != here
            && match self.queued {
                QueuedWakeups::None => false,
                QueuedWakeups::OtherCachesAndIdle if idle => true,
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
