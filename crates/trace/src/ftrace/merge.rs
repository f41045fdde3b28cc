//! Merging the ring-buffer pages of all cores into one stream of events in order of time.

use crate::ftrace::decode::Decoder;
use crate::ftrace::event::Item;
use crate::ftrace::page::{self, Layout, Missed, Page, Record};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Merges pages that are read round by round.
pub struct PageMerger {
    layout: Layout,
    decoder: Decoder,
    cores: Vec<CorePages>,
}

/// Page that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a page of core {cpu} is damaged: {source}")]
pub struct DamagedPage {
    pub cpu: u32,
    pub source: page::Error,
}

impl PageMerger {
    /// `cpus` are the kernel's CPU numbers.
    pub fn new(layout: Layout, decoder: Decoder, cpus: &[u32]) -> Self {
        let pages = |&cpu: &u32| CorePages { cpu, ..CorePages::default() };
        PageMerger { layout, decoder, cores: cpus.iter().map(pages).collect() }
    }

    /// Appends a page of a core, which is an index into `cpus`.
    pub fn push(&mut self, core: usize, page: &[u8]) {
        self.cores[core].pages.push_back(page.into());
    }

    /// Passes the events up to the time `until`, in order of time, and keeps later ones. Events of unknown kinds are
    /// dropped.
    ///
    /// # Errors
    /// A page is damaged.
    pub fn merge(&mut self, until: u64, take: &mut dyn FnMut(Item<'_>)) -> Result<(), DamagedPage> {
        merge(&self.layout, &mut self.cores, until, |merged| match merged {
            Merged::Lost { cpu, count } => take(Item::Lost { cpu, count }),
            Merged::Record { cpu, record } => {
                if let Some(event) = self.decoder.decode(cpu, record.time, record.payload) {
                    take(Item::Event(event));
                }
            }
        })
    }
}

/// Pages of one core that are not merged yet, in order.
#[derive(Clone, Debug, Default)]
struct CorePages {
    /// The kernel's CPU number.
    cpu: u32,
    pages: VecDeque<Box<[u8]>>,
    /// Number of events of the first page that are merged already.
    merged: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merged<'a> {
    Record { cpu: u32, record: Record<'a> },
    Lost { cpu: u32, count: Option<u64> },
}

/// Passes the records of all cores up to the time `until`, in order of time; at equal times in order of cores.
fn merge(
    layout: &Layout,
    cores: &mut [CorePages],
    until: u64,
    mut take: impl FnMut(Merged<'_>),
) -> Result<(), DamagedPage> {
    let mut streams: Vec<Stream> = cores.iter().map(Stream::new).collect();
    let mut heap = BinaryHeap::with_capacity(streams.len());
    for (index, stream) in streams.iter_mut().enumerate() {
        stream.head = stream.first(layout).map_err(|source| DamagedPage { cpu: stream.core.cpu, source })?;
        heap.extend(stream.head.map(|record| Reverse((record.time, index))));
    }
    while let Some(Reverse((time, index))) = heap.pop() {
        if time > until {
            break;
        }
        let stream = &mut streams[index];
        let cpu = stream.core.cpu;
        if let Some(count) = stream.lost.take() {
            take(Merged::Lost { cpu, count });
        }
        if let Some(record) = stream.head {
            take(Merged::Record { cpu, record });
        }
        stream.merged += 1;
        stream.head = stream.next(layout).map_err(|source| DamagedPage { cpu, source })?;
        heap.extend(stream.head.map(|record| Reverse((record.time, index))));
    }
    let mut progress = Vec::with_capacity(streams.len());
    for stream in &mut streams {
        if stream.head.is_some() {
            progress.push((stream.begun - 1, stream.merged));
            continue;
        }
        // Losses after the last event.
        if let Some(count) = stream.lost.take() {
            take(Merged::Lost { cpu: stream.core.cpu, count });
        }
        progress.push((stream.core.pages.len(), 0));
    }
    for (core, (done, merged)) in cores.iter_mut().zip(progress) {
        core.pages.drain(..done);
        core.merged = merged;
    }
    Ok(())
}

/// The events of one core.
struct Stream<'a> {
    core: &'a CorePages,
    /// Number of pages begun.
    begun: usize,
    page: Option<Page<'a>>,
    /// Number of events of the page that are merged.
    merged: usize,
    /// The next event.
    head: Option<Record<'a>>,
    /// Set if events were lost before `head`; the count may be unknown.
    lost: Option<Option<u64>>,
}

impl<'a> Stream<'a> {
    fn new(core: &'a CorePages) -> Self {
        Stream { core, begun: 0, page: None, merged: 0, head: None, lost: None }
    }

