//! The schedule of a counterexample as text: a line for each run of steps of one core.

use hearth_ipanema::ir::Event;

use crate::access::Access;
use crate::cores::Cores;
use crate::counterexample::Replayed;
use crate::log::LogEntry;
use crate::model::Model;
use crate::step::Step;
use crate::world::{NO_THREAD, World};

/// The lines of a schedule, between its first and last states. Consecutive steps of one core form one line
/// for each handler. Repeated accesses and writes of attributes are left out.
pub(crate) fn lines(replayed: &Replayed<'_>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let online = replayed.model.map.online;
    lines.extend(replayed.worlds.first().map(|world| format!("initially: {}", show(world, online))));
    let mut line_core: Option<u8> = None;
    let mut said: Vec<String> = Vec::new();
    for ((step, log), world) in replayed.logs.iter().zip(&replayed.worlds) {
        let core = core_of(*step, world);
        let intro = introduction(*step, world);
        let entries = log.iter().filter_map(|entry| Some((describe(replayed.model, entry)?, entry)));
        let phrases =
            intro.map(|intro| (intro, true)).into_iter().chain(entries.map(|(text, entry)| {
                (text, matches!(entry, LogEntry::Begins { .. }) && !is_introduced(*step))
            }));
        for (text, new_line) in phrases.collect::<Vec<_>>() {
            if new_line || line_core != core {
                said.clear();
                lines.push(core.map_or_else(|| text.clone(), |core| format!("core {core}: {text}")));
            } else if let (Some(last), false) = (lines.last_mut(), said.contains(&text)) {
                *last += &format!("; {text}");
            }
            line_core = core;
            said.push(text);
        }
    }
    lines.extend(replayed.worlds.last().map(|world| format!("finally: {}", show(world, online))));
    lines
}

/// `introduction` announces the event of this step.
fn is_introduced(step: Step) -> bool {
    matches!(step, Step::Op(_) | Step::Sync(_) | Step::Interrupt(_))
}

/// The core on which a step happens; `None` for the clock.
pub(crate) fn core_of(step: Step, world: &World) -> Option<u8> {
    match step {
        Step::Clock | Step::Quiet | Step::Turn(_) | Step::Round => None,
        Step::Go(core)
        | Step::Op(core)
        | Step::Sync(core)
        | Step::Tick(core)
        | Step::Preempt(core)
        | Step::Dispatch(core) => Some(core),
        Step::Interrupt(thread) => Some(world.thread(thread).core),
        Step::Timer(thread) => Some(world.thread(thread).timer_core),
    }
}

/// The text before the event of a step.
fn introduction(step: Step, world: &World) -> Option<String> {
    match step {
        Step::Clock => Some("the clock advances by 4 ms".to_owned()),
        Step::Turn(_) | Step::Round => Some("the clock advances by 256 ticks".to_owned()),
        Step::Quiet => Some("no thread blocks, yields, wakes or exits any more".to_owned()),
        Step::Interrupt(_) => Some("an interrupt".to_owned()),
        Step::Op(core) => Some(format!("thread {}", world.core(core).current)),
        Step::Sync(core) => Some(format!("thread {}, about to sleep", world.core(core).current)),
        _ => None,
    }
}

fn describe(model: &Model<'_>, entry: &LogEntry) -> Option<String> {
    match entry {
        LogEntry::Begins { event, thread, core } => Some(match (event, *thread) {
            (Event::Schedule, _) => format!("[{}]", event.name()),
            (_, NO_THREAD) => format!("[{}({core})]", event.name()),
            (Event::New | Event::Unblock, thread) => format!("[{}({thread}, {core})]", event.name()),
            (_, thread) => format!("[{}({thread})]", event.name()),
        }),
        // `schedule` only reads its own queue.
        LogEntry::Access { event: Event::Schedule, access, .. } if access.is_read() => None,
        LogEntry::Access { access: Access::SetThread(..) | Access::SetCore(..), .. } => None,
        LogEntry::Access { access, result, .. } => Some(access.describe(model, *result)),
        LogEntry::Idle => Some("goes idle".to_owned()),
        LogEntry::StaysAwake => Some("does not go idle: a thread became ready".to_owned()),
    }
}

/// The threads of each core that is on line.
fn show(world: &World, online: Cores) -> String {
    let core = |core: &crate::world::Core| {
        let ready: Vec<String> = core.ready().map(|t| t.to_string()).collect();
        let current = match core.current {
            NO_THREAD if !ready.is_empty() || core.activity.is_some() => "-".to_owned(),
            NO_THREAD => "idle".to_owned(),
            thread => format!("runs {thread}"),
        };
        if ready.is_empty() { current } else { format!("{current}, ready {}", ready.join(" ")) }
    };
    let cores: Vec<String> = online.iter().map(|id| format!("core {id} {}", core(world.core(id)))).collect();
    cores.join("; ")
}
