//! The window of recent events that may still change: late events are inserted, switches and wake-ups corrected, and
//! events after the last exit dropped. Older events go to the sink, so that memory use is bounded.

use crate::ftrace::queues::Queues;
use crate::{CoreId, Event, Kind, Sink, ThreadInfo, Tid, Time, Waker};
use std::collections::{BTreeMap, VecDeque};

/// Length of the window in ns of the trace. Later corrections apply where they are detected.
const LENGTH: Time = 200_000_000;
/// Maximum number of events in the window: 8 MiB.
const MAX_EVENTS: usize = 1 << 18;

/// Window of recent events in front of a sink.
pub struct Window<S> {
    sink: S,
    events: VecDeque<Event>,
    /// Number of the first event of `events`.
    first: u64,
    /// Events detected late. Key: number of the event that each precedes, time, order of detection.
    late: BTreeMap<(u64, Time, u64), Event>,
    late_count: u64,
    /// Events from this number on may be dropped at the end.
    end: Option<u64>,
    queues: Queues,
    /// Time of the newest event.
    newest: Time,
    /// Time of the last event that went to the sink.
    released: Time,
    count: u64,
    /// Threads up to this one were announced to the sink.
    announced: Tid,
    /// Migrations that were inserted, per core.
    inserted: Vec<u64>,
}

impl<S: Sink> Window<S> {
    pub fn new(sink: S, cores: usize) -> Self {
        Window {
            sink,
            events: VecDeque::new(),
            first: 0,
            late: BTreeMap::new(),
            late_count: 0,
            end: None,
            queues: Queues::default(),
            newest: 0,
            released: 0,
            count: 0,
            announced: 0,
            inserted: vec![0; cores],
        }
    }

    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Appends an event and returns its number. An event older than the last one gets the time of that one: the
    /// clocks of two cores may differ by some nanoseconds.
    pub fn push(&mut self, time: Time, core: CoreId, kind: Kind) -> u64 {
        self.newest = self.newest.max(time);
        self.events.push_back(Event { time: self.newest, core, kind });
        self.next() - 1
    }

    /// Number of the first event in the window.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next event.
    pub fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Time of the newest event.
    pub fn newest(&self) -> Time {
        self.newest
    }

    /// The event with this number, as long as it is in the window.
    pub fn kind(&mut self, number: u64) -> Option<&mut Kind> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.events.get_mut(index).map(|event| &mut event.kind)
    }

    /// Inserts an event before the event with the number `at`.
    pub fn insert(&mut self, at: u64, event: Event) {
        self.late_count += 1;
        self.late.insert((at.max(self.first), event.time, self.late_count), event);
    }

    /// Sets the number of the event with which the trace ends, unless it is changed again. `None`: no end is known.
    pub fn set_end(&mut self, end: Option<u64>) {
        self.end = end;
    }

    /// Passes old events to the sink. `thread` describes a thread.
    pub fn release(&mut self, thread: impl Fn(Tid) -> ThreadInfo) {
        while let Some(event) = self.events.front() {
            let full = self.events.len() > MAX_EVENTS;
            let old = event.time.saturating_add(LENGTH) < self.newest;
            let uncertain = self.end.is_some_and(|end| self.first >= end);
            if !full && (!old || uncertain) {
                return;
            }
            self.release_next(&thread);
        }
    }

    /// Passes the remaining events up to the end.
    pub fn finish(mut self, thread: impl Fn(Tid) -> ThreadInfo) -> Finished<S> {
        let end = self.end.filter(|end| *end >= self.first).unwrap_or(u64::MAX);
        while !self.events.is_empty() && self.first < end {
            self.release_next(&thread);
        }
        // Late events after the last one, or right before the end.
        let rest: Vec<_> =
            std::mem::take(&mut self.late).into_iter().filter(|((at, ..), _)| *at <= end).collect();
        for (_, event) in rest {
            self.pass(event, &thread);
        }
        Finished { sink: self.sink, duration: self.released, events: self.count, inserted: self.inserted }
    }

    fn release_next(&mut self, thread: &impl Fn(Tid) -> ThreadInfo) {
        while let Some(entry) = self.late.first_entry().filter(|entry| entry.key().0 <= self.first) {
            let event = entry.remove();
            self.pass(event, thread);
        }
        if let Some(event) = self.events.pop_front() {
            self.first += 1;
            self.pass(event, thread);
        }
    }

    fn pass(&mut self, event: Event, thread: &impl Fn(Tid) -> ThreadInfo) {
        self.released = self.released.max(event.time);
        let event = Event { time: self.released, ..event };
        for tid in self.announced + 1..=newest_thread(&event.kind) {
            self.sink.thread(&thread(tid));
            self.announced = tid;
        }
        if let Some(migration) = self.queues.missing_migration(&event) {
            self.inserted[usize::from(event.core)] += 1;
            self.sink.event(&migration);
            self.count += 1;
        }
        self.sink.event(&event);
        self.count += 1;
    }
}

