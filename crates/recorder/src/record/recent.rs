//! The end of the trace that may still change: late events go in, a switch or a wake-up is corrected, and what
//! stands behind the last exit is cut off. What is older goes to the sink, so that memory does not grow with the
//! length of the recording.

use super::moves::Moves;
use hearth_trace::{CoreId, Event, Kind, Sink, ThreadInfo, Tid, Time, Waker};
use std::collections::{BTreeMap, VecDeque};

/// Events are held for so long, in ns of the trace. What takes longer to show is put right where it shows.
const HOLD: Time = 200_000_000;
/// No more events than this are held: 8 MiB.
const MOST: usize = 1 << 18;

pub struct Recent<S> {
    sink: S,
    events: VecDeque<Event>,
    /// Number of the first of `events`.
    first: u64,
    /// Events that turned out later to have happened: each goes before the event with this number, the earliest
    /// first, then in the order in which they came.
    late: BTreeMap<(u64, Time, u64), Event>,
    latecomers: u64,
    /// From this number on events may be cut off.
    cut: Option<u64>,
    moves: Moves,
    /// Time of the newest event that was pushed, and of the last that was given away.
    newest: Time,
    given: Time,
    count: u64,
    /// Threads up to this one were told to the sink.
    told: Tid,
    /// Moves that had to be put in, per core.
    pub missing: Vec<u64>,
}

impl<S: Sink> Recent<S> {
    pub fn new(sink: S, cores: usize) -> Self {
        Recent {
            sink,
            events: VecDeque::new(),
            first: 0,
            late: BTreeMap::new(),
            latecomers: 0,
            cut: None,
            moves: Moves::default(),
            newest: 0,
            given: 0,
            count: 0,
            told: 0,
            missing: vec![0; cores],
        }
    }

    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Appends an event, not before the last one (the clocks of two cores may differ by some nanoseconds).
    /// Returns its number.
    pub fn push(&mut self, time: Time, core: CoreId, kind: Kind) -> u64 {
        self.newest = self.newest.max(time);
        self.events.push_back(Event { time: self.newest, core, kind });
        self.next() - 1
    }

    /// The number of the next event.
    pub fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Time of the last event.
    pub fn newest(&self) -> Time {
        self.newest
    }

    /// What an event says, as long as it may be changed.
    pub fn kind(&mut self, number: u64) -> Option<&mut Kind> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.events.get_mut(index).map(|event| &mut event.kind)
    }

    /// An event turns out to have happened before that with the number `at`.
    pub fn insert(&mut self, at: u64, event: Event) {
        self.latecomers += 1;
        self.late.insert((at.max(self.first), event.time, self.latecomers), event);
    }

    /// Events from number `at` on may be cut off at the end; `None`: nothing is.
    pub fn may_cut(&mut self, at: Option<u64>) {
        self.cut = at;
    }

    /// Gives away what is old enough. `thread` describes a thread.
    pub fn release(&mut self, thread: impl Fn(Tid) -> ThreadInfo) {
        while let Some(event) = self.events.front() {
            let many = self.events.len() > MOST;
            let old = event.time.saturating_add(HOLD) < self.newest;
            let uncertain = self.cut.is_some_and(|cut| self.first >= cut);
            if !many && (!old || uncertain) {
                return;
            }
            self.give_next(&thread);
        }
    }

    /// Gives away what is left, up to the cut. Returns the sink and the time of the last event.
    pub fn finish(mut self, thread: impl Fn(Tid) -> ThreadInfo) -> Finished<S> {
        let end = self.cut.filter(|cut| *cut >= self.first).unwrap_or(u64::MAX);
        while !self.events.is_empty() && self.first < end {
            self.give_next(&thread);
        }
        // Those behind the last event, or right before the cut.
        let rest: Vec<_> =
            std::mem::take(&mut self.late).into_iter().filter(|((at, ..), _)| *at <= end).collect();
        for (_, event) in rest {
            self.give(event, &thread);
        }
        Finished { sink: self.sink, duration: self.given, events: self.count, missing: self.missing }
    }

    fn give_next(&mut self, thread: &impl Fn(Tid) -> ThreadInfo) {
        while let Some(entry) = self.late.first_entry().filter(|entry| entry.key().0 <= self.first) {
            let event = entry.remove();
            self.give(event, thread);
        }
        if let Some(event) = self.events.pop_front() {
            self.first += 1;
            self.give(event, thread);
        }
    }

    fn give(&mut self, event: Event, thread: &impl Fn(Tid) -> ThreadInfo) {
        self.given = self.given.max(event.time);
        let event = Event { time: self.given, ..event };
        for tid in self.told + 1..=newest_thread(&event.kind) {
            self.sink.thread(&thread(tid));
            self.told = tid;
        }
        if let Some(moved) = self.moves.before(&event) {
            self.missing[usize::from(event.core)] += 1;
            self.sink.event(&moved);
            self.count += 1;
        }
        self.sink.event(&event);
        self.count += 1;
    }
}

