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
