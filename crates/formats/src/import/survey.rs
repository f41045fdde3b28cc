//! Which threads were recorded.
//!
//! In a system-wide recording, a switch to a thread is followed on that core by an event of that thread. perf without `-a`
//! records what its command does and nothing of other threads, not even how long they run.

use super::collect::RUNNING_THREAD;
use hearth_trace::ftrace::{EventKind, KernelEvent};

/// Finds the switches whose next thread was not recorded.
pub struct Survey {
    /// For each core, the switch whose next thread has had no event yet: the thread and the switch's number.
    open: Vec<Option<(i32, u64)>>,
    number: u64,
    /// Number of switches whose next thread had the next event.
    confirmed: u64,
    unconfirmed: Vec<u64>,
    /// True if an idle thread was recorded.
    idle: bool,
}

impl Survey {
    pub fn new(cores: usize) -> Self {
        Survey { open: vec![None; cores], number: 0, confirmed: 0, unconfirmed: Vec::new(), idle: false }
    }

    /// Takes the next event in order of time.
    pub fn event(&mut self, event: &KernelEvent) {
        let open = &mut self.open[event.cpu as usize];
        let running = match event.kind {
            EventKind::Switch { prev, .. } => prev,
            // It has changed its pid already.
            EventKind::Exec { old_pid, .. } => old_pid,
            _ => event.pid,
        };
        if running != RUNNING_THREAD
            && let Some((next, switch)) = open.take()
        {
            match running == next {
                true => self.confirmed += 1,
                false => self.unconfirmed.push(switch),
            }
        }
        if let EventKind::Switch { prev, next, .. } = event.kind {
            self.idle |= prev == 0;
            *open = Some((next, self.number));
        }
        self.number += 1;
    }

    /// Numbers of the switches whose next thread was not recorded, in order; `None`: the recording is system-wide.
    ///
    /// Some switches are missing in system-wide recordings, too: kernels omit a few, and buffers overflow.
    pub fn finish(mut self) -> Option<Vec<u64>> {
        let missing = self.unconfirmed.len() as u64;
        if missing == 0 || missing * 8 <= self.confirmed || self.idle && missing < 3 {
            return None;
        }
        self.unconfirmed.extend(self.open.into_iter().flatten().map(|(_, switch)| switch));
        self.unconfirmed.sort_unstable();
        Some(self.unconfirmed)
    }
}