/// What [`Recent::finish`] leaves.
pub struct Finished<S> {
    pub sink: S,
    /// Time of the last event.
    pub duration: Time,
    pub events: u64,
    pub missing: Vec<u64>,
}

/// The thread with the highest number that an event names. (Numbers are given in the order in which threads
/// appear.)
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
        ThreadInfo { tid, name: String::new(), parent: 0, traced: false }
    }

    fn exit(thread: Tid) -> Kind {
        Kind::Exit { thread }
    }

    /// What the sink was given, in order.
    #[derive(Default, Debug, PartialEq)]
    struct Given(Vec<(Time, Kind)>, Vec<Tid>);

    impl Sink for Given {
        fn event(&mut self, event: &Event) {
            assert!(newest_thread(&event.kind) <= self.1.len() as Tid, "a thread was not told");
            self.0.push((event.time, event.kind));
        }

        fn thread(&mut self, thread: &ThreadInfo) {
            self.1.push(thread.tid);
        }
    }

    #[test]
    fn old_events_go_and_new_ones_may_change() {
        let mut recent = Recent::new(Given::default(), 1);
        let first = recent.push(1, 0, exit(1));
        let second = recent.push(HOLD, 0, exit(2));
        recent.release(info);
        assert!(recent.kind(first).is_some());
        recent.push(HOLD + 2, 0, exit(3));
        recent.release(info);
        assert!(recent.kind(first).is_none());
        *recent.kind(second).unwrap() = exit(5);
        // It belongs before the first, which is gone: it comes as early as it can.
        recent.insert(first, Event { time: 0, core: 0, kind: exit(4) });
        let Given(events, threads) = recent.finish(info).sink;
        assert_eq!(events, [(1, exit(1)), (1, exit(4)), (HOLD, exit(5)), (HOLD + 2, exit(3))]);
        assert_eq!(threads, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn memory_is_bounded_even_if_time_stands_still_or_the_end_is_uncertain() {
        let mut recent = Recent::new((), 1);
        recent.push(0, 0, exit(1));
        recent.may_cut(Some(1));
        for _ in 0..MOST + 100 {
            recent.push(7, 0, exit(1));
            recent.release(info);
            assert!(recent.events.len() <= MOST);
        }
        // The cut is gone too far back: nothing is cut.
        assert_eq!(recent.finish(info).events, MOST as u64 + 101);
    }

    #[test]
    fn what_stands_behind_the_cut_is_left_out() {
        let mut recent = Recent::new(Given::default(), 1);
        recent.push(1, 0, exit(1));
        let cut = recent.next();
        recent.may_cut(Some(cut));
        recent.push(HOLD, 0, exit(2));
        recent.push(HOLD * 3, 0, exit(3));
        recent.release(info);
        recent.insert(cut, Event { time: 1, core: 0, kind: exit(4) });
        recent.insert(cut + 1, Event { time: HOLD, core: 0, kind: exit(5) });
        let finished = recent.finish(info);
        assert_eq!(finished.sink.0, [(1, exit(1)), (1, exit(4))]);
        assert_eq!((finished.duration, finished.events), (1, 2));
    }
}
