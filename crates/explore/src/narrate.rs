//! A schedule for people: a line for each run of steps of one core.

use hearth_ipanema::ir::Event;

use crate::counterexample::Replayed;
use crate::log::Happening;
use crate::model::Model;
use crate::step::Step;
use crate::world::{NO_THREAD, World};

/// The lines of a schedule, the state at its beginning first.
pub(crate) fn lines(replayed: &Replayed<'_>) -> Vec<String> {
    let mut lines: Vec<String> = replayed.worlds.first().map(|world| format!("at first: {}", show(world))).into_iter().collect();
    let mut speaker: Option<u8> = None;
    for ((step, log), world) in replayed.logs.iter().zip(&replayed.worlds) {
        let core = core_of(*step, world);
        let mut words: Vec<String> = Vec::new();
        if let Some(intro) = introduction(*step, world) {
            words.push(intro);
        }
        words.extend(log.iter().filter_map(|happening| tell(replayed.model, happening)));
        if words.is_empty() {
            continue;
        }
        let text = words.join("; ");
        match lines.last_mut() {
            Some(last) if speaker == core && core.is_some() => *last += &format!("; {text}"),
            _ => match core {
                Some(core) => lines.push(format!("core {core}: {text}")),
                None => lines.push(text),
            },
        }
        speaker = core;
    }
    if let Some(world) = replayed.worlds.last() {
        lines.push(format!("at last: {}", show(world)));
    }
    lines
}

/// Where a step happens.
pub(crate) fn core_of(step: Step, world: &World) -> Option<u8> {
    match step {
        Step::Clock => None,
        Step::Go(core) | Step::Op(core) | Step::Tick(core) | Step::Preempt(core) | Step::Dispatch(core) => {
            Some(core)
        }
        Step::Interrupt(thread) => Some(world.thread(thread).core),
        Step::Timer(thread) => Some(world.thread(thread).timer_core),
    }
}

/// What is not told by the event that the step begins.
fn introduction(step: Step, world: &World) -> Option<String> {
    match step {
        Step::Clock => Some("the clock goes on by 4ms".to_owned()),
        Step::Interrupt(_) => Some("an interrupt".to_owned()),
        Step::Op(core) => Some(format!("thread {}", world.core(core).current)),
        _ => None,
    }
}

fn tell(model: &Model<'_>, happening: &Happening) -> Option<String> {
    match happening {
        Happening::Begins { event, thread, core } => Some(match (event, *thread) {
            (Event::Schedule, _) => format!("[{}]", event.name()),
            (_, NO_THREAD) => format!("[{}({core})]", event.name()),
            (Event::New | Event::Unblock, thread) => format!("[{}({thread}, {core})]", event.name()),
            (_, thread) => format!("[{}({thread})]", event.name()),
        }),
        // What `schedule` looks at is its own queue.
        Happening::Access { event: Event::Schedule, access, .. } if access.is_read() => None,
        Happening::Access { access, result, .. } => Some(access.describe(model, *result)),
        Happening::Idle => Some("goes idle".to_owned()),
        Happening::StaysAwake => Some("does not go idle: a thread has come".to_owned()),
    }
}

/// Who is where.
fn show(world: &World) -> String {
    let core = |core: &crate::world::Core| {
        let ready: Vec<String> = core.ready().map(|t| t.to_string()).collect();
        let current = match core.current {
            NO_THREAD if !ready.is_empty() || core.activity.is_some() => "-".to_owned(),
            NO_THREAD => "idle".to_owned(),
            thread => format!("runs {thread}"),
        };
        if ready.is_empty() { current } else { format!("{current}, ready {}", ready.join(" ")) }
    };
    let cores: Vec<String> =
        world.cores.iter().enumerate().map(|(id, c)| format!("core {id} {}", core(c))).collect();
    cores.join("; ")
}
