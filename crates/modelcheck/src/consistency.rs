//! The consistency of a state: every thread is in one state and in one place.

use crate::property::Violation;
use crate::world::{NO_THREAD, State, World};

/// # Errors
/// Fails if a thread is in no place or in two, or if a core and its threads disagree.
pub fn check(world: &World) -> Result<(), Violation> {
    let mut places = vec![0u32; world.threads.len()];
    for (id, core) in (0..).zip(&world.cores) {
        for thread in core.ready() {
            places[usize::from(thread)] += 1;
            let t = world.thread(thread);
            if t.state != State::Ready || t.core != id {
                let what = format!(
                    "thread {thread} is queued on core {id}, but is {:?} on core {}",
                    t.state, t.core
                );
                return Err(Violation::safety(what));
            }
        }
        if core.current != NO_THREAD {
            places[usize::from(core.current)] += 1;
            let t = world.thread(core.current);
            if t.state != State::Running || t.core != id {
                let what = format!(
                    "core {id} runs thread {}, which is {:?} on core {}",
                    core.current, t.state, t.core
                );
                return Err(Violation::safety(what));
            }
        }
        if world.idle.contains(id) && core.nr_running() > 0 {
            return Err(Violation::safety(format!("core {id} is in `idle`, but has a thread")));
        }
    }
    for (id, (thread, places)) in world.threads.iter().zip(places).enumerate() {
        // A running thread that is being descheduled is in no place.
        let expected = match thread.state {
            State::Ready => 1,
            State::Running => u32::from(thread.since >= 0),
            _ => 0,
        };
        if places != expected {
            let what = format!("thread {id} is {:?}, but in {places} places", thread.state);
            return Err(Violation::safety(what));
        }
    }
    Ok(())
}
