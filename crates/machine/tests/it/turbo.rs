//! Tests of the turbo table and the delayed accounting.

use crate::common::{MS, WINDOW, machine, model, spread};
use hearth_machine::{Governor, Machine};

/// Longer than the ramp of any machine.
const WARM: u64 = 500 * MS;

#[test]
fn every_machine_reaches_its_table() {
    for name in Machine::names() {
        let m = machine(name);
        let limited = m.power.as_ref().is_some_and(|power| !power.limits.is_empty());
        if limited || !m.topology.shape().kinds.is_empty() {
            continue;
        }
        let per_socket = usize::from(m.topology.shape().cores_per_socket);
        for busy in 1..=per_socket {
            let mut model = m.frequency_model(Governor::Performance);
            let cores = spread(&m, busy);
            for &core in &cores {
                model.set_active(0, core, true);
            }
            model.advance(WARM);
            let expected = m
                .frequency
                .turbo
                .limits
                .iter()
                .find(|l| usize::from(l.cores) >= busy)
                .expect("the table covers the socket")
                .khz;
            for &core in &cores {
                assert_eq!(model.khz(core), expected, "{name}, {busy} busy");
            }
        }
    }
}

#[test]
fn tables_are_the_papers() {
    // Nest paper, table 3: tenths of GHz with 1, 2, 3, 4, 8, 12 and 16 cores.
    for (name, tens) in [
        ("xeon-e7-8870v4", [30, 30, 28, 27, 26, 26, 26]),
        ("xeon-6130-2s", [37, 37, 35, 35, 34, 31, 28]),
        ("xeon-6130-4s", [37, 37, 35, 35, 34, 31, 28]),
        ("xeon-5218", [39, 39, 37, 37, 36, 31, 28]),
    ] {
        let m = machine(name);
        for (busy, tenths) in [1, 2, 3, 4, 8, 12, 16].into_iter().zip(tens) {
            let mut model = m.frequency_model(Governor::Powersave);
            for core in spread(&m, busy) {
                model.set_active(0, core, true);
            }
            assert_eq!(model.limit_khz(spread(&m, 1)[0]), tenths * 100_000, "{name} {busy}");
        }
    }
}

/// Nest paper, figure 2(a): one task, spread over eight cores of the 5218.
#[test]
fn a_hopping_task_does_not_reach_the_highest_turbo() {
    let m = machine("xeon-5218");
    let lowest = |cores: &[u16]| {
        let mut model = m.frequency_model(Governor::Schedutil);
        let mut lowest = u32::MAX;
        for hop in 0..200usize {
            let core = cores[hop % cores.len()];
            let now = hop as u64 * 2 * MS;
            model.set_active(now, core, true);
            if hop > 100 {
                lowest = lowest.min(model.limit_khz(core));
            }
            model.set_active(now + 2 * MS, core, false);
        }
        lowest
    };
    assert_eq!(lowest(&spread(&m, 8)), 3_600_000, "the eight-core range");
    assert_eq!(lowest(&spread(&m, 2)), 3_900_000, "figure 2(b)");
}

/// A socket's count with three cores busy for 50 ms; the third then sleeps.
fn three(m: &Machine) -> (hearth_machine::Model, Vec<u16>) {
    let mut model = m.frequency_model(Governor::Powersave);
    let cores = spread(m, 3);
    for &core in &cores {
        model.set_active(0, core, true);
    }
    model.set_active(50 * MS, cores[2], false);
    (model, cores)
}

#[test]
fn shallow_idle_states_count() {
    // Without a delay, the idle state decides.
    let m = Machine::load("xeon-6130-2s:frequency.turbo.release_us=0").expect("valid");
    let (mut model, cores) = three(&m);
    model.advance(50 * MS + WINDOW);
    assert_eq!(model.counted(0), 2, "C6: nothing is known of this core, so a long idle time is expected");
    // Eight idle times of 180 to 220 us: C1E is expected to pay off, C6 is not.
    let mut now = 100 * MS;
    for n in 0..8 {
        model.set_active(now, cores[2], true);
        model.set_active(now + MS, cores[2], false);
        now += MS + 180_000 + n % 2 * 40_000;
    }
    model.set_active(now, cores[2], true);
    assert_eq!(model.exit_latency_ns(now, cores[2]), 0, "busy");
    model.set_active(now, cores[2], false);
    assert_eq!(model.exit_latency_ns(now, cores[2]), 10_000, "C1E");
    model.advance(now + WINDOW);
    assert_eq!(model.counted(0), 3, "in C1E");
    model.advance(now + 40 * MS);
    assert_eq!(model.counted(0), 2, "ticks made it go to C6");
    assert_eq!(model.exit_latency_ns(now + 40 * MS, cores[2]), 92_000);
}

#[test]
fn a_core_is_released_in_time() {
    let m = machine("xeon-6130-2s");
    let (mut model, cores) = three(&m);
    assert_eq!(model.khz(cores[0]), 3_500_000);
    let idle_from = 50 * MS;
    let release = u64::from(m.frequency.turbo.release_us) * 1000;
    model.advance(idle_from + release - 1);
    assert_eq!((model.counted(0), model.khz(cores[0])), (3, 3_500_000));
    model.advance(idle_from + release + WINDOW);
    assert_eq!((model.counted(0), model.khz(cores[0])), (2, 3_700_000));
}

#[test]
fn work_within_the_release_renews_it() {
    let mut model = model("xeon-5218", Governor::Powersave);
    // 20 ms of release, 15 ms between the tasks: too different for the idle governor to expect.
    for n in 0..10 {
        model.set_active(n * 15 * MS, 0, true);
        model.set_active(n * 15 * MS + MS, 0, false);
        model.advance(n * 15 * MS + 14 * MS);
        assert_eq!(model.counted(0), 1);
    }
    model.advance(9 * 15 * MS + 21 * MS + WINDOW);
    assert_eq!(model.counted(0), 0);
}

#[test]
fn a_core_that_goes_on_working_is_not_released() {
    let mut model = model("xeon-5218", Governor::Powersave);
    model.set_active(0, 0, true);
    model.set_active(10 * MS, 0, false);
    model.set_active(11 * MS, 0, true);
    model.advance(1000 * MS);
    assert_eq!(model.counted(0), 1);
}

#[test]
fn sockets_and_hyperthreads() {
    let m = machine("xeon-6130-2s");
    let mut model = m.frequency_model(Governor::Powersave);
    let (a, b) = (m.topology.siblings(0)[0], m.topology.siblings(0)[1]);
    model.set_active(0, a, true);
    model.set_active(0, b, true);
    assert_eq!(model.counted(0), 1, "hyperthreads are one physical core");
    model.set_active(MS, a, false);
    assert_eq!(model.khz(a), model.khz(b));
    assert_eq!(model.counted(1), 0, "the other socket is its own");
    model.advance(50 * MS);
    assert_eq!(model.khz(b), 3_700_000, "one busy hyperthread keeps it warm");
}
