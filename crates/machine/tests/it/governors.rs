//! Effect of each governor by machine, and the kernel's view of frequencies.

use crate::common::{MS, machine, model, spread};
use hearth_machine::{Governor, Machine, Model};

#[test]
fn performance_is_the_highest_turbo() {
    for name in Machine::names() {
        let m = machine(name);
        let mut model = m.frequency_model(Governor::Performance);
        let preferred =
            m.topology.cores.iter().map(|core| core.id).find(|&core| m.rank(core) == 0).unwrap_or(0);
        model.set_active(0, preferred, true);
        assert_eq!(model.khz(preferred), m.frequency.max_khz(), "{name}, at once");
    }
}

#[test]
fn performance_may_be_nominal() {
    let run = |machine: &str| {
        let m = Machine::load(&format!("{machine}:frequency.performance='nominal'")).expect("valid");
        let mut model = m.frequency_model(Governor::Performance);
        model.set_active(0, 0, true);
        let first = model.khz(0);
        model.advance(100 * MS);
        (first, model.khz(0))
    };
    assert_eq!(run("xeon-e7-8870v4"), (2_100_000, 2_100_000), "the request is exact");
    assert_eq!(run("xeon-5218"), (2_300_000, 3_900_000), "the request is a lower bound");
    assert_eq!(run("ryzen-4650g"), (4_200_000, 4_200_000), "the highest ACPI P-state boosts");
}

#[test]
fn powersave_is_the_lowest_on_amd() {
    for name in ["ryzen-3400g", "ryzen-4650g"] {
        let mut model = model(name, Governor::Powersave);
        model.set_active(0, 0, true);
        model.advance(1000 * MS);
        assert_eq!(model.khz(0), 1_400_000, "{name}");
    }
}

#[test]
fn schedutil_decides_on_speedstep() {
    let mut e7 = model("xeon-e7-8870v4", Governor::Schedutil);
    e7.set_active(0, 0, true);
    e7.advance(100 * MS);
    assert_eq!(e7.khz(0), 1_200_000, "nothing was asked for");
    // 1.25 · 512/1024 · 3.0 GHz = 1.875 GHz: the next P-state is 1.9.
    e7.update_util(100 * MS, 0, 0, || 512);
    assert_eq!(e7.khz(0), 1_200_000, "not before the next window");
    e7.advance(101 * MS);
    assert_eq!(e7.khz(0), 1_900_000);
    e7.advance(500 * MS);
    assert_eq!(e7.khz(0), 1_900_000, "and never above");
    e7.update_util(500 * MS, 0, 0, || 1024);
    e7.advance(501 * MS);
    assert_eq!(e7.khz(0), 3_000_000);
    e7.update_util(600 * MS, 0, 0, || 0);
    e7.advance(601 * MS);
    assert_eq!(e7.khz(0), 3_000_000, "it was not idle since");
    e7.set_active(610 * MS, 0, false);
    e7.update_util(620 * MS, 0, 0, || 0);
    e7.set_active(630 * MS, 0, true);
    assert_eq!(e7.khz(0), 1_200_000);
}

#[test]
fn schedutil_keeps_its_request_over_gaps_with_a_tick() {
    let mut e7 = model("xeon-e7-8870v4", Governor::Schedutil);
    let mut now = 0;
    let mut gap = |e7: &mut Model, run: u64, idle: u64| {
        e7.set_active(now, 0, true);
        e7.set_active(now + run, 0, false);
        now += run + idle;
        now
    };
    let now = (0..8).map(|_| gap(&mut e7, MS, MS)).last().unwrap_or(0);
    e7.set_active(now, 0, true);
    e7.update_util(now, 0, 0, || 1024);
    // `menu` expects another gap of 1 ms, so the tick goes on.
    e7.set_active(now + 10 * MS, 0, false);
    e7.set_active(now + 11 * MS, 0, true);
    e7.update_util(now + 11 * MS, 0, 0, || 0);
    e7.advance(now + 12 * MS);
    assert_eq!(e7.khz(0), 3_000_000);
    // In a long gap it stops.
    e7.set_active(now + 20 * MS, 0, false);
    e7.set_active(now + 220 * MS, 0, true);
    e7.update_util(now + 220 * MS, 0, 0, || 0);
    e7.advance(now + 221 * MS);
    assert_eq!(e7.khz(0), 1_200_000);
}

#[test]
fn schedutil_is_a_floor_on_speed_shift() {
    let mut gold = model("xeon-6130-2s", Governor::Schedutil);
    // 1.25 · 512/1024 · 3.7 GHz = 2.3125 GHz: the next P-state is 2.4.
    gold.update_util(0, 0, 0, || 512);
    gold.set_active(10 * MS, 0, true);
    assert_eq!(gold.khz(0), 2_400_000, "no activity yet, but asked for");
    gold.advance(50 * MS);
    assert_eq!(gold.khz(0), 3_700_000, "the hardware goes higher");
}

#[test]
fn schedutil_takes_the_busier_hyperthread() {
    let m = machine("xeon-e7-8870v4");
    let mut e7 = m.frequency_model(Governor::Schedutil);
    let sibling = m.topology.siblings(0)[1];
    assert_eq!(sibling, 80);
    e7.set_active(0, 0, true);
    e7.advance(100 * MS);
    e7.update_util(100 * MS, sibling, sibling, || 1024);
    e7.update_util(100 * MS, 0, 0, || 100);
    e7.advance(101 * MS);
    assert_eq!(e7.khz(0), 3_000_000);
}

