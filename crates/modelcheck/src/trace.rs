//! Converts a counterexample to a trace like that of any other run.

use hearth_base::constants::TICK_NS;
use hearth_policy::Policy;
use hearth_trace::{CoreId, CoreInfo, Event, Header, IDLE, Kind, Source, Stop, ThreadInfo, Tid, Time, Trace};

use crate::counterexample::{Counterexample, replay};
use crate::model::{FAST_KHZ, MIN_KHZ, Model};
use crate::replay::{events, khz, tid};
use crate::schedule_file::model_for;
use crate::search::CheckError;
use crate::world::{NO_THREAD, World};

/// How long a trace shows the final state, in nanoseconds: one tick, so that metrics measure the violation.
pub const HELD: Time = TICK_NS;

/// Replays a counterexample and records a trace.
///
/// Thread n of the scenario is thread n + 1 of the trace. Threads that are awake initially are
/// forked by the idle thread at time 0. The others first appear when they are woken or forked.
///
/// # Errors
/// If the counterexample is of another policy or of another version of it.
pub fn trace(policy: &Policy, found: &Counterexample) -> Result<Trace, CheckError> {
    found.check(policy)?;
    let model = model_for(policy, found)?;
    let replayed = replay(&model, &found.scenario, found.reduction.clone(), &found.steps);
    let mut all = replayed.worlds.first().map_or_else(Vec::new, |world| initial_events(&model, world));
    all.extend(events(&replayed));
    let end = all.last().map_or(0, |event| event.time);
    Ok(Trace { header: header(&model, found, &all, end + HELD), events: all })
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
                ..ThreadInfo::default()
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

/// The frequencies, threads and set members of the initial state.
fn initial_events(model: &Model<'_>, world: &World) -> Vec<Event> {
    let mut events = Vec::new();
    for (id, core) in (0..).zip(&world.cores) {
        let at = CoreId::from(id);
        let mut push = |kind| events.push(Event { time: 0, core: at, kind });
        push(Kind::Frequency { khz: khz(model, id) });
        let current = (core.current != NO_THREAD).then_some(core.current);
        for thread in current.into_iter().chain(core.ready()) {
            push(Kind::Fork { parent: IDLE, child: tid(thread), target: at });
        }
        if current.is_some() {
            push(Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: tid(core.current) });
        }
        for (number, _) in model.policy.sets.iter().enumerate().filter(|(n, _)| world.vars[*n] >> id & 1 == 1)
        {
            push(Kind::Set { set: number as u8, member: true });
        }
    }
    events
}
