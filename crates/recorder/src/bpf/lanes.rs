//! Shared memory into which the BPF programs write the words of each core.

use super::bindings;
use std::os::fd::AsRawFd;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

// Offsets in a lane.
const LOST: usize = bindings::LOST_AT as usize;
const TAIL: usize = bindings::TAIL_AT as usize;
const WORDS: usize = bindings::WORDS_AT as usize;

/// The lanes of all cores. Lane `n` is that of the kernel's CPU `n`.
pub struct Lanes {
    base: *mut u8,
    bytes: usize,
    /// Number of words of each lane, a power of two.
    words: u64,
    /// The next word of each lane.
    next: Vec<u64>,
}

// SAFETY: all access to the memory, which the kernel writes too, is atomic.
unsafe impl Send for Lanes {}

impl Lanes {
    /// Size of a lane in bytes.
    pub fn lane_bytes(words: u64) -> usize {
        WORDS + words as usize * 8
    }

    /// Maps the lanes of an array map with `count` values of [`Lanes::lane_bytes`].
    pub fn map(map: BorrowedFd<'_>, count: usize, words: u64) -> std::io::Result<Self> {
        let bytes = Self::lane_bytes(words) * count;
        // SAFETY: a new mapping, whose address the kernel chooses.
        let base = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, map.as_raw_fd(), 0)
        };
        match base {
            libc::MAP_FAILED => Err(std::io::Error::last_os_error()),
            base => Ok(Lanes { base: base.cast(), bytes, words, next: vec![0; count] }),
        }
    }

    /// A word at this offset of a lane.
    fn at(&self, lane: usize, offset: usize) -> &AtomicU64 {
        assert!(lane < self.next.len() && offset < Self::lane_bytes(self.words));
        // SAFETY: within the mapping, as just checked; aligned, because everything is a multiple of 8; and atomic,
        // because the kernel writes it.
        unsafe { AtomicU64::from_ptr(self.base.add(lane * Self::lane_bytes(self.words) + offset).cast()) }
    }

    /// Takes the available words of a core, without their lap bits, as bytes. Frees their room.
    pub fn drain(&mut self, cpu: u32) -> Vec<u8> {
        let lane = cpu as usize;
        let mut taken = Vec::new();
        let Some(&(mut next)) = self.next.get(lane) else { return taken };
        loop {
            let place = (next & (self.words - 1)) as usize;
            let word = self.at(lane, WORDS + place * 8).load(Ordering::Acquire);
            if (word & 1 == 1) != (next & self.words == 0) {
                break;
            }
            taken.extend_from_slice(&(word >> 1).to_le_bytes());
            next += 1;
        }
        self.next[lane] = next;
        self.at(lane, TAIL).store(next, Ordering::Release);
        taken
    }

    /// Number of dropped events of a core that its words do not report yet.
    pub fn lost(&self, cpu: u32) -> u64 {
        let known = (cpu as usize) < self.next.len();
        if known { self.at(cpu as usize, LOST).load(Ordering::Relaxed) } else { 0 }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and no reference outlives `self`.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};

    /// Lanes in memory that only the test writes.
    fn lanes(words: u64) -> Lanes {
        // SAFETY: a new descriptor, which is ours.
        let file = unsafe {
            let fd = libc::memfd_create(c"lanes".as_ptr(), 0);
            assert_eq!(libc::ftruncate(fd, Lanes::lane_bytes(words) as i64 * 2), 0);
            OwnedFd::from_raw_fd(fd)
        };
        Lanes::map(file.as_fd(), 2, words).unwrap()
    }

    fn write(lanes: &Lanes, lane: usize, at: u64, content: u64) {
        let lap = u64::from(at & lanes.words == 0);
        let offset = WORDS + (at & (lanes.words - 1)) as usize * 8;
        lanes.at(lane, offset).store(content << 1 | lap, Ordering::Release);
    }

    fn read(lanes: &mut Lanes, cpu: u32) -> Vec<u64> {
        lanes.drain(cpu).chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn every_word_is_read_once_whatever_the_lap() {
        let mut lanes = lanes(8);
        assert!(read(&mut lanes, 1).is_empty());
        let mut at = 0;
        for round in 0..20u64 {
            let words: Vec<u64> = (0..round % 8).map(|i| round * 100 + i).collect();
            for word in &words {
                write(&lanes, 1, at, *word);
                at += 1;
            }
            assert_eq!(read(&mut lanes, 1), words, "round {round}");
            assert_eq!(lanes.at(1, TAIL).load(Ordering::Relaxed), at);
        }
        assert!(read(&mut lanes, 0).is_empty());
        assert!(read(&mut lanes, 7).is_empty(), "no such lane");
    }

    #[test]
    fn words_wait_for_an_earlier_one_that_is_not_written_yet() {
        let mut lanes = lanes(8);
        write(&lanes, 0, 0, 5);
        write(&lanes, 0, 2, 7);
        assert_eq!(read(&mut lanes, 0), [5]);
        write(&lanes, 0, 1, 6);
        assert_eq!(read(&mut lanes, 0), [6, 7]);
    }
}
