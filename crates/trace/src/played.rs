//! Extraction of the played workload from a recording of `hearth play`.

use crate::Trace;
use crate::event::{IDLE, Kind, Tid};
use std::collections::HashSet;

impl Trace {
    /// Restricts a recording of `hearth play` to the played workload: the threads that the player
    /// forked and their descendants, from the first fork to the last exit. The player's own thread,
    /// which prepares and cleans up, is not part of the workload.
    ///
    /// Earlier events that set state move to time 0. Returns `None` if nothing was forked, or if no
    /// descendant exited.
    pub fn played(mut self) -> Option<Trace> {
        let (start, player) = self.first_fork()?;
        let graph = self.descendants(player);
        let last = |kind: &Kind| matches!(kind, Kind::Exit { thread } if graph.contains(thread));
        let end = self.events.iter().rposition(|event| last(&event.kind))?;
        let (start, end) = (self.events[start].time, self.events[end].time);
        self.events.retain(|event| event.time <= end && (event.time >= start || is_state(&event.kind)));
        for event in &mut self.events {
            event.time = event.time.saturating_sub(start);
        }
        self.header.duration = end - start;
        for thread in &mut self.header.threads {
            thread.traced = graph.contains(&thread.tid);
        }
        Some(self)
    }

    /// Index and parent of the first fork by a traced thread.
    fn first_fork(&self) -> Option<(usize, Tid)> {
        let traced: HashSet<Tid> = self.header.threads.iter().filter(|t| t.traced).map(|t| t.tid).collect();
        self.events.iter().enumerate().find_map(|(index, event)| match event.kind {
            Kind::Fork { parent, .. } if parent != IDLE && traced.contains(&parent) => Some((index, parent)),
            _ => None,
        })
    }

    fn descendants(&self, of: Tid) -> HashSet<Tid> {
        let mut found = HashSet::from([of]);
        for event in &self.events {
            if let Kind::Fork { parent, child, .. } = event.kind
                && found.contains(&parent)
            {
                found.insert(child);
            }
        }
        found.remove(&of);
        found
    }
}

/// True for events that set a state which persists; other events are instantaneous.
fn is_state(kind: &Kind) -> bool {
    !matches!(kind, Kind::Place { .. } | Kind::Tick { .. } | Kind::Queue { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CoreInfo, Event, Header, Stop, ThreadInfo, Waker};

    fn switch(time: u64, core: u16, prev: Tid, stop: Stop, next: Tid) -> Event {
        Event { time, core, kind: Kind::Switch { prev, stop, next } }
    }

    /// A player (2), child of a recorder (1), forks 3, which forks 4 on the other core.
    fn recording() -> Trace {
        let thread = |tid, parent| ThreadInfo { tid, parent, traced: tid > 1, ..ThreadInfo::default() };
        let fork =
            |time, parent, child, target| Event { time, core: 0, kind: Kind::Fork { parent, child, target } };
        let place = |time, thread| Event {
            time,
            core: 0,
            kind: Kind::Place { thread, target: 0, reason: 0, seen_khz: 0 },
        };
        let wakeup = Kind::Wakeup { thread: 2, waker: Waker::Thread(4), target: 0, sync: false };
        let events = vec![
            switch(10, 0, IDLE, Stop::Preempted, 2),
            place(20, 2),
            fork(1_000, 2, 3, 0),
            place(1_000, 3),
            switch(1_100, 0, 2, Stop::Blocked, 3),
            fork(1_200, 3, 4, 1),
            switch(1_300, 1, IDLE, Stop::Preempted, 4),
            Event { time: 1_900, core: 0, kind: Kind::Exit { thread: 3 } },
            switch(1_950, 0, 3, Stop::Exited, IDLE),
            Event { time: 2_000, core: 1, kind: Kind::Exit { thread: 4 } },
            Event { time: 2_010, core: 1, kind: wakeup },
            Event { time: 2_500, core: 0, kind: Kind::Exit { thread: 2 } },
        ];
        let header = Header {
            cores: vec![CoreInfo::default(); 2],
            duration: 2_500,
            threads: vec![thread(1, 0), thread(2, 1), thread(3, 2), thread(4, 3)],
            reasons: vec!["any".into()],
            ..Header::default()
        };
        Trace { header, events }
    }

    #[test]
    fn the_player_is_omitted() {
        let played = recording().played().unwrap();
        let summary = played.summary();
        assert_eq!(played.header.duration, 1_000);
        assert_eq!((summary.cores_used, summary.wakeups, summary.wakeup_latency_us.count), (2, 0, 2));
        assert_eq!(summary.placements["any"], 1);
        // 3 from 100 to 950, 4 from 300 on.
        assert!((summary.busy_core_s * 1e9 - 1_550.0).abs() < 1e-3, "{}", summary.busy_core_s);
    }

    #[test]
    fn a_trace_without_forks_has_no_play() {
        let mut trace = recording();
        trace.events.retain(|event| !matches!(event.kind, Kind::Fork { .. }));
        assert_eq!(trace.played(), None);
    }
}
