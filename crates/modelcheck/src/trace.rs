//! A counter-example as a trace like that of any other run.

use hearth_policy::Policy;
use hearth_trace::{
    CoreId, CoreInfo, Event, Header, IDLE, Kind, Source, Stop, ThreadInfo, Tid, Time, Trace, Waker,
};

use crate::counterexample::{Counterexample, Replayed, repeat};
use crate::model::{FAST_KHZ, MIN_KHZ, Model};
use crate::replay::{self, Left, SchedulerEvent, events};
use crate::schedule_file::fitting;
use crate::search::CheckError;
use crate::world::{NO_THREAD, World};

/// The state at the end is shown for so long, in nanoseconds: a tick. What is wrong is seen in it,
/// and measured.
pub const HELD: Time = 4_000_000;
/// The threads are there this long before the schedule begins.
const BEFORE: Time = 1000;

/// Lets the schedule of a counter-example happen again, and tells what happens as a trace.
///
/// Threads are numbered from 1, as 0 is the idle thread. Those that are awake at the beginning are
/// forked by nobody; the others are not seen before they are woken or forked.
///
/// # Errors
/// If the counter-example is of another policy, or does not fit it any longer.
pub fn trace(policy: &Policy, found: &Counterexample) -> Result<Trace, CheckError> {
    found.check(policy)?;
    let model = fitting(policy, found)?;
    let replayed = repeat(&model, &found.scenario, found.reduction.clone(), &found.steps);
    let mut all = replayed.worlds.first().map_or_else(Vec::new, |world| beginning(&model, world));
    all.extend(schedule(&replayed));
    let end = all.last().map_or(0, |event| event.time);
    Ok(Trace { header: header(&model, found, &all, end + HELD), events: all })
}

fn khz(model: &Model<'_>, core: u8) -> u32 {
    model.frequency(core) as u32
}

fn tid(thread: Option<u8>) -> Tid {
    thread.map_or(IDLE, |thread| Tid::from(thread) + 1)
}

fn header(model: &Model<'_>, found: &Counterexample, events: &[Event], duration: Time) -> Header {
    let policy = model.policy;
    let differs = |(name, value): &&(String, i64)| {
        policy.params.iter().any(|param| param.name == *name && param.initial != *value)
    };
    let params = found.params.iter().filter(differs).map(|(name, value)| (name.clone(), value.to_string()));
    let parent = |child: Tid| {
        events.iter().find_map(|event| match event.kind {
            Kind::Fork { parent, child: c, .. } if c == child => Some(parent),
            _ => None,
        })
    };
    let topology = &found.scenario.topology;
    let core = |(&physical, &llc): (&u8, &u8)| {
        let llc = u16::from(llc);
        CoreInfo { physical: physical.into(), llc, numa: llc, socket: llc }
    };
    Header {
        source: Source::Simulated {
            policy: policy.name.clone(),
            params: params.collect(),
            workload: found.scenario.name.clone(),
            governor: "fixed".to_owned(),
            seed: 0,
        },
        machine: format!("{} cores of scenario {}", model.map.nr_cores, found.scenario.name),
        cores: topology.physical.iter().zip(&topology.llc).map(core).collect(),
        duration,
        threads: (1..=model.programs.len() as Tid)
            .map(|tid| ThreadInfo {
                tid,
                name: format!("thread {}", tid - 1),
                parent: parent(tid).unwrap_or(IDLE),
                traced: true,
            })
            .collect(),
        reasons: policy.reasons.clone(),
        sets: policy.sets.iter().map(|set| set.name.clone()).collect(),
        assumed_khz: MIN_KHZ as u32,
        khz_range: (MIN_KHZ as u32, FAST_KHZ as u32),
        lost: vec![0; topology.nr_cores()],
        ..Header::default()
    }
}

/// What is there when the schedule begins.
fn beginning(model: &Model<'_>, world: &World) -> Vec<Event> {
    let mut events = Vec::new();
    for (id, core) in (0..).zip(&world.cores) {
        let at = CoreId::from(id);
        let mut tell = |kind| events.push(Event { time: 0, core: at, kind });
        tell(Kind::Frequency { khz: khz(model, id) });
        let current = (core.current != NO_THREAD).then_some(core.current);
        for thread in current.into_iter().chain(core.ready()) {
            tell(Kind::Fork { parent: IDLE, child: tid(Some(thread)), target: at });
        }
        if current.is_some() {
            tell(Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: tid(current) });
        }
        for (number, _) in model.policy.sets.iter().enumerate().filter(|(n, _)| world.vars[*n] >> id & 1 == 1)
        {
            tell(Kind::Set { set: number as u8, member: true });
        }
    }
    events
}

fn schedule(replayed: &Replayed<'_>) -> Vec<Event> {
    let model = replayed.model;
    let of = |SchedulerEvent { time, core, kind }| {
        let kind = kind_of(model, core, &kind);
        // Of a set the trace says which core it is that came or went.
        let (core, kind) = match kind {
            Told::Here(kind) => (core, kind),
            Told::At(core, kind) => (core, kind),
        };
        Event { time: time + BEFORE, core: core.into(), kind }
    };
    events(replayed).into_iter().map(of).collect()
}

/// Where something happens: where the handler runs, or on the core that it is about.
enum Told {
    Here(Kind),
    At(u8, Kind),
}

fn kind_of(model: &Model<'_>, core: u8, kind: &replay::Kind) -> Told {
    use replay::Kind as Replayed;
    Told::Here(match kind {
        Replayed::Switch { previous, why, next } => {
            let stop = match why {
                Left::Preempted => Stop::Preempted,
                Left::Yielded => Stop::Yielded,
                Left::Blocked => Stop::Blocked,
                Left::Exited => Stop::Exited,
            };
            Kind::Switch { prev: tid(*previous), stop, next: tid(*next) }
        }
        Replayed::Fork { parent, child, target } => {
            Kind::Fork { parent: tid(*parent), child: tid(Some(*child)), target: (*target).into() }
        }
        Replayed::Wakeup { thread, waker, target } => {
            let waker = waker.map_or(Waker::Interrupt, |waker| Waker::Thread(tid(Some(waker))));
            Kind::Wakeup { thread: tid(Some(*thread)), waker, target: (*target).into() }
        }
        Replayed::Migrate { thread, from, to } => {
            Kind::Migrate { thread: tid(Some(*thread)), from: (*from).into(), to: (*to).into() }
        }
        Replayed::Place { thread, target, reason } => {
            let reason = model.policy.reasons.iter().position(|name| name == reason).unwrap_or(0) as u16;
            let (thread, seen_khz) = (tid(Some(*thread)), khz(model, *target));
            Kind::Place { thread, target: (*target).into(), reason, seen_khz }
        }
        Replayed::Exit { thread } => Kind::Exit { thread: tid(Some(*thread)) },
        Replayed::Tick => Kind::Tick { khz: khz(model, core) },
        Replayed::Set { set, core, member } => {
            let set = model.policy.sets.iter().position(|known| known.name == *set).unwrap_or(0) as u8;
            return Told::At(*core, Kind::Set { set, member: *member });
        }
    })
}
