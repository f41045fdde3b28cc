//! Kinds of cores, preferred cores, shared clocks, and machines without a governor or known power.

use crate::common::{MS, machine};
use hearth_machine::{Governor, Machine};

fn warm(m: &Machine, governor: Governor, cores: &[u16]) -> hearth_machine::Model {
    let mut model = m.frequency_model(governor);
    cores.iter().for_each(|&core| model.set_active(0, core, true));
    model.advance(500 * MS);
    model
}

#[test]
fn the_13900k_has_two_kinds() {
    let m = machine("i9-13900k");
    let t = &m.topology;
    assert_eq!((t.siblings(0), t.siblings(15), t.siblings(16)), (&[0, 1][..], &[14, 15][..], &[16][..]));
    assert_eq!((t.kind(15).map(|k| &*k.name), t.kind(16).map(|k| &*k.name)), (Some("P"), Some("E")));
    assert_eq!(t.same_llc(0).len(), 32, "they share the L3");
    // 1024 · 0.6 · 4.3 / 5.8 = 455.5; the preferred cores are physical cores 4 and 5.
    assert_eq!((m.capacity(8), m.capacity(0), m.capacity(16)), (1024, 1006, 456));
    assert_eq!((m.rank(8), m.rank(0), m.rank(16)), (0, 1, 2));
}

#[test]
fn each_kind_has_its_own_limit() {
    let m = machine("i9-13900k");
    let model = warm(&m, Governor::Performance, &[8, 16, 17, 18, 19]);
    assert_eq!((model.khz(8), model.khz(16)), (5_800_000, 4_300_000), "E-cores do not count for P-cores");
    let slow = warm(&m, Governor::Performance, &[0]);
    assert_eq!(slow.khz(0), 5_700_000, "not a preferred core");
}

#[test]
fn work_depends_on_the_kind() {
    let m = machine("i9-13900k");
    assert_eq!(m.work_khz(16, 3_000_000), m.work_khz(0, 3_000_000) * 6 / 10);
    let uniform = machine("xeon-5218");
    assert_eq!(
        uniform.work_khz(0, 3_000_000),
        uniform.costs.work_khz(3_000_000, uniform.frequency.nominal_khz)
    );
}

#[test]
fn caches_of_kinds() {
    let t = machine("apple-m2").topology;
    assert_eq!((t.same_llc(0), t.same_llc(4)), (&[0, 1, 2, 3][..], &[4, 5, 6, 7][..]));
    let epyc = machine("epyc-9654").topology;
    assert_eq!(epyc.same_llc(0).len(), 16);
    assert_eq!(epyc.same_llc(95), [88, 89, 90, 91, 92, 93, 94, 95, 280, 281, 282, 283, 284, 285, 286, 287]);
    assert_eq!(machine("epyc-9755").topology.same_llc(127).len(), 16);
}

#[test]
fn a_cluster_runs_at_its_fastest_request() {
    let m = machine("apple-m2");
    let mut model = m.frequency_model(Governor::Schedutil);
    for (core, util) in [(4, 200), (5, 1024), (0, 1024)] {
        model.update_util(0, core, core, || util);
        model.set_active(0, core, true);
    }
    model.advance(10 * MS);
    assert_eq!((model.khz(4), model.khz(5), model.khz(0)), (3_204_000, 3_204_000, 2_424_000));
    model.set_active(20 * MS, 5, false);
    model.advance(21 * MS);
    assert!(model.khz(4) < 1_000_000, "{}: the fast one sleeps", model.khz(4));
}

#[test]
fn percore_without_a_list_runs_what_is_requested() {
    let m = machine("ampere-altra");
    let mut model = m.frequency_model(Governor::Schedutil);
    model.update_util(0, 0, 0, || 512);
    model.set_active(0, 0, true);
    model.advance(100 * MS);
    // 1.25 · 512/1024 · 3.0 GHz = 1.875 GHz: the next P-state is 1.9.
    assert_eq!(model.khz(0), 1_900_000);
    assert_eq!(warm(&m, Governor::Powersave, &[0]).khz(0), 1_000_000);
    assert_eq!(warm(&m, Governor::Performance, &[0]).khz(0), 3_000_000);
}

#[test]
fn without_cpufreq_no_governor_changes_anything() {
    for name in ["graviton4", "cloud-guest"] {
        let m = machine(name);
        assert!(!m.has_governor() && m.power.is_none());
        for governor in Governor::ALL {
            let mut model = warm(&m, governor, &[0]);
            model.update_util(501 * MS, 0, 0, || 0);
            assert_eq!(model.khz(0), m.frequency.nominal_khz, "{name}");
            assert_eq!((model.energy_uj(600 * MS), model.power_uw()), (None, None), "unknown, not zero");
        }
    }
}

#[test]
fn other_kinds_are_errors() {
    let text = include_str!("../../../../machines/i9-13900k.toml");
    for (from, to, says) in [
        ("cores_per_socket = 24", "cores_per_socket = 23", "the kinds have 24 cores"),
        ("numbering = \"adjacent\"", "numbering = \"blocked\"", "must be \"adjacent\""),
        ("cores_per_clock = 4", "cores_per_clock = 3", "must divide cores = 16"),
        ("work_permille = 600", "work_permille = 0", "thousandths"),
        ("max_khz = 4_300_000", "max_khz = 6_300_000", "the machine has 800000 to 5800000 kHz"),
        ("threads_per_core = 2", "threads_per_core = 1", "that of the first kind"),
        ("  5_700_000, 5_700_000, 5_700_000, 5_700_000,", "  5_700_000,", "length 21"),
        ("name = \"E\"", "name = \"E\"\nllcs = 1", "topology.llcs_per_socket"),
        ("watts = 125.0", "watts = 10.0", "more than uncore_w"),
    ] {
        assert!(text.contains(from), "{from}");
        let message = Machine::parse("i9", &text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(message.contains(says), "{says}: {message}");
    }
    let no_power = text.replacen("[power]\n", "[powers]\n", 1);
    assert!(Machine::parse("i9", &no_power).is_err());
}
