//! Signals that would end the recorder are caught, so that it can finish the trace and remove its tracefs instance.

use std::sync::atomic::{AtomicU32, Ordering};

const HELD: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Number of caught signals of each kind in [`HELD`].
static PENDING: [AtomicU32; HELD.len()] = [const { AtomicU32::new(0) }; HELD.len()];

extern "C" fn note(signal: i32) {
    if let Some(index) = HELD.iter().position(|held| *held == signal) {
        PENDING[index].fetch_add(1, Ordering::Relaxed);
    }
}

/// Catches signals until it is dropped.
pub struct Signals {
    before: [libc::sigaction; HELD.len()],
}

impl Signals {
    pub fn hold() -> Self {
        for pending in &PENDING {
            pending.store(0, Ordering::Relaxed);
        }
        // SAFETY: an all-zero `sigaction` is valid; `note` only touches atomics.
        let before = HELD.map(|signal| unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            // Ignored signals stay ignored (`nohup`).
            if before.sa_sigaction != libc::SIG_IGN {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = note as extern "C" fn(i32) as usize;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
            before
        });
        Signals { before }
    }

    /// The signals since the last call.
    pub fn take(&self) -> impl Iterator<Item = i32> {
        HELD.iter()
            .zip(&PENDING)
            .filter(|(_, pending)| pending.swap(0, Ordering::Relaxed) > 0)
            .map(|(signal, _)| *signal)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in HELD.iter().zip(&self.before) {
            // SAFETY: `before` is what `sigaction` returned for this signal.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
    }
}
