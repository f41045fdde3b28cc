//! Limits of a socket's average power, and the power of idle states.

use crate::common::{MS, machine};
use hearth_machine::{Governor, Machine};

fn all_busy(m: &Machine) -> hearth_machine::Model {
    let mut model = m.frequency_model(Governor::Performance);
    (0..m.topology.core_count() as u16).for_each(|core| model.set_active(0, core, true));
    model
}

fn watts(model: &hearth_machine::Model) -> f64 {
    model.power_uw().expect("known") as f64 / 1e6
}

#[test]
fn the_limit_holds_on_average() {
    for (name, limit) in [("epyc-9755", 500.0), ("xeon-8480", 350.0), ("ryzen-7950x", 230.0)] {
        let m = machine(name);
        let mut model = all_busy(&m);
        model.advance(20_000 * MS);
        let before = model.energy_uj(20_000 * MS).expect("known");
        let after = model.energy_uj(21_000 * MS).expect("known");
        let mean = (after - before) as f64 / 1e6 / m.topology.socket_count() as f64;
        assert!(mean <= limit * 1.001 && mean > limit * 0.93, "{name}: {mean} W");
        assert!(model.khz(0) < m.frequency.max_khz() && model.khz(0) <= model.limit_khz(0));
    }
}

#[test]
fn a_long_time_constant_allows_more_at_first() {
    let m = machine("i9-13900k");
    let mut model = all_busy(&m);
    model.advance(1_000 * MS);
    let (first, khz) = (watts(&model), model.khz(0));
    assert!(first > 200.0 && first <= 254.0, "PL2: {first}");
    model.advance(400_000 * MS);
    assert!(watts(&model) <= 125.5 && model.khz(0) < khz, "PL1: {}", watts(&model));
}

#[test]
fn few_cores_are_not_limited() {
    let m = machine("epyc-9654");
    let mut model = m.frequency_model(Governor::Performance);
    model.set_active(0, 0, true);
    model.advance(1_000 * MS);
    assert_eq!(model.khz(0), 3_700_000);
}

/// After an idle time, the socket has its budget back.
#[test]
fn idle_time_restores_the_budget() {
    let m = machine("ryzen-7950x");
    let all = 0..m.topology.core_count() as u16;
    let mut model = all_busy(&m);
    model.advance(1_000 * MS);
    let limited = model.limit_khz(0);
    all.for_each(|core| model.set_active(1_000 * MS, core, false));
    model.set_active(2_000 * MS, 0, true);
    assert!(model.limit_khz(0) > limited, "{} > {limited}", model.limit_khz(0));
}

#[test]
fn a_shallow_idle_state_draws_more() {
    let m = Machine::load("xeon-5218:idle.0.power_w=0.9,idle.1.power_w=0.5").expect("valid");
    let mut model = m.frequency_model(Governor::Performance);
    let deep = watts(&model);
    let siblings = m.topology.siblings(0).to_vec();
    // Idle times of 1 us are expected again: C1. The sibling stays in C6.
    let mut now = MS;
    for _ in 0..20 {
        model.set_active(now, siblings[0], true);
        model.set_active(now + 1_000, siblings[0], false);
        now += 2_000;
    }
    assert!((watts(&model) - deep - 0.8).abs() < 1e-6, "{} - {deep}", watts(&model));
    model.advance(1_000 * MS);
    assert!((watts(&model) - deep).abs() < 1e-6, "its ticks make it deeper");
    for (values, says) in [
        ("idle.0.power_w=0.2,idle.1.power_w=0.5", "at most that of the shallower"),
        ("idle.0.power_w=9.0", "idle[0].power_w"),
    ] {
        let message = Machine::load(&format!("xeon-5218:{values}")).expect_err(values).to_string();
        assert!(message.contains(says), "{message}");
    }
}
