//! Invalid machine files and their error messages.

use crate::common::machine;
use hearth_machine::{Error, Machine};

const GOLD: &str = include_str!("../../../../machines/xeon-6130-2s.toml");

/// The error message for the 6130's file with `from` replaced by `to`.
fn complaint(from: &str, to: &str) -> String {
    assert!(GOLD.contains(from), "the test's text is in the file: {from}");
    match Machine::parse("gold.toml", &GOLD.replacen(from, to, 1)) {
        Ok(_) => panic!("`{to}` was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn impossible_machines() {
    for (from, to, key, says) in [
        ("name = \"xeon-6130-2s\"", "name = \" \"", "name", "empty"),
        ("sockets = 2", "sockets = 0", "topology.sockets", "is 0"),
        ("cores_per_socket = 16", "cores_per_socket = 0", "topology.cores_per_socket", "is 0"),
        ("cores_per_socket = 16", "cores_per_socket = 257", "topology.cores_per_socket", "1028"),
        (
            "cores_per_socket = 16",
            "llcs_per_socket = 3\ncores_per_socket = 16",
            "topology.llcs_per_socket",
            "divide",
        ),
        (
            "cores_per_socket = 16",
            "numa_per_socket = 2\ncores_per_socket = 16",
            "topology.llcs_per_socket",
            "NUMA",
        ),
        ("  [10, 21],\n", "", "topology.numa_distances", "2 NUMA nodes"),
        ("[10, 21]", "[10]", "topology.numa_distances[0]", "length 1"),
        ("[10, 21]", "[11, 21]", "topology.numa_distances[0][0]", "itself"),
        ("[10, 21]", "[10, 10]", "topology.numa_distances[0][1]", "greater than 10"),
        ("min_khz = 1_000_000", "min_khz = 2_200_000", "frequency.min_khz", "above the nominal"),
        ("min_khz = 1_000_000", "min_khz = 1_000", "frequency.min_khz", "kHz"),
        ("step_khz = 100_000", "step_khz = 0", "frequency.step_khz", "is 0"),
        ("step_khz = 100_000", "step_khz = 1", "frequency.step_khz", "P-states"),
        ("khz = 3_400_000", "khz = 3_600_000", "frequency.turbo.limits[2].khz", "must be below"),
        ("khz = 2_800_000 }", "khz = 2_000_000 }", "frequency.turbo.limits[4].khz", "below the nominal"),
        ("khz = 3_700_000 }", "khz = 37_000_000 }", "frequency.turbo.limits[0].khz", "kHz"),
        ("cores = 4, ", "cores = 2, ", "frequency.turbo.limits[1].cores", "ascending"),
        ("cores = 16, khz", "cores = 17, khz", "frequency.turbo.limits[4].cores", "16 physical cores"),
        ("cores = 16, khz", "cores = 14, khz", "frequency.turbo.limits[4].cores", "all 16 cores"),
        ("cores = 2, khz", "cores = 0, khz", "frequency.turbo.limits[0].cores", "is 0"),
        ("window_us = 500", "window_us = 0", "frequency.window_us", "microseconds"),
        ("tau_us = 1_000", "tau_us = 2_000_000", "frequency.hwp.tau_us", "microseconds"),
        ("full_permille = 300", "full_permille = 0", "frequency.hwp.full_permille", "1 to 1000"),
        ("tau_us = 1_000\n", "", "", "missing field `tau_us`"),
        (
            "control = \"speedshift\"",
            "control = \"speedstep\"\nrequests_khz = [1]",
            "frequency.requests_khz",
            "percore",
        ),
        ("powersave = \"hardware\"", "powersave = \"sampler\"", "frequency.powersave", "speedstep"),
        (
            "powersave = \"hardware\"",
            "powersave = \"lowest\"",
            "frequency.drivers",
            "begins with intel_pstate",
        ),
        ("\"intel_pstate\", ", "", "frequency.drivers", "begins with intel_cpufreq"),
        ("\"intel_cpufreq\"", "\"intel_pstate\"", "frequency.drivers", "names intel_pstate twice"),
        ("\"intel_cpufreq\"", "\"ondemand\"", "", "unknown variant `ondemand`"),
        (
            "invariant_khz = 3_500_000",
            "invariant_khz = 35",
            "frequency.schedutil.invariant_khz",
            "no frequency invariance",
        ),
        ("window_us = 500", "window_us = 500\nperformance = \"fast\"", "", "unknown variant `fast`"),
        ("release_us = 20_000", "release_us = 100_000_000", "frequency.turbo.release_us", "microseconds"),
        ("tdp_w = 125.0", "tdp_w = nan", "power.tdp_w", "watts"),
        ("tdp_w = 125.0", "tdp_w = 20.0", "power.uncore_w", "below the TDP"),
        ("package_idle_w = 12.5", "package_idle_w = 31.0", "power.package_idle_w", "more than"),
        ("core_idle_w = 0.1", "core_idle_w = 6.0", "power.core_idle_w", "busy"),
        ("leakage = 0.2", "leakage = 1.2", "power.leakage", "0 to 1"),
        ("mv = 700", "mv = 7", "power.voltage[0].mv", "millivolts"),
        ("mv = 850", "mv = 650", "power.voltage[1].mv", "lower frequency"),
        ("exit_latency_us = 92", "exit_latency_us = 700", "idle[2].exit_latency_us", "never pays off"),
        ("target_residency_us = 600", "target_residency_us = 20", "idle[2].", ""),
        (
            "target_residency_us = 2\ncounts = true",
            "target_residency_us = 2",
            "idle[1].counts",
            "does not count",
        ),
        ("smt_share_permille = 600", "smt_share_permille = 0", "costs.smt_share_permille", "1 to 1000"),
    ] {
        let message = complaint(from, to);
        assert!(message.starts_with("gold.toml: "), "{message}");
        assert!(key.is_empty() || message.contains(&format!("`{key}")), "{key}: {message}");
        assert!(message.contains(says), "{says}: {message}");
    }
}

#[test]
fn sections_that_do_not_fit() {
    let message = complaint("powersave = \"hardware\"", "powersave = \"lowest\"\nrequests_khz = [1]");
    assert!(message.contains("`frequency.requests_khz` is only for"), "{message}");
    let ryzen = include_str!("../../../../machines/ryzen-4650g.toml");
    let parse = |from: &str, to: &str| {
        assert!(ryzen.contains(from));
        Machine::parse("ryzen.toml", &ryzen.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let hwp = "[frequency.hwp]\ntau_us = 1\nfull_permille = 1\n[frequency.turbo]";
    assert!(parse("[frequency.turbo]", hwp).contains("`frequency.hwp` is only for"));
    let hardware = parse("powersave = \"lowest\"", "powersave = \"hardware\"");
    assert!(hardware.contains("`frequency.hwp` is missing"), "{hardware}");
    let requests = parse("[1_400_000, 1_700_000,", "[1_700_000, 1_700_000,");
    assert!(requests.contains("ascending"), "{requests}");
    let requests = parse("[1_400_000, 1_700_000,", "[1_700_000,");
    assert!(requests.contains("must go from min_khz = 1400000 to nominal_khz = 3700000"), "{requests}");
}

#[test]
fn values_after_the_name_replace_those_of_the_file() {
    let m =
        Machine::load("xeon-5218:frequency.turbo.release_us=7_000,costs.stall_permille=0").expect("valid");
    assert_eq!((m.frequency.turbo.release_us, m.costs.stall_permille), (7_000, 0));
    assert_eq!(m.name, "xeon-5218:frequency.turbo.release_us=7_000,costs.stall_permille=0");
    for (source, says) in [
        ("xeon-5218:frequency.turbo.release=7", "unknown field `release`"),
        ("xeon-5218:frequency.turbo.release_us=100_000_000", "`frequency.turbo.release_us` is 100000000"),
        ("xeon-5218:frequency.warp.speed=9", "there is no section for `frequency.warp.speed`"),
        ("xeon-5128:costs.stall_permille=0", "did you mean `xeon-5218`"),
        ("xeon-5218:costs.stall_permille=0,fast", "expected KEY=VALUE"),
    ] {
        let message = Machine::load(source).unwrap_err().to_string();
        assert!(message.contains(says), "{source}: {message}");
    }
}

#[test]
fn malformed_files() {
    let message = complaint("sockets = 2", "sockets = 2\nsocket = 2");
    assert!(message.contains("unknown field `socket`"), "{message}");
    assert!(message.contains("line"), "where: {message}");
    let message = complaint("sockets = 2\n", "");
    assert!(message.contains("missing field `sockets`"), "{message}");
    let message = complaint("sockets = 2", "sockets = \"two\"");
    assert!(message.contains("expected u16"), "{message}");
    let message = complaint("\"speedshift\"", "\"warp\"");
    assert!(message.contains("unknown variant `warp`"), "{message}");
    assert!(matches!(Machine::parse("x", "]["), Err(Error::Parse { .. })));
}

#[test]
fn unknown_names_list_the_known_ones() {
    for (name, suggestion) in [("xeon-5128", "xeon-5218"), ("xeon-6130-8s", "xeon-6130-2s")] {
        let message = Machine::load(name).unwrap_err().to_string();
        assert!(message.contains(&format!("did you mean `{suggestion}`")), "{message}");
        for known in Machine::names() {
            assert!(message.contains(known), "{message}");
        }
    }
    let message = Machine::builtin("vax").unwrap_err().to_string();
    assert!(!message.contains("did you mean"), "{message}");
}

#[test]
fn a_missing_file_is_named() {
    for path in ["no/such/machine", "no-such-machine.toml"] {
        let error = Machine::load(path).unwrap_err();
        assert!(matches!(error, Error::Read { .. }));
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn a_file_is_loaded_by_path() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/xeon-5218.toml");
    assert_eq!(Machine::load(path).expect("it is there"), machine("xeon-5218"));
}
