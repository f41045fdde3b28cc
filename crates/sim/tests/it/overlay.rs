//! A simulated schedule, laid over its own machine, has the frequencies of the simulation.

use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::{Job, Native, Overlay, OverlayError, World, run};
use hearth_trace::{Event, Header, Kind, Recording, Sink, Source};
use hearth_workload::Workload;

const WORKLOAD: &str = "configure:tests=60";

fn simulated(machine: &Machine, policy: &str, governor: Governor) -> (Header, Vec<Event>) {
    let workload = Workload::resolve(WORKLOAD).unwrap();
    let policy = Native::build(load(policy).unwrap()).unwrap();
    // A warm start leaves frequencies of which the trace does not tell, and placements that take time have the
    // utilisation of another moment.
    let world = World::EMPTY;
    let params = &Settings::default();
    let job = Job { governor, params, world, ..Job::new(&workload, machine, &policy) };
    let mut events = Vec::new();
    let outcome = run(&job, &mut events).unwrap();
    (outcome.header, events)
}

fn laid(header: &Header, events: &[Event], machine: &Machine, governor: Governor) -> (Header, Vec<Event>) {
    let mut result = Vec::new();
    let mut overlay = Overlay::new(header, machine, governor, &mut result).unwrap();
    events.iter().for_each(|event| overlay.event(event));
    let header = overlay.finish(header, machine, governor);
    (header, result)
}

#[test]
fn the_machine_of_the_simulation_gives_its_frequencies() {
    let mut changes = 0;
    for governor in Governor::ALL {
        for (name, policy) in [("xeon-5218", "nest"), ("xeon-e7-8870v4", "cfs"), ("ryzen-3400g", "smove")] {
            let machine = Machine::builtin(name).unwrap();
            let (header, events) = simulated(&machine, policy, governor);
            let (after, again) = laid(&header, &events, &machine, governor);
            changes += events.iter().filter(|event| matches!(event.kind, Kind::Frequency { .. })).count();
            // Not `assert_eq`, which would print them all.
            let differs = events.iter().zip(&again).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{name} {policy} {governor}");
            assert_eq!((events.len(), header.energy_uj), (again.len(), after.energy_uj));
        }
    }
    assert!(changes > 1000, "{changes}");
}

#[test]
fn a_recording_gets_ticks_and_says_what_it_was_laid_over() {
    let machine = Machine::builtin("xeon-5218").unwrap();
    let (mut header, mut events) = simulated(&machine, "cfs", Governor::Schedutil);
    header.source = Source::Recorded(Recording { command: vec!["make".into()], ..Recording::default() });
    let is_tick = |event: &Event| matches!(event.kind, Kind::Tick { .. });
    let ticks = events.iter().filter(|event| is_tick(event)).count();
    events.retain(|event| !is_tick(event));
    let (after, again) = laid(&header, &events, &machine, Governor::Performance);
    assert_eq!(after.source.to_string(), "make, laid over xeon-5218, performance");
    let found = again.iter().filter(|event| is_tick(event)).count();
    assert!(found.abs_diff(ticks) <= ticks / 4, "{found} ticks, in the simulation {ticks}");
    assert!(again.is_sorted_by_key(|event| event.time));
    let schedule = |events: &[Event]| {
        let of_machine = |event: &&Event| !matches!(event.kind, Kind::Tick { .. } | Kind::Frequency { .. });
        events.iter().filter(of_machine).copied().collect::<Vec<_>>()
    };
    assert_eq!(schedule(&events), schedule(&again), "the schedule stays");
}

#[test]
fn a_schedule_needs_as_many_sockets_cores_and_hyperthreads() {
    let e7 = Machine::builtin("xeon-e7-8870v4").unwrap();
    let (header, _) = simulated(&e7, "cfs", Governor::Performance);
    let too_small = |machine: &str| {
        let machine = Machine::builtin(machine).unwrap();
        Overlay::new(&header, &machine, Governor::Performance, ()).err().unwrap()
    };
    let error = |what, machine: &str, has| OverlayError::TooSmall { what, machine: machine.into(), has };
    assert_eq!(too_small("xeon-6130-4s"), error("cores in a socket", "xeon-6130-4s", 16));
    assert_eq!(too_small("xeon-5218"), error("sockets", "xeon-5218", 2));
}
