//! Effect of each governor by machine, and the kernel's view of frequencies.

mod common;
use common::{MS, machine, model, spread};
use hearth_machine::{Governor, Machine, Model};

#[test]
fn performance_is_at_least_nominal() {
    for name in Machine::names() {
        let m = machine(name);
        let mut model = m.frequency_model(Governor::Performance);
        assert_eq!(model.khz(0), m.frequency.nominal_khz, "{name}, idle");
        model.set_active(0, 0, true);
        assert!(model.khz(0) >= m.frequency.nominal_khz, "{name}, cold");
        model.advance(500 * MS);
        assert_eq!(model.khz(0), m.frequency.max_khz(), "{name}, warm");
        model.set_active(500 * MS, 0, false);
        model.advance(1000 * MS);
        assert_eq!(model.khz(0), m.frequency.nominal_khz, "{name}, idle again");
    }
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
fn schedutil_is_a_ceiling_on_speedstep() {
    let mut e7 = model("xeon-e7-8870v4", Governor::Schedutil);
    e7.set_active(0, 0, true);
    e7.advance(100 * MS);
    assert_eq!(e7.khz(0), 1_200_000, "nothing was asked for");
    // 1.25 · 512/1024 · 3.0 GHz = 1.875 GHz: the next P-state is 1.9.
    e7.set_util(100 * MS, 0, 512);
    assert_eq!(e7.khz(0), 1_200_000, "not before the next window");
    e7.advance(101 * MS);
    assert_eq!(e7.khz(0), 1_900_000);
    e7.advance(500 * MS);
    assert_eq!(e7.khz(0), 1_900_000, "and never above");
    e7.set_util(500 * MS, 0, 1024);
    e7.advance(501 * MS);
    assert_eq!(e7.khz(0), 3_000_000, "it was warm all the time");
    e7.set_util(600 * MS, 0, 0);
    e7.advance(601 * MS);
    assert_eq!(e7.khz(0), 1_200_000);
}

#[test]
fn schedutil_is_a_floor_on_speed_shift() {
    let mut gold = model("xeon-6130-2s", Governor::Schedutil);
    // 1.25 · 512/1024 · 3.7 GHz = 2.3125 GHz: the next P-state is 2.4.
    gold.set_util(0, 0, 512);
    gold.set_active(0, 0, true);
    assert_eq!(gold.khz(0), 2_400_000, "cold, but asked for");
    gold.advance(50 * MS);
    assert_eq!(gold.khz(0), 3_700_000, "the hardware goes higher");
    gold.set_util(50 * MS, 0, 0);
    gold.advance(60 * MS);
    assert_eq!(gold.khz(0), 3_700_000, "and stays");
}

#[test]
fn schedutil_takes_the_busier_hyperthread() {
    let m = machine("xeon-e7-8870v4");
    let mut e7 = m.frequency_model(Governor::Schedutil);
    let sibling = m.topology.siblings(0)[1];
    assert_eq!(sibling, 80);
    e7.set_active(0, 0, true);
    e7.advance(100 * MS);
    e7.set_util(100 * MS, sibling, 1024);
    e7.set_util(100 * MS, 0, 100);
    e7.advance(101 * MS);
    assert_eq!(e7.khz(0), 3_000_000);
}

#[test]
fn schedutil_drops_requests_within_the_rate_limit() {
    let mut gold = model("xeon-6130-2s", Governor::Schedutil); // 5 ms
    gold.set_util(0, 0, 300);
    gold.set_util(MS, 0, 1024);
    gold.set_active(2 * MS, 0, true);
    // 1.25 · 300/1024 · 3.7 GHz = 1.355 GHz.
    assert_eq!(gold.khz(0), 1_400_000, "the second is within the rate limit");
    gold.set_util(5 * MS, 0, 1024);
    gold.advance(6 * MS);
    assert_eq!(gold.khz(0), 3_700_000, "the third was accepted");
}

#[test]
fn brief_sleeps_cost_speedstep_its_turbo_unless_performance() {
    // Nest paper, section 5.2: "whenever there are gaps in the computation, this
    // machine is prone to using subturbo frequencies".
    let average = |governor| {
        let mut e7 = model("xeon-e7-8870v4", governor);
        let (mut sum, mut n) = (0u64, 0u64);
        for gap in 0..200u64 {
            let at = gap * 10 * MS;
            e7.set_util(at, 0, 307); // 3 ms of each 10
            e7.set_active(at, 0, true);
            e7.advance(at + 2 * MS);
            sum += u64::from(e7.khz(0));
            n += 1;
            e7.set_active(at + 3 * MS, 0, false);
        }
        sum / n
    };
    assert!(average(Governor::Schedutil) < 2_100_000);
    assert!(average(Governor::Performance) >= 2_100_000);
}

#[test]
fn an_idle_core_keeps_its_last_seen_frequency() {
    let mut gold = model("xeon-5218", Governor::Schedutil);
    assert_eq!(gold.seen_khz(0), 1_000_000, "before the first tick");
    gold.set_active(0, 0, true);
    assert_eq!(gold.tick(20 * MS, 0), 3_900_000);
    gold.set_active(21 * MS, 0, false);
    gold.advance(1000 * MS);
    assert_eq!(gold.khz(0), 1_000_000, "it has been slow for a long time");
    assert_eq!(gold.seen_khz(0), 3_900_000, "but there was no tick");
    assert_eq!(gold.tick(1000 * MS, 0), 1_000_000);
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
    // The third is cold: it runs at the minimum, as it showed before.
    assert_eq!(drain(&mut model), [0, 1], "the limit fell for the others");
}

#[test]
fn names() {
    for governor in Governor::ALL {
        assert_eq!(governor.name().parse(), Ok(governor));
    }
    let error = "ondemand".parse::<Governor>().unwrap_err().to_string();
    assert!(error.contains("ondemand") && error.contains("schedutil"), "{error}");
}
