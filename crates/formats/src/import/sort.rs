//! External sorting of events by time.
//!
//! Files of other tools hold their events core by core, or in batches that overlap. Events that do not fit into memory
//! are sorted in runs, which go to an unnamed file and are merged at the end. The sort is stable.

use crate::Error;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// An event, with its payload packed into words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Packed {
    pub time: u64,
    /// Position in the input.
    place: u64,
    pub words: [u32; 6],
}

const BYTES: usize = 40;
/// Maximum number of events in memory: 20 MiB.
const IN_MEMORY: usize = 512 << 10;
/// Memory for reading the runs, and the minimum for each.
const READ: usize = 32 << 20;
const LEAST: usize = 4 << 10;

impl Packed {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.time.to_le_bytes());
        out.extend(self.place.to_le_bytes());
        self.words.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }

    fn decode(bytes: &[u8; BYTES]) -> Self {
        let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        let long = |at| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Packed { time: long(0), place: long(8), words: std::array::from_fn(|i| word(16 + 4 * i)) }
    }
}

pub struct Sorter {
    folder: PathBuf,
    in_memory: usize,
    items: Vec<Packed>,
    count: u64,
    spilled: Option<File>,
    runs: Vec<Range<u64>>,
}

impl Sorter {
    /// `folder` is where the file goes.
    pub fn new(folder: &Path) -> Self {
        Sorter {
            folder: folder.into(),
            in_memory: IN_MEMORY,
            items: Vec::new(),
            count: 0,
            spilled: None,
            runs: Vec::new(),
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn push(&mut self, time: u64, words: [u32; 6]) -> Result<(), Error> {
        if self.items.len() >= self.in_memory {
            self.spill()?;
        }
        self.items.push(Packed { time, place: self.count, words });
        self.count += 1;
        Ok(())
    }

    fn spill(&mut self) -> Result<(), Error> {
        let failed = |source| Error::Io { action: "keep events for sorting", source };
        self.items.sort_unstable();
        let mut bytes = Vec::with_capacity(self.items.len() * BYTES);
        self.items.iter().for_each(|item| item.encode(&mut bytes));
        let file = match self.spilled.take() {
            Some(file) => file,
            None => tempfile::tempfile_in(&self.folder).map_err(failed)?,
        };
        let begin = self.runs.last().map_or(0, |run| run.end);
        file.write_all_at(&bytes, begin).map_err(failed)?;
        self.spilled = Some(file);
        self.runs.push(begin..begin + bytes.len() as u64);
        self.items.clear();
        Ok(())
    }

    /// Sorts the events.
    pub fn sorted(mut self) -> Result<Sorted, Error> {
        let Some(_) = &self.spilled else {
            self.items.sort_unstable();
            return Ok(Sorted {
                items: self.items,
                at: 0,
                file: None,
                each: 0,
                ranges: vec![],
                runs: vec![],
                heap: BinaryHeap::new(),
            });
        };
        if !self.items.is_empty() {
            self.spill()?;
        }
        let each = (READ / self.runs.len() / BYTES * BYTES).max(LEAST / BYTES * BYTES);
        let mut sorted = Sorted {
            items: Vec::new(),
            at: 0,
            file: self.spilled,
            each,
            ranges: self.runs,
            runs: vec![],
            heap: BinaryHeap::new(),
        };
        sorted.rewind()?;
        Ok(sorted)
    }
}

/// Events in order of time.
pub struct Sorted {
    items: Vec<Packed>,
    /// Index of the next of `items`.
    at: usize,
    file: Option<File>,
    /// Bytes to read of a run at once.
    each: usize,
    ranges: Vec<Range<u64>>,
    runs: Vec<Run>,
    heap: BinaryHeap<Reverse<(Packed, usize)>>,
}

/// A sorted run: the range that is not read yet, and the part in memory.
struct Run {
    rest: Range<u64>,
    bytes: Vec<u8>,
    at: usize,
}

impl Sorted {
    /// Begins again with the first event.
    pub fn rewind(&mut self) -> Result<(), Error> {
        self.at = 0;
        self.heap.clear();
        let run = |rest: &Range<u64>| Run { rest: rest.clone(), bytes: Vec::new(), at: 0 };
        self.runs = self.ranges.iter().map(run).collect();
        (0..self.runs.len()).try_for_each(|run| self.refill(run))
    }

    pub fn next(&mut self) -> Result<Option<Packed>, Error> {
        if self.file.is_none() {
            let item = self.items.get(self.at).copied();
            self.at += 1;
            return Ok(item);
        }
        let Some(Reverse((item, run))) = self.heap.pop() else { return Ok(None) };
        self.refill(run)?;
        Ok(Some(item))
    }

    /// Puts the next event of a run into the heap.
    fn refill(&mut self, index: usize) -> Result<(), Error> {
        let (Some(file), Some(run)) = (&self.file, self.runs.get_mut(index)) else { return Ok(()) };
        if run.at == run.bytes.len() && !run.rest.is_empty() {
            let length = (run.rest.end - run.rest.start).min(self.each as u64);
            run.bytes.resize(length as usize, 0);
            file.read_exact_at(&mut run.bytes, run.rest.start)
                .map_err(|source| Error::Io { action: "read back events for sorting", source })?;
            run.rest.start += length;
            run.at = 0;
        }
        if let Some(bytes) = run.bytes[run.at..].first_chunk() {
            self.heap.push(Reverse((Packed::decode(bytes), index)));
            run.at += BYTES;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(times: &[u64], in_memory: usize) -> Vec<(u64, u32)> {
        let mut sorter = Sorter { in_memory, ..Sorter::new(&std::env::temp_dir()) };
        for (index, time) in times.iter().enumerate() {
            sorter.push(*time, [index as u32; 6]).unwrap();
        }
        let mut sorted = sorter.sorted().unwrap();
        for _ in 0..times.len() / 2 {
            sorted.next().unwrap();
        }
        sorted.rewind().unwrap();
        std::iter::from_fn(|| sorted.next().unwrap()).map(|item| (item.time, item.words[5])).collect()
    }

    proptest! {
        /// The sort is stable in memory and in a file.
        #[test]
        fn it_is_a_stable_sort(times in proptest::collection::vec(0u64..20, 0..300), in_memory in 1usize..400) {
            let mut expected: Vec<_> = times.iter().enumerate().map(|(index, time)| (*time, index as u32)).collect();
            expected.sort();
            prop_assert_eq!(sorted(&times, in_memory), expected);
        }
    }
}
