//! Missing migrations.
//!
//! A ready thread starts on the core in whose run queue it is. If it starts on another, a `sched_migrate_task` event is
//! missing: a migration is inserted right before the switch.

use crate::{CoreId, Event, IDLE, Kind, Stop, Tid};
use std::collections::HashMap;

/// The core in whose run queue each ready thread is.
#[derive(Default)]
pub struct Queues(HashMap<Tid, CoreId>);

impl Queues {
    /// Follows the next event. Returns the migration that is missing right before it, if any.
    pub fn missing_migration(&mut self, event: &Event) -> Option<Event> {
        let Queues(queue) = self;
        match event.kind {
            Kind::Wakeup { thread, target, .. } | Kind::Fork { child: thread, target, .. } => {
                queue.insert(thread, target);
            }
            Kind::Migrate { thread, to, .. } => {
                queue.entry(thread).and_modify(|core| *core = to);
            }
            Kind::Switch { prev, stop, next } => {
                let elsewhere = queue.remove(&next).filter(|from| *from != event.core);
                if prev != IDLE && matches!(stop, Stop::Preempted | Stop::Yielded) {
                    queue.insert(prev, event.core);
                }
                let kind = |from| Kind::Migrate { thread: next, from, to: event.core };
                return elsewhere.map(|from| Event { kind: kind(from), ..*event });
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Waker;

    fn at(time: u64, core: CoreId, kind: Kind) -> Event {
        Event { time, core, kind }
    }

    /// The events with the missing migrations inserted.
    fn completed(events: &[Event]) -> Vec<Event> {
        let mut queues = Queues::default();
        events.iter().flat_map(|event| queues.missing_migration(event).into_iter().chain([*event])).collect()
    }

    #[test]
    fn a_thread_that_starts_elsewhere_has_migrated() {
        let wakeup = at(1, 0, Kind::Wakeup { thread: 5, waker: Waker::Interrupt, target: 0, sync: false });
        let runs = |time, core| at(time, core, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 5 });
        let preempted = at(3, 1, Kind::Switch { prev: 5, stop: Stop::Preempted, next: IDLE });
        let moved = |time, from, to| at(time, to, Kind::Migrate { thread: 5, from, to });

        let events = completed(&[wakeup, runs(2, 1), preempted, runs(4, 0)]);
        assert_eq!(events, [wakeup, moved(2, 0, 1), runs(2, 1), preempted, moved(4, 1, 0), runs(4, 0)]);
    }

    #[test]
    fn complete_events_stay_as_they_are() {
        let events = vec![
            at(1, 0, Kind::Fork { parent: 1, child: 2, target: 0 }),
            at(2, 1, Kind::Migrate { thread: 2, from: 0, to: 1 }),
            at(3, 1, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 2 }),
            at(4, 1, Kind::Switch { prev: 2, stop: Stop::Blocked, next: IDLE }),
            at(5, 0, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 2 }),
        ];
        assert_eq!(completed(&events), events);
    }
}
