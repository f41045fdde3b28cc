//! Rounds: the content of the kernel's buffers at one poll.

use hearth_trace::ftrace::{DamagedPage, Item};

/// Content of the buffers of all cores at one poll.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Bytes of each core.
    pub cores: Vec<Vec<u8>>,
    /// All events before this time are in this round or in earlier ones.
    pub complete_to: u64,
}

impl Round {
    pub fn bytes(&self) -> usize {
        self.cores.iter().map(Vec::len).sum()
    }
}

/// Decodes rounds into one stream of events in order of time.
pub trait Decode: Send {
    /// Takes a round. Passes the events up to its `complete_to`, and keeps later ones.
    fn round(&mut self, round: Round, take: &mut dyn FnMut(Item<'_>)) -> Result<(), DamagedPage>;
}

/// CLOCK_MONOTONIC in ns, the clock of all events.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
