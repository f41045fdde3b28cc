//! A schedule for people: a line for each run of steps of one core.

use hearth_ipanema::ir::Event;

use crate::access::Access;
use crate::counterexample::Replayed;
use crate::log::Happening;
use crate::model::Model;
use crate::step::Step;
use crate::world::{NO_THREAD, World};

/// The lines of a schedule, the state at its beginning first. Steps of one core that follow each
/// other are one line for each handler; what a handler sees twice, and what it notes in attributes,
/// is left out.
pub(crate) fn lines(replayed: &Replayed<'_>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(replayed.worlds.first().map(|world| format!("at first: {}", show(world))));
    let mut speaker: Option<u8> = None;
    let mut said: Vec<String> = Vec::new();
    for ((step, log), world) in replayed.logs.iter().zip(&replayed.worlds) {
        let core = core_of(*step, world);
        let intro = introduction(*step, world);
        let told = log.iter().filter_map(|happening| Some((tell(replayed.model, happening)?, happening)));
        let words = intro.map(|intro| (intro, true)).into_iter().chain(told.map(|(text, happening)| {
            (text, matches!(happening, Happening::Begins { .. }) && !begins(*step))
        }));
        for (text, new_line) in words.collect::<Vec<_>>() {
            if new_line || speaker != core {
                said.clear();
                lines.push(core.map_or_else(|| text.clone(), |core| format!("core {core}: {text}")));
            } else if let (Some(last), false) = (lines.last_mut(), said.contains(&text)) {
                *last += &format!("; {text}");
            }
            speaker = core;
            said.push(text);
        }
    }
    lines.extend(replayed.worlds.last().map(|world| format!("at last: {}", show(world))));
    lines
}

/// The step introduces its event itself.
fn begins(step: Step) -> bool {
    matches!(step, Step::Op(_) | Step::Interrupt(_))
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
        Happening::Access { access: Access::SetThread(..) | Access::SetCore(..), .. } => None,
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
