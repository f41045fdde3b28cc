//! One stream of events, in order of time, from the pages of all cores.

use super::page::{self, Layout, Missed, Page, Record};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The pages of one core that were not merged yet, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// The kernel's number of the core.
    pub cpu: u32,
    pub pages: VecDeque<Box<[u8]>>,
    /// So many events of the first page were given.
    pub given: usize,
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

/// Calls `take` with the events of all cores up to the time `until`, in order of time; at equal times in order of
/// cores. What is later is kept. The error names the core whose page is damaged.
pub fn merge(
    layout: &Layout,
    cores: &mut [Pages],
    until: u64,
    mut take: impl FnMut(Item<'_>),
) -> Result<(), (u32, page::Error)> {
    let mut streams: Vec<Stream> = cores.iter().map(Stream::new).collect();
    let mut heap = BinaryHeap::with_capacity(streams.len());
    for (index, stream) in streams.iter_mut().enumerate() {
        stream.head = stream.first(layout).map_err(|error| (stream.core.cpu, error))?;
        heap.extend(stream.head.map(|record| Reverse((record.time, index))));
    }
    while let Some(Reverse((time, index))) = heap.pop() {
        if time > until {
            break;
        }
        let stream = &mut streams[index];
        let cpu = stream.core.cpu;
        if let Some(count) = stream.lost.take() {
            take(Item::Lost { cpu, count });
        }
        if let Some(record) = stream.head {
            take(Item::Event { cpu, record });
        }
        stream.given += 1;
        stream.head = stream.next(layout).map_err(|error| (cpu, error))?;
        heap.extend(stream.head.map(|record| Reverse((record.time, index))));
    }
    let mut rests = Vec::with_capacity(streams.len());
    for stream in &mut streams {
        if stream.head.is_some() {
            rests.push((stream.begun - 1, stream.given));
            continue;
        }
        // Losses behind the last event.
        if let Some(count) = stream.lost.take() {
            take(Item::Lost { cpu: stream.core.cpu, count });
        }
        rests.push((stream.core.pages.len(), 0));
    }
    for (core, (done, given)) in cores.iter_mut().zip(rests) {
        core.pages.drain(..done);
        core.given = given;
    }
    Ok(())
}

/// The events of one core.
struct Stream<'a> {
    core: &'a Pages,
    /// So many pages were begun.
    begun: usize,
    page: Option<Page<'a>>,
    /// So many events of the page were given.
    given: usize,
    /// The event that is next in turn.
    head: Option<Record<'a>>,
    /// Events were lost before `head`: how many, if that is known.
    lost: Option<Option<u64>>,
}

impl<'a> Stream<'a> {
    fn new(core: &'a Pages) -> Self {
        Stream { core, begun: 0, page: None, given: 0, head: None, lost: None }
    }

    /// The first event that was not given in an earlier round.
    fn first(&mut self, layout: &Layout) -> Result<Option<Record<'a>>, page::Error> {
        let mut first = self.next(layout)?;
        for _ in 0..self.core.given {
            self.lost = None; // told before the event
            self.given += 1;
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
            (self.begun, self.given) = (self.begun + 1, 0);
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

    fn pages(cpu: u32, pages: &[Box<[u8]>]) -> Pages {
        Pages { cpu, pages: pages.iter().cloned().collect(), given: 0 }
    }

    fn merged_until(cores: &mut [Pages], until: u64) -> Vec<(u32, Option<u64>)> {
        let mut items = Vec::new();
        let take = |item: Item| match item {
            Item::Event { cpu, record } => items.push((cpu, Some(record.time))),
            Item::Lost { cpu, .. } => items.push((cpu, None)),
        };
        merge(&layout(), cores, until, take).unwrap();
        items
    }

    /// All items, which are the same if they are taken in many rounds.
    fn merged(cores: &[Pages]) -> Vec<(u32, Option<u64>)> {
        let at_once = merged_until(&mut cores.to_vec(), u64::MAX);
        let (mut rounds, mut cores) = (Vec::new(), cores.to_vec());
        for until in (0..200).step_by(3) {
            let round = merged_until(&mut cores, until);
            assert!(round.iter().all(|(_, time)| time.is_none_or(|time| time <= until)));
            rounds.extend(round);
        }
        // Losses behind a core's last event come with its round.
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
    fn losses_stand_where_they_happened() {
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
        assert_eq!(merge(&layout(), &mut cores, u64::MAX, |_| ()).unwrap_err().0, 3);
    }
}