/// Result of [`Window::finish`].
pub struct Finished<S> {
    pub sink: S,
    /// Time of the last event.
    pub duration: Time,
    pub events: u64,
    /// Migrations that were inserted, per core.
    pub inserted: Vec<u64>,
}

/// The highest number of a thread of an event. Threads are numbered in the order of their first events.
fn newest_thread(kind: &Kind) -> Tid {
    match *kind {
        Kind::Switch { prev, next, .. } => prev.max(next),
        Kind::Wakeup { thread, waker: Waker::Thread(waker), .. } => thread.max(waker),
        Kind::Fork { parent, child, .. } => parent.max(child),
        Kind::Wakeup { thread, .. }
        | Kind::Exec { thread, .. }
        | Kind::Exit { thread }
        | Kind::Wait { thread }
        | Kind::Migrate { thread, .. }
        | Kind::Place { thread, .. } => thread,
        Kind::Frequency { .. }
        | Kind::Tick { .. }
        | Kind::Idle { .. }
        | Kind::Spin { .. }
        | Kind::Queue { .. }
        | Kind::Set { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(tid: Tid) -> ThreadInfo {
        ThreadInfo { tid, ..ThreadInfo::default() }
    }

    fn exit(thread: Tid) -> Kind {
        Kind::Exit { thread }
    }

    /// The events and threads that reached the sink.
    #[derive(Default, Debug, PartialEq)]
    struct Seen(Vec<(Time, Kind)>, Vec<Tid>);

    impl Sink for Seen {
        fn event(&mut self, event: &Event) {
            assert!(newest_thread(&event.kind) <= self.1.len() as Tid, "a thread was not announced");
            self.0.push((event.time, event.kind));
        }

        fn thread(&mut self, thread: &ThreadInfo) {
            self.1.push(thread.tid);
        }
    }

    #[test]
    fn old_events_are_released_and_recent_ones_may_change() {
        let mut window = Window::new(Seen::default(), 1);
        let first = window.push(1, 0, exit(1));
        let second = window.push(LENGTH, 0, exit(2));
        window.release(info);
        assert!(window.kind(first).is_some());
        window.push(LENGTH + 2, 0, exit(3));
        window.release(info);
        assert!(window.kind(first).is_none());
        *window.kind(second).unwrap() = exit(5);
        // It belongs before the first event, which is released: it comes as early as possible.
        window.insert(first, Event { time: 0, core: 0, kind: exit(4) });
        let Seen(events, threads) = window.finish(info).sink;
        assert_eq!(events, [(1, exit(1)), (1, exit(4)), (LENGTH, exit(5)), (LENGTH + 2, exit(3))]);
        assert_eq!(threads, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn memory_is_bounded_even_if_time_stands_still_or_the_end_is_uncertain() {
        let mut window = Window::new((), 1);
        window.push(0, 0, exit(1));
        window.set_end(Some(1));
        for _ in 0..MAX_EVENTS + 100 {
            window.push(7, 0, exit(1));
            window.release(info);
            assert!(window.events.len() <= MAX_EVENTS);
        }
        // The end is no longer in the window: nothing is dropped.
        assert_eq!(window.finish(info).events, MAX_EVENTS as u64 + 101);
    }

    #[test]
    fn events_after_the_end_are_dropped() {
        let mut window = Window::new(Seen::default(), 1);
        window.push(1, 0, exit(1));
        let end = window.next();
        window.set_end(Some(end));
        window.push(LENGTH, 0, exit(2));
        window.push(LENGTH * 3, 0, exit(3));
        window.release(info);
        window.insert(end, Event { time: 1, core: 0, kind: exit(4) });
        window.insert(end + 1, Event { time: LENGTH, core: 0, kind: exit(5) });
        let finished = window.finish(info);
        assert_eq!(finished.sink.0, [(1, exit(1)), (1, exit(4))]);
        assert_eq!((finished.duration, finished.events), (1, 2));
    }
}