#[test]
fn schedutil_drops_requests_within_the_rate_limit() {
    let mut gold = model("xeon-6130-2s", Governor::Schedutil); // 5 ms
    gold.update_util(0, 0, 0, || 300);
    gold.update_util(MS, 0, 0, || panic!("not evaluated"));
    gold.set_active(2 * MS, 0, true);
    // 1.25 · 300/1024 · 3.7 GHz = 1.355 GHz.
    assert_eq!(gold.khz(0), 1_400_000, "the second is within the rate limit");
    gold.update_util(5 * MS, 0, 0, || 1024);
    gold.advance(6 * MS);
    assert_eq!(gold.khz(0), 3_700_000, "the third was accepted");
}

#[test]
fn schedutil_drops_calls_from_other_cores() {
    let mut e7 = model("xeon-e7-8870v4", Governor::Schedutil);
    e7.update_util(0, 0, 1, || panic!("not evaluated"));
    e7.set_active(0, 0, true);
    e7.advance(10 * MS);
    assert_eq!(e7.khz(0), 1_200_000);
}

#[test]
fn without_invariance_schedutil_climbs_in_steps() {
    let m = Machine::load("xeon-e7-8870v4:frequency.schedutil.invariant_khz=0").expect("valid");
    let mut e7 = m.frequency_model(Governor::Schedutil);
    let mut seen = Vec::new();
    crate::common::busy(&mut e7, 0, 0, 24 * MS, |_, e7| seen.push(e7.khz(0)));
    seen.dedup();
    assert_eq!(seen, [1_200_000, 1_500_000, 1_900_000, 2_400_000, 3_000_000]);
    assert_eq!(e7.scale(0), 1024);
}

#[test]
fn with_invariance_the_scale_follows_the_frequency() {
    let mut e7 = model("xeon-e7-8870v4", Governor::Schedutil);
    assert_eq!(e7.scale(0), 1024, "before the first tick");
    e7.set_active(0, 0, true);
    e7.tick(4 * MS, 0);
    // 1.2 GHz of the 2.7 GHz of four cores.
    assert_eq!(e7.scale(0), 455);
    e7.update_util(4 * MS, 0, 0, || 1024);
    e7.tick(8 * MS, 0);
    assert_eq!(e7.scale(0), 1024, "3 GHz for 3.5 of the 4 ms");
}

#[test]
fn amd_has_three_frequencies_and_boost() {
    let mut ryzen = model("ryzen-4650g", Governor::Schedutil);
    ryzen.set_active(0, 0, true);
    assert_eq!(ryzen.khz(0), 1_400_000);
    // 1.25 · 1.4 GHz = 1.75 GHz: the next P-state is the highest, which boosts.
    ryzen.update_util(4 * MS, 0, 0, || 1024);
    ryzen.advance(5 * MS);
    assert_eq!(ryzen.khz(0), 4_200_000);
    // A third of the time: 1.25 · 0.33 · 3.7 GHz = 1.53 GHz.
    ryzen.set_active(10 * MS, 0, false);
    ryzen.update_util(20 * MS, 0, 0, || 338);
    ryzen.set_active(30 * MS, 0, true);
    assert_eq!(ryzen.khz(0), 1_700_000);
}

#[test]
fn the_kernel_sees_averages_of_busy_time() {
    let mut gold = model("xeon-5218", Governor::Schedutil);
    assert_eq!(gold.seen_khz(0), 1_000_000, "before the first tick");
    assert_eq!(model("xeon-5218", Governor::Performance).seen_khz(0), 3_900_000, "as its governor requests");
    gold.set_active(0, 0, true);
    assert_eq!(gold.tick(100_000, 0), 1_000_000);
    assert_eq!(gold.tick(20 * MS, 0), 3_841_708, "0.4 ms at 1 GHz, the rest at 3.9");
    gold.set_active(24 * MS, 0, false);
    gold.advance(1000 * MS);
    assert_eq!(gold.seen_khz(0), 3_841_708, "there was no tick");
    gold.set_active(1000 * MS, 0, true);
    assert_eq!(gold.tick(1000 * MS, 0), 3_900_000, "of the time before it slept");
    assert_eq!(gold.tick(1000 * MS, 0), 3_900_000, "nothing ran");
}

#[test]
fn changes_are_reported_once() {
    let m = machine("xeon-5218");
    let mut model = m.frequency_model(Governor::Powersave);
    let cores = spread(&m, 3);
    model.set_active(0, cores[0], true);
    model.set_active(0, cores[1], true);
    model.advance(20 * MS);
    let drain = |model: &mut Model| {
        let mut changed = Vec::new();
        model.drain_changed(|p| changed.push(p));
        changed
    };
    assert_eq!(drain(&mut model), [0, 1]);
    assert!(drain(&mut model).is_empty());
    model.set_active(20 * MS, cores[2], true);
    assert_eq!(drain(&mut model), [0, 1, 2], "the limit fell for the others, and the third woke up");
}

#[test]
fn names() {
    for governor in Governor::ALL {
        assert_eq!(governor.name().parse(), Ok(governor));
    }
    let error = "ondemand".parse::<Governor>().unwrap_err().to_string();
    assert!(error.contains("ondemand") && error.contains("schedutil"), "{error}");
}
