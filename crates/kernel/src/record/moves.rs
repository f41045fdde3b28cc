//! Moves that the kernel did not tell of.
//!
//! A ready thread starts on the core in whose run queue it is. Where it starts on another, a
//! `sched_migrate_task` is missing: the move is put in, right before the switch.

use hearth_trace::{CoreId, Event, IDLE, Kind, Stop, Tid};
use std::collections::HashMap;

/// The events with the missing moves put in; `missing` counts them per core.
pub fn infer(events: Vec<Event>, missing: &mut [u64]) -> Vec<Event> {
    // The core in whose run queue each ready thread is.
    let mut queue: HashMap<Tid, CoreId> = HashMap::new();
    let mut whole = Vec::with_capacity(events.len());
    for event in events {
        match event.kind {
            Kind::Wakeup { thread, target, .. } | Kind::Fork { child: thread, target, .. } => {
                queue.insert(thread, target);
            }
            Kind::Migrate { thread, to, .. } => {
                queue.entry(thread).and_modify(|core| *core = to);
            }
            Kind::Switch { prev, stop, next } => {
                if let Some(from) = queue.remove(&next).filter(|from| *from != event.core) {
                    let kind = Kind::Migrate { thread: next, from, to: event.core };
                    whole.push(Event { kind, ..event });
                    missing[usize::from(event.core)] += 1;
                }
                if prev != IDLE && matches!(stop, Stop::Preempted | Stop::Yielded) {
                    queue.insert(prev, event.core);
                }
            }
            _ => {}
        }
        whole.push(event);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::Waker;

    fn at(time: u64, core: CoreId, kind: Kind) -> Event {
        Event { time, core, kind }
    }

    #[test]
    fn a_thread_that_starts_elsewhere_has_moved() {
        let wakeup = at(1, 0, Kind::Wakeup { thread: 5, waker: Waker::Interrupt, target: 0 });
        let runs = |time, core| at(time, core, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 5 });
        let preempted = at(3, 1, Kind::Switch { prev: 5, stop: Stop::Preempted, next: IDLE });
        let moved = |time, from, to| at(time, to, Kind::Migrate { thread: 5, from, to });

        let mut missing = [0, 0];
        let events = infer(vec![wakeup, runs(2, 1), preempted, runs(4, 0)], &mut missing);
        assert_eq!(events, [wakeup, moved(2, 0, 1), runs(2, 1), preempted, moved(4, 1, 0), runs(4, 0)]);
        assert_eq!(missing, [1, 1]);
    }

    #[test]
    fn what_the_kernel_told_is_left_alone() {
        let events = vec![
            at(1, 0, Kind::Fork { parent: 1, child: 2, target: 0 }),
            at(2, 1, Kind::Migrate { thread: 2, from: 0, to: 1 }),
            at(3, 1, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 2 }),
            at(4, 1, Kind::Switch { prev: 2, stop: Stop::Blocked, next: IDLE }),
            at(5, 0, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 2 }),
        ];
        let mut missing = [0, 0];
        assert_eq!(infer(events.clone(), &mut missing), events);
        assert_eq!(missing, [0, 0]);
    }
}