    /// The first event that was not merged in an earlier round.
    fn first(&mut self, layout: &Layout) -> Result<Option<Record<'a>>, page::Error> {
        let mut first = self.next(layout)?;
        for _ in 0..self.core.merged {
            self.lost = None; // passed in the earlier round
            self.merged += 1;
            first = self.next(layout)?;
        }
        Ok(first)
    }

    fn next(&mut self, layout: &Layout) -> Result<Option<Record<'a>>, page::Error> {
        loop {
            if let Some(record) = self.page.as_mut().and_then(|page| page.next()) {
                return record.map(Some);
            }
            let Some(bytes) = self.core.pages.get(self.begun) else { return Ok(None) };
            let page = Page::new(layout, bytes)?;
            (self.begun, self.merged) = (self.begun + 1, 0);
            match (page.missed, self.lost.flatten()) {
                (Missed::None, _) => {}
                (Missed::Unknown, before) => self.lost = Some(before),
                (Missed::Count(count), before) => {
                    self.lost = Some(Some(count.saturating_add(before.unwrap_or(0))));
                }
            }
            self.page = Some(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let text = "field: u64 timestamp; offset:0; size:8; signed:0;\n\
            field: local_t commit; offset:8; size:8; signed:1;\n\
            field: char data; offset:16; size:4080; signed:0;\n";
        Layout::parse(text).unwrap()
    }

    /// A page with an event of one word at each of these times after its own.
    fn page(time: u64, flags: u64, deltas: &[u32]) -> Box<[u8]> {
        let mut bytes = time.to_le_bytes().to_vec();
        bytes.extend(((deltas.len() as u64 * 8) | flags).to_le_bytes());
        for delta in deltas {
            bytes.extend((delta << 5 | 1).to_le_bytes());
            bytes.extend([0; 4]);
        }
        bytes.into()
    }

    fn pages(cpu: u32, pages: &[Box<[u8]>]) -> CorePages {
        CorePages { cpu, pages: pages.iter().cloned().collect(), merged: 0 }
    }

    fn merged_until(cores: &mut [CorePages], until: u64) -> Vec<(u32, Option<u64>)> {
        let mut items = Vec::new();
        let take = |merged: Merged| match merged {
            Merged::Record { cpu, record } => items.push((cpu, Some(record.time))),
            Merged::Lost { cpu, .. } => items.push((cpu, None)),
        };
        merge(&layout(), cores, until, take).unwrap();
        items
    }

    /// All items, after checking that several rounds give the same ones.
    fn merged(cores: &[CorePages]) -> Vec<(u32, Option<u64>)> {
        let at_once = merged_until(&mut cores.to_vec(), u64::MAX);
        let (mut rounds, mut cores) = (Vec::new(), cores.to_vec());
        for until in (0..200).step_by(3) {
            let round = merged_until(&mut cores, until);
            assert!(round.iter().all(|(_, time)| time.is_none_or(|time| time <= until)));
            rounds.extend(round);
        }
        // Losses after a core's last event are part of its round.
        let by_core = |items: &[(u32, Option<u64>)]| {
            let mut items = items.to_vec();
            items.sort_by_key(|(cpu, _)| *cpu); // stable
            items
        };
        assert_eq!(by_core(&rounds), by_core(&at_once));
        assert!(rounds.iter().filter_map(|(_, time)| *time).is_sorted());
        assert!(cores.iter().all(|core| core.pages.is_empty()));
        at_once
    }

    #[test]
    fn cores_are_merged_by_time() {
        let cores = [
            pages(0, &[page(10, 0, &[0, 5]), page(30, 0, &[0])]),
            pages(4, &[page(0, 0, &[]), page(12, 0, &[0, 3, 100])]),
            pages(9, &[]),
        ];
        let times: Vec<_> = merged(&cores).iter().map(|(cpu, time)| (*cpu, time.unwrap())).collect();
        assert_eq!(times, [(0, 10), (4, 12), (0, 15), (4, 15), (0, 30), (4, 115)]);
    }

    #[test]
    fn losses_keep_their_place() {
        let missed = 1 << 31;
        let cores = [
            pages(0, &[page(10, 0, &[0]), page(30, missed, &[0])]),
            pages(1, &[page(20, 0, &[0]), page(40, missed, &[])]),
        ];
        assert_eq!(merged(&cores), [(0, Some(10)), (1, Some(20)), (0, None), (0, Some(30)), (1, None)]);
    }

    #[test]
    fn a_damaged_page_names_its_core() {
        let mut cores = [pages(3, &[vec![0; 5].into()])];
        assert_eq!(merge(&layout(), &mut cores, u64::MAX, |_| ()).unwrap_err().cpu, 3);
    }
}
