//! Threads that move between cgroups, as the kernel reports them (`runtime/bpf/cgroups.h`).

use crate::error::Error;
use crate::layout::PROCESS_AT;
use libbpf_rs::{MapCore, RingBufferBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A thread that may have entered or left the cgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    pub tid: i32,
    /// With all threads of its process.
    pub process: bool,
}

impl Move {
    fn of(bytes: &[u8]) -> Option<Move> {
        let word = u64::from_ne_bytes(*bytes.first_chunk()?);
        Some(Move { tid: word as u32 as i32, process: word >> PROCESS_AT != 0 })
    }
}

/// Waits for moves until it is dropped.
#[derive(Debug)]
pub struct Moves {
    ending: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Moves {
    /// How long the end waits for the reader.
    const POLL: Duration = Duration::from_millis(100);

    /// Calls `take` in a thread of its own.
    ///
    /// # Errors
    /// The ring buffer cannot be mapped.
    pub fn watch(map: &dyn MapCore, mut take: impl FnMut(Move) + Send + 'static) -> Result<Moves, Error> {
        let mut builder = RingBufferBuilder::new();
        let each = move |bytes: &[u8]| {
            Move::of(bytes).into_iter().for_each(&mut take);
            0
        };
        let ring = builder.add(map, each).map(|_| ()).and_then(|()| builder.build());
        let ring =
            ring.map_err(|error| Error::Object(format!("moves between cgroups cannot be read: {error}")))?;
        let ending = Arc::new(AtomicBool::new(false));
        let stop = ending.clone();
        let reader = thread::spawn(move || {
            while !stop.load(Ordering::Acquire) {
                // Fails if a signal interrupts it.
                let _ = ring.poll(Moves::POLL);
            }
        });
        Ok(Moves { ending, reader: Some(reader) })
    }
}

impl Drop for Moves {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        let _ = self.reader.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_read_as_the_kernel_writes_them() {
        let of = |word: u64| Move::of(&word.to_ne_bytes());
        assert_eq!(of(77), Some(Move { tid: 77, process: false }));
        assert_eq!(of(77 | 1 << 32), Some(Move { tid: 77, process: true }));
        assert_eq!(Move::of(&[0; 7]), None);
    }
}
