//! The first pass over a trace: what must be known before the graph is made.

use std::collections::HashSet;

use hearth_trace::{CoreId, Event, Header, IDLE, Kind, Sink, Tid, Time, Waker};

use super::clock::Clock;

/// Finds the threads that do anything, the start of the workload, and the first frequency of each core.
pub struct Survey<'a> {
    pub(super) header: &'a Header,
    clock: Clock,
    /// When the first traced thread appears: the graph's time 0.
    pub(super) start: Option<Time>,
    traced: HashSet<Tid>,
    seen: HashSet<Tid>,
    /// Cores that have had a switch.
    switched: HashSet<CoreId>,
}

impl<'a> Survey<'a> {
    /// `header` is the trace's final one: it names all threads.
    pub fn new(header: &'a Header) -> Self {
        Survey {
            header,
            clock: Clock::new(header),
            start: None,
            traced: header.threads.iter().filter(|t| t.traced && t.tid != IDLE).map(|t| t.tid).collect(),
            seen: HashSet::new(),
            switched: HashSet::new(),
        }
    }

    /// The clock of each core at the start, and the traced threads that have an event, in the
    /// header's order.
    pub(super) fn finish(mut self) -> (Clock, Vec<Tid>) {
        // `remove` so that a thread listed twice counts once.
        let tids = self.header.threads.iter().map(|t| t.tid).filter(|tid| self.seen.remove(tid)).collect();
        (self.clock, tids)
    }
}

impl Sink for Survey<'_> {
    fn event(&mut self, event: &Event) {
        self.clock.survey(event);
        if let Kind::Switch { prev, .. } = event.kind
            && self.switched.insert(event.core)
            && self.traced.contains(&prev)
        {
            // It has run here since before the trace.
            self.start = Some(0);
        }
        for tid in tids_of(event).into_iter().flatten().filter(|tid| self.traced.contains(tid)) {
            self.start.get_or_insert(event.time);
            self.seen.insert(tid);
        }
    }
}

/// The threads that an event is about.
fn tids_of(event: &Event) -> [Option<Tid>; 2] {
    match event.kind {
        Kind::Switch { prev, next, .. } => [Some(prev), Some(next)],
        Kind::Wakeup { thread, waker, .. } => match waker {
            Waker::Thread(waker) => [Some(thread), Some(waker)],
            Waker::Interrupt => [Some(thread), None],
        },
        Kind::Fork { parent, child, .. } => [Some(parent), Some(child)],
        Kind::Exec { thread, .. } | Kind::Exit { thread } | Kind::Wait { thread } => [Some(thread), None],
        _ => [None, None],
    }
}
