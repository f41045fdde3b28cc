//! Queue of rounds between the recorder and the converter. Rounds that do not fit into memory wait in an unnamed file.

use crate::round::Round;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum size of the rounds in memory.
const IN_MEMORY: usize = 64 << 20;

enum Entry {
    InMemory(Round),
    InFile { offset: u64, lengths: Vec<usize>, complete_to: u64 },
}

#[derive(Default)]
struct State {
    entries: VecDeque<Entry>,
    /// Size of the rounds in memory, and of all rounds.
    in_memory: usize,
    waiting: usize,
    file: Option<File>,
    /// Length of the file.
    end: u64,
    closed: bool,
}

pub struct Spool {
    folder: PathBuf,
    in_memory: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl Spool {
    /// `folder` is where the file goes.
    pub fn new(folder: PathBuf) -> Self {
        Spool { folder, in_memory: IN_MEMORY, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a round. Returns the size of all waiting rounds.
    pub fn push(&self, round: Round) -> io::Result<usize> {
        let bytes = round.bytes();
        let mut state = self.state();
        let entry = match state.in_memory + bytes <= self.in_memory {
            true => {
                state.in_memory += bytes;
                Entry::InMemory(round)
            }
            false => state.write(&self.folder, &round)?,
        };
        state.entries.push_back(entry);
        state.waiting += bytes;
        self.changed.notify_one();
        Ok(state.waiting)
    }

    /// Marks the end of the queue.
    pub fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    /// Waits for the next round. `None`: the queue has ended.
    pub fn pop(&self) -> io::Result<Option<Round>> {
        let mut state = self.state();
        loop {
            match state.entries.pop_front() {
                Some(Entry::InMemory(round)) => {
                    state.in_memory -= round.bytes();
                    state.waiting -= round.bytes();
                    return Ok(Some(round));
                }
                Some(Entry::InFile { offset, lengths, complete_to }) => {
                    let round = state.read(offset, &lengths, complete_to)?;
                    state.waiting -= round.bytes();
                    return Ok(Some(round));
                }
                None if state.closed => return Ok(None),
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl State {
    fn write(&mut self, folder: &PathBuf, round: &Round) -> io::Result<Entry> {
        if self.file.is_none() {
            let file = File::options().read(true).write(true).custom_flags(libc::O_TMPFILE).open(folder)?;
            self.file = Some(file);
        }
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        // A file that was read completely is used again from its beginning.
        if !self.entries.iter().any(|entry| matches!(entry, Entry::InFile { .. })) {
            self.end = 0;
        }
        let offset = self.end;
        for bytes in &round.cores {
            file.write_all_at(bytes, self.end)?;
            self.end += bytes.len() as u64;
        }
        let lengths = round.cores.iter().map(Vec::len).collect();
        Ok(Entry::InFile { offset, lengths, complete_to: round.complete_to })
    }

    fn read(&self, mut offset: u64, lengths: &[usize], complete_to: u64) -> io::Result<Round> {
        let Some(file) = &self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut cores = Vec::with_capacity(lengths.len());
        for length in lengths {
            let mut bytes = vec![0; *length];
            file.read_exact_at(&mut bytes, offset)?;
            offset += *length as u64;
            cores.push(bytes);
        }
        Ok(Round { cores, complete_to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: u64) -> Round {
        let bytes = |length: u64| (0..length).map(|i| (i * 7 + number) as u8).collect();
        Round { cores: vec![bytes(number * 3), bytes(100 - number)], complete_to: number }
    }

    #[test]
    fn rounds_come_out_as_they_went_in_from_memory_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool { in_memory: 500, ..Spool::new(folder.path().into()) };
        let (mut pushed, mut popped) = (0, 0);
        // More goes in than out, then the other way round, and again.
        for (more, less) in [(20, 5), (10, 25), (20, 20)] {
            for _ in 0..more {
                spool.push(round(pushed)).unwrap();
                pushed += 1;
            }
            assert!(spool.state().in_memory <= 500);
            for _ in 0..less {
                assert_eq!(spool.pop().unwrap(), Some(round(popped)));
                popped += 1;
            }
        }
        assert_eq!(spool.state().waiting, 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has a name");
        spool.close();
        assert_eq!(spool.pop().unwrap(), None);
    }

    #[test]
    fn the_reader_waits() {
        let spool = Spool::new(std::env::temp_dir());
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| std::iter::from_fn(|| spool.pop().unwrap()).count());
            for number in 0..10 {
                spool.push(round(number)).unwrap();
            }
            spool.close();
            assert_eq!(reader.join().unwrap(), 10);
        });
    }
}
