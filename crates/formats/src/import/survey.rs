//! Which threads were recorded.
//!
//! In a system-wide recording, a switch to a thread is followed on that core by an event of that thread. perf without `-a`
//! records what its command does and nothing of other threads, not even how long they run.

use super::collect::RUNNING_THREAD;
use hearth_trace::ftrace::{EventKind, KernelEvent};
use std::collections::HashSet;

/// Finds the switches whose next thread was not recorded.
pub struct Survey {
    /// For each core, the switch whose next thread has had no event yet: the thread and the switch's number.
    open: Vec<Option<(i32, u64)>>,
    number: u64,
    /// Number of switches whose next thread had the next event.
    confirmed: u64,
    /// Number and next thread of the others.
    unconfirmed: Vec<(u64, i32)>,
    /// Threads that had an event.
    ran: HashSet<i32>,
}

impl Survey {
    pub fn new(cores: usize) -> Self {
        Survey {
            open: vec![None; cores],
            number: 0,
            confirmed: 0,
            unconfirmed: Vec::new(),
            ran: HashSet::new(),
        }
    }

    /// Takes the next event in order of time.
    pub fn event(&mut self, event: &KernelEvent) {
        self.number += 1;
        if matches!(event.kind, EventKind::Member { .. }) {
            return;
        }
        let open = &mut self.open[event.cpu as usize];
        let running = match event.kind {
            EventKind::Switch { prev, .. } => prev,
            // It has changed its pid already.
            EventKind::Exec { old_pid, .. } => old_pid,
            _ => event.pid,
        };
        if running != RUNNING_THREAD {
            self.ran.insert(running);
            match open.take() {
                Some((next, _)) if next == running => self.confirmed += 1,
                Some((next, switch)) => self.unconfirmed.push((switch, next)),
                None => {}
            }
        }
        if let EventKind::Switch { next, .. } = event.kind {
            *open = Some((next, self.number - 1));
        }
    }

    /// Numbers of the switches whose next thread was not recorded, in order; `None`: the recording is system-wide.
    ///
    /// Some switches are missing in system-wide recordings, too: kernels omit a few, and buffers overflow. But then the
    /// idle thread has events, or the threads themselves have some elsewhere.
    pub fn finish(mut self) -> Option<Vec<u64>> {
        let idle = self.ran.contains(&0);
        let missing = self.unconfirmed.len() as u64;
        let never_ran = self.unconfirmed.iter().filter(|(_, next)| !self.ran.contains(next)).count() as u64;
        let many = missing * 8 > self.confirmed && (missing >= 3 || !idle);
        let of_strangers = !idle && never_ran >= 3 && never_ran * 2 > missing;
        if missing == 0 || !many && !of_strangers {
            return None;
        }
        self.unconfirmed.extend(self.open.into_iter().flatten().map(|(next, switch)| (switch, next)));
        self.unconfirmed.sort_unstable();
        Some(self.unconfirmed.into_iter().map(|(switch, _)| switch).collect())
    }
}
