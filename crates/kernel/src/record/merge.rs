//! One stream of events, in order of time, from the pages of all cores.

use super::page::{self, Layout, Missed, Page, Record};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The pages of one core, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The kernel's number of the core.
    pub cpu: u32,
    pub pages: Vec<Box<[u8]>>,
}

/// What the merged stream consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Event {
        cpu: u32,
        record: Record<'a>,
    },
    /// Before the next event of `cpu`, events were lost: how many, if the kernel knows.
    Lost {
        cpu: u32,
        count: Option<u64>,
    },
}

/// Calls `take` with the events of all cores, in order of time; at equal times in order of cores.
/// The error names the core whose page is damaged.
pub fn merge<'a>(
    layout: &Layout,
    cores: &'a [Pages],
    mut take: impl FnMut(Item<'a>),
) -> Result<(), (u32, page::Error)> {
    let mut streams: Vec<Stream> = cores.iter().map(Stream::new).collect();
    let mut heap = BinaryHeap::with_capacity(streams.len());
    for (index, stream) in streams.iter_mut().enumerate() {
        let first = stream.next(layout).map_err(|error| (stream.cpu, error))?;
        heap.extend(first.map(|record| Reverse((record.time, index))));
        stream.head = first;
    }
    while let Some(Reverse((_, index))) = heap.pop() {
        let stream = &mut streams[index];
        let cpu = stream.cpu;
        if let Some(count) = stream.lost.take() {
            take(Item::Lost { cpu, count });
        }
        if let Some(record) = stream.head {
            take(Item::Event { cpu, record });
        }
        stream.head = stream.next(layout).map_err(|error| (cpu, error))?;
        heap.extend(stream.head.map(|record| Reverse((record.time, index))));
    }
    // Losses behind the last event.
    for stream in &mut streams {
        if let Some(count) = stream.lost.take() {
            take(Item::Lost { cpu: stream.cpu, count });
        }
    }
    Ok(())
}

/// The events of one core.
struct Stream<'a> {
    cpu: u32,
    pages: std::slice::Iter<'a, Box<[u8]>>,
    page: Option<Page<'a>>,
    /// The event that is next in turn.
    head: Option<Record<'a>>,
    /// Events were lost before `head`: how many, if that is known.
    lost: Option<Option<u64>>,
}

impl<'a> Stream<'a> {
    fn new(core: &'a Pages) -> Self {
        Stream { cpu: core.cpu, pages: core.pages.iter(), page: None, head: None, lost: None }
    }

    fn next(&mut self, layout: &Layout) -> Result<Option<Record<'a>>, page::Error> {
        loop {
            if let Some(record) = self.page.as_mut().and_then(|page| page.next()) {
                return record.map(Some);
            }
            let Some(bytes) = self.pages.next() else { return Ok(None) };
            let page = Page::new(layout, bytes)?;
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

    fn merged(cores: &[Pages]) -> Vec<(u32, Option<u64>)> {
        let mut items = Vec::new();
        let take = |item: Item| match item {
            Item::Event { cpu, record } => items.push((cpu, Some(record.time))),
            Item::Lost { cpu, .. } => items.push((cpu, None)),
        };
        merge(&layout(), cores, take).unwrap();
        items
    }

    #[test]
    fn cores_are_merged_by_time() {
        let cores = [
            Pages { cpu: 0, pages: vec![page(10, 0, &[0, 5]), page(30, 0, &[0])] },
            Pages { cpu: 4, pages: vec![page(0, 0, &[]), page(12, 0, &[0, 3, 100])] },
            Pages { cpu: 9, pages: vec![] },
        ];
        let times: Vec<_> = merged(&cores).iter().map(|(cpu, time)| (*cpu, time.unwrap())).collect();
        assert_eq!(times, [(0, 10), (4, 12), (0, 15), (4, 15), (0, 30), (4, 115)]);
    }

    #[test]
    fn losses_stand_where_they_happened() {
        let missed = 1 << 31;
        let cores = [
            Pages { cpu: 0, pages: vec![page(10, 0, &[0]), page(30, missed, &[0])] },
            Pages { cpu: 1, pages: vec![page(20, 0, &[0]), page(40, missed, &[])] },
        ];
        assert_eq!(merged(&cores), [(0, Some(10)), (1, Some(20)), (0, None), (0, Some(30)), (1, None)]);
    }

    #[test]
    fn a_damaged_page_names_its_core() {
        let cores = [Pages { cpu: 3, pages: vec![vec![0; 5].into()] }];
        assert_eq!(merge(&layout(), &cores, |_| ()).unwrap_err().0, 3);
    }
}
