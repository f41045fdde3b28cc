//! What is taken from the kernel's buffers at one time, and how the rounds of all cores become one stream.

use super::decode::KernelEvent;
use super::page;

/// What one emptying of the buffers gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Bytes of each core.
    pub cores: Vec<Vec<u8>>,
    /// All events before this time are here, or were in earlier rounds.
    pub complete_to: u64,
}

impl Round {
    pub fn bytes(&self) -> usize {
        self.cores.iter().map(Vec::len).sum()
    }
}

/// What the stream consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Event(KernelEvent<'a>),
    /// Before the next event of `cpu`, events were lost: how many, if the kernel knows.
    Lost {
        cpu: u32,
        count: Option<u64>,
    },
}

/// Makes one stream of what the buffers of all cores hold, in order of time.
pub trait Decode: Send {
    /// Takes a round. Gives what is not after its `complete_to`, and keeps the rest. The error names the core whose
    /// data is damaged.
    fn round(&mut self, round: Round, take: &mut dyn FnMut(Item<'_>)) -> Result<(), (u32, page::Error)>;
}

/// CLOCK_MONOTONIC in ns: the time of all events.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
