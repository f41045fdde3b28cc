//! Tests of the power and energy model.

use crate::common::{MS, machine, spread};
use hearth_machine::{Governor, Machine};

const WARM: u64 = 500 * MS;

/// Power in watts with the given cores busy and warm.
fn watts(m: &Machine, governor: Governor, cores: &[u16]) -> f64 {
    let mut model = m.frequency_model(governor);
    for &core in cores {
        model.set_active(0, core, true);
    }
    model.advance(WARM);
    model.power_uw().expect("known") as f64 / 1e6
}

#[test]
fn all_cores_draw_the_tdp() {
    for name in Machine::names() {
        let m = machine(name);
        // `limiter.rs` has those whose power is limited.
        if m.power.as_ref().is_none_or(|power| !power.limits.is_empty()) {
            continue;
        }
        let all: Vec<u16> = (0..m.topology.core_count() as u16).collect();
        let drawn = watts(&m, Governor::Performance, &all);
        let tdp = m.power.as_ref().expect("known").tdp_w * m.topology.socket_count() as f64;
        assert!((drawn / tdp - 1.0).abs() < 0.01, "{name}: {drawn} of {tdp} W");
    }
}

#[test]
fn an_idle_machine_draws_little() {
    for name in Machine::names() {
        let m = machine(name);
        if m.power.is_none() {
            continue;
        }
        let idle = watts(&m, Governor::Schedutil, &[]);
        let one = watts(&m, Governor::Schedutil, &[0]);
        assert!(idle < one, "{name}");
        // WFI alone keeps the leakage of every core.
        let part = if m.idle.iter().all(|state| state.name == "WFI") { 0.35 } else { 0.2 };
        assert!(
            idle < part * m.power.as_ref().expect("known").tdp_w * m.topology.socket_count() as f64,
            "{name}: {idle}"
        );
    }
}

/// Nest paper, section 5.2: all sockets stay up while any core is active.
#[test]
fn the_uncore_of_all_sockets_is_on() {
    let m = machine("xeon-6130-4s");
    let one = watts(&m, Governor::Performance, &[0]);
    assert!(one > 4.0 * m.power.as_ref().expect("known").uncore_w);
}

/// Nest paper, section 5.2: the highest frequency on a socket sets its voltage.
#[test]
fn the_fastest_core_sets_the_voltage() {
    let m = machine("xeon-e7-8870v4");
    let topology = &m.topology;
    let (here, there) = (topology.cores_of_socket(0), topology.cores_of_socket(1));
    // Two slow cores that request 1.3 GHz, and a fast one on the same or another socket.
    let drawn = |fast: u16| {
        let mut model = m.frequency_model(Governor::Schedutil);
        for core in [here[0], here[1], fast] {
            model.update_util(0, core, core, || if core == fast { 1024 } else { 350 });
            model.set_active(0, core, true);
        }
        model.advance(WARM);
        assert_eq!(model.khz(here[0]), 1_300_000);
        model.power_uw().expect("known")
    };
    let elsewhere = drawn(there[0]);
    let together = drawn(here[2]);
    assert!(together > elsewhere, "{together} > {elsewhere}");
}

#[test]
fn the_voltage_falls_when_the_fastest_core_sleeps() {
    let m = machine("xeon-e7-8870v4");
    let drawn = |with_fast: bool| {
        let mut model = m.frequency_model(Governor::Schedutil);
        model.update_util(0, 0, 0, || 350);
        model.set_active(0, 0, true);
        model.update_util(0, 4, 4, || 1024);
        model.set_active(0, 4, with_fast);
        model.set_active(100 * MS, 4, false);
        model.advance(WARM);
        model.power_uw().expect("known")
    };
    assert_eq!(drawn(true), drawn(false));
}

#[test]
fn more_voltage_more_power() {
    let slow = machine("xeon-5218");
    let mut fast = slow.clone();
    for point in &mut fast.power.as_mut().expect("known").voltage {
        // The all-core point stays, so that the calibration stays.
        if point.khz > 2_800_000 {
            point.mv += 200;
        }
    }
    let one = spread(&slow, 1);
    assert!(watts(&fast, Governor::Performance, &one) > watts(&slow, Governor::Performance, &one));
}

#[test]
fn energy_is_power_times_time() {
    let m = machine("xeon-5218");
    let mut model = m.frequency_model(Governor::Performance);
    model.set_active(0, 0, true);
    let warm = model.energy_uj(WARM).unwrap_or(0);
    let power = model.power_uw().expect("known");
    let later = model.energy_uj(WARM + 1000 * MS).unwrap_or(0);
    assert!((later - warm).abs_diff(power) <= 1, "one second");
    assert_eq!(model.energy_uj(WARM + 1000 * MS).unwrap_or(0), later, "asking costs nothing");
}

#[test]
fn racing_to_idle_saves_the_uncore() {
    // The same cycles on one core, cold or kept warm. The shorter run uses less energy although its
    // power is higher, as in figure 7 of the Nest paper.
    let m = machine("xeon-6130-2s");
    let energy = |governor| {
        let mut model = m.frequency_model(governor);
        let mut cycles = 0u64;
        let mut now = 0;
        while cycles < 2_000_000_000 {
            // 1 ms of work, 30 ms of sleep: always cold under powersave.
            model.set_active(now, 0, true);
            for _ in 0..10 {
                cycles += u64::from(model.khz(0)) / 10;
                now += MS / 10;
                model.advance(now);
            }
            model.set_active(now, 0, false);
            if governor == Governor::Powersave {
                now += 30 * MS;
            }
        }
        model.energy_uj(now).unwrap_or(0)
    };
    assert!(energy(Governor::Performance) < energy(Governor::Powersave));
}
