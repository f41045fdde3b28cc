//! Machine files of machines that we do not have.

use crate::common::{Core, Tree};
use hearth_host::Error;
use hearth_host::detect::{Detected, Measured, Options, cores_of_a_socket, detect, parse_cores};
use hearth_host::turbo::Together;
use hearth_machine::{Control, Driver, IdleState, Level, Machine, Powersave};
use proptest::prelude::*;

fn nothing(_: u32, _: u64) -> Option<u64> {
    None
}

fn run(tree: &Tree, registers: fn(u32, u64) -> Option<u64>) -> Result<Detected, Error> {
    detect(&tree.files(), &registers, &Options::default(), &Measured::default())
}

fn machine(detected: &Detected) -> Machine {
    Machine::parse("detected", &detected.toml).expect("a machine file")
}

fn limits(machine: &Machine) -> Vec<(u16, u32)> {
    machine.frequency.turbo.limits.iter().map(|limit| (limit.cores, limit.khz)).collect()
}

fn refused(outcome: Result<Detected, Error>) -> String {
    outcome.expect_err("no machine file can say this").to_string()
}

#[test]
fn the_e7_is_the_built_in_one() {
    let detected = run(&crate::common::e7_8870(), crate::common::e7_registers).unwrap();
    let (found, known) = (machine(&detected), Machine::builtin("xeon-e7-8870v4").unwrap());
    assert_eq!(found.topology, known.topology);
    assert_eq!(found.frequency, known.frequency);
    // The kernel reports the latency of C6 for a package that sleeps; the built-in file has that of the core.
    let reported = |state: &IdleState| match state.name.as_str() {
        "C6" => IdleState { exit_latency_us: 133, ..state.clone() },
        _ => state.clone(),
    };
    assert_eq!(found.idle, known.idle.iter().map(reported).collect::<Vec<_>>());
    assert_eq!(
        (found.name.as_str(), found.power.as_ref().expect("known").tdp_w),
        ("intel-xeon-e7-8870-v4", 140.0)
    );
    assert_eq!(detected.notes, Vec::<String>::new());
    for source in
        ["# MSR_TURBO_RATIO_LIMIT\n", "# sysfs, cpufreq/cpuinfo_min_freq\n", "# MSR_PLATFORM_INFO\n"]
    {
        assert!(detected.toml.contains(source), "{source} is not in\n{}", detected.toml);
    }
}

#[test]
fn without_registers_the_turbo_table_is_said_to_be_assumed() {
    let detected = run(&crate::common::e7_8870(), nothing).unwrap();
    let found = machine(&detected);
    assert_eq!(found.frequency.nominal_khz, 2_100_000, "from the processor's name");
    // 2.6 is as far between 2.1 and 3.0 as on the nearest machine, which is this one.
    assert_eq!(limits(&found), [(1, 3_000_000), (20, 2_600_000)]);
    assert!(detected.toml.contains("All cores: assumption"), "{}", detected.toml);
}

#[test]
fn turbo_ratios_come_in_groups_since_skylake() {
    let tree = crate::common::e7_8870();
    tree.write(
        "proc/cpuinfo",
        "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\nmodel name : Intel(R) Xeon(R) Gold 6130\nflags : hwp\n",
    );
    let registers = |_: u32, register| match register {
        0x1ad => Some(u64::from_le_bytes([37, 35, 34, 31, 28, 28, 28, 28])),
        0x1ae => Some(u64::from_le_bytes([2, 4, 8, 12, 16, 20, 24, 28])),
        0xce => Some(10 << 40 | 21 << 8),
        _ => None,
    };
    let found = machine(&run(&tree, registers).unwrap());
    let table = [(2, 3_700_000), (4, 3_500_000), (8, 3_400_000), (12, 3_100_000), (20, 2_800_000)];
    assert_eq!((limits(&found).as_slice(), found.frequency.control), (table.as_slice(), Control::SpeedShift));
}

#[test]
fn the_ryzen_has_two_caches_and_cores_side_by_side() {
    let detected = run(&crate::common::ryzen_4650g(), nothing).unwrap();
    let (found, known) = (machine(&detected), Machine::builtin("ryzen-4650g").unwrap());
    assert_eq!(found.topology, known.topology);
    assert_eq!(found.frequency.control, Control::PerCore);
    assert_eq!(found.frequency.powersave, Powersave::Lowest);
    assert_eq!((found.frequency.min_khz, found.frequency.nominal_khz), (1_400_000, 3_700_000));
    assert_eq!(limits(&found), [(1, 4_200_000), (6, 4_000_000)]);
    assert!(detected.toml.contains("acpi_cppc/highest_perf"), "{}", detected.toml);
}

#[test]
fn turbo_that_is_off_is_off() {
    let tree = crate::common::ryzen_4650g();
    tree.write("sys/devices/system/cpu/cpufreq/boost", "0\n");
    let detected = run(&tree, nothing).unwrap();
    assert_eq!(limits(&machine(&detected)), [(6, 3_700_000)]);
    assert!(detected.notes[0].contains("switched off"), "{:?}", detected.notes);
}

#[test]
fn a_virtual_machine_says_that_it_is_one() {
    let detected = run(&crate::common::virtual_machine(), nothing).unwrap();
    let found = machine(&detected);
    assert_eq!((found.topology.core_count(), found.topology.llc_count()), (2, 1));
    assert_eq!((found.frequency.nominal_khz, limits(&found)), (2_450_000, vec![(2, 2_450_000)]));
    assert!(detected.notes.iter().any(|note| note.contains("virtual machine")), "{:?}", detected.notes);
    assert!(detected.toml.contains("assumption: no turbo"), "{}", detected.toml);
    assert_eq!(found.idle.len(), 1, "polling is no idle state");
}

#[test]
fn what_was_measured_is_taken() {
    let together = [3.41, 3.38].iter().zip(1..).map(|(ghz, cores)| Together { cores, khz: ghz * 1e6 });
    let measured = Measured { turbo: Some(together.collect()), ftl: None };
    let files = crate::common::virtual_machine();
    let detected = detect(&files.files(), &nothing, &Options::default(), &measured).unwrap();
    assert_eq!(limits(&machine(&detected)), [(2, 3_400_000)]);
    assert!(detected.toml.contains("Measured with n busy cores"), "{}", detected.toml);
}

#[test]
fn big_and_little_cores_are_two_kinds_and_can_be_taken_apart() {
    let tree = crate::common::big_little();
    let both = machine(&run(&tree, nothing).unwrap());
    let kinds: Vec<_> = (both.topology.shape().kinds.iter())
        .map(|k| (k.cores, k.llcs, k.min_khz, k.max_khz, k.work_permille))
        .collect();
    // 485 / 1.8 GHz over 1024 / 2.4 GHz.
    assert_eq!(kinds, [(4, 1, 400_000, 1_800_000, 632), (4, 1, 600_000, 2_400_000, 1000)]);
    assert_eq!((both.capacity(4), both.capacity(0)), (1024, 485));
    assert_eq!((both.topology.llc_count(), both.power.is_none()), (2, true));
    let options = Options { cores: Some(vec![4, 5, 6, 7]), name: Some("large".into()) };
    let detected = detect(&tree.files(), &nothing, &options, &Measured::default()).unwrap();
    let found = machine(&detected);
    assert_eq!((found.name.as_str(), found.model.as_str()), ("large", "A Board"));
    assert_eq!((found.topology.core_count(), found.topology.llc_count()), (4, 1));
    assert_eq!((found.frequency.min_khz, found.frequency.max_khz()), (600_000, 2_400_000));
    assert!(detected.notes.iter().any(|note| note.contains("4-7")), "{:?}", detected.notes);
}

#[test]
fn a_hole_is_told_and_uneven_sockets_are_refused() {
    let tree = crate::common::e7_8870();
    tree.write("sys/devices/system/cpu/online", "0-79");
    tree.write("sys/devices/system/cpu/offline", "80-159");
    let detected = run(&tree, crate::common::e7_registers).unwrap();
    assert_eq!(machine(&detected).topology.shape().threads_per_core, 1);
    assert!(detected.notes[0].contains("80-159 are offline"), "{:?}", detected.notes);

    tree.write("sys/devices/system/cpu/online", "0-158");
    let said = refused(run(&tree, crate::common::e7_registers));
    assert!(said.contains("hardware threads differs") && said.contains("--cores"), "{said}");

    let tree = crate::common::ryzen_4650g();
    for cpu in 10..12 {
        tree.cpu(cpu, "cache/index1/shared_cpu_list", "10-11");
    }
    let said = refused(run(&tree, nothing));
    assert!(said.contains("physical cores differs"), "{said}");
}

#[test]
fn a_numbering_that_no_file_can_say_is_told() {
    let tree = Tree::new();
    tree.online("0-3");
    for (cpu, siblings) in [(0, [0, 3]), (1, [1, 2]), (2, [1, 2]), (3, [0, 3])] {
        tree.core(&Core { cpu, package: 0, siblings: &siblings, llc: &[0, 1, 2, 3] });
    }
    let detected = run(&tree, nothing).unwrap();
    assert_eq!(machine(&detected).topology.physical_count(), 2);
    assert!(detected.notes[0].contains("in a way that a machine file cannot say"), "{:?}", detected.notes);
}

/// Sub-NUMA clusters: two nodes in each socket, whose one cache spans both.
#[test]
fn nodes_within_sockets_and_sockets_within_a_node() {
    let tree = Tree::new();
    tree.online("0-7");
    for cpu in 0..8 {
        let llc: Vec<u32> = (0..8).filter(|other| other / 4 == cpu / 4).collect();
        tree.core(&Core { cpu, package: (cpu / 4) as i32, siblings: &[cpu], llc: &llc });
    }
    tree.write("sys/devices/system/node/online", "0-3");
    for (node, row) in [(0, "10 12 21 21"), (1, "12 10 21 21"), (2, "21 21 10 12"), (3, "21 21 12 10")] {
        tree.node(node, &[2 * node, 2 * node + 1], row);
    }
    let found = machine(&run(&tree, nothing).unwrap());
    let shape = found.topology.shape();
    assert_eq!((shape.sockets, shape.numa_per_socket, shape.llcs_per_socket), (2, 2, 2));
    assert_eq!(shape.numa_distances[0], [10, 12, 21, 21]);
    assert_eq!(found.level(0, 1), Level::Llc);
    assert_eq!(found.level(1, 2), Level::Machine);

    tree.write("sys/devices/system/node/online", "0");
    tree.node(0, &(0..8).collect::<Vec<_>>(), "10");
    let detected = run(&tree, nothing).unwrap();
    assert_eq!(machine(&detected).topology.shape().numa_distances, [[10, 11], [11, 10]]);
    assert!(detected.notes[0].contains("spans sockets"), "{:?}", detected.notes);
}

#[test]
fn what_cannot_be_read_is_named() {
    let tree = Tree::new();
    assert!(refused(run(&tree, nothing)).contains("cpu/online: No such file"));
    for (online, expected) in [("", "unexpected content ``"), ("0-x", "unexpected content `0-x`")] {
        tree.online(online);
        let said = refused(run(&tree, nothing));
        assert!(said.contains("the list of online cores in") && said.contains(expected), "{said}");
    }
    let tree = crate::common::virtual_machine();
    // Another core's list.
    tree.cpu(1, "topology/core_cpus_list", "0");
    let said = refused(run(&tree, nothing));
    assert!(said.contains("cpu1/topology/core_cpus_list: unexpected content `0`"), "{said}");
}

#[test]
fn caches_that_are_not_reported_are_told() {
    let tree = Tree::new();
    tree.online("0-1");
    for cpu in 0..2 {
        tree.cpu(cpu, "topology/core_cpus_list", cpu);
    }
    let detected = run(&tree, nothing).unwrap();
    assert_eq!(machine(&detected).topology.llc_count(), 1);
    assert!(
        detected.notes.iter().any(|note| note.contains("share a cache with 0-1")),
        "{:?}",
        detected.notes
    );
}

/// A machine without caches whose cores have these values in a file.
fn with(file: &str, values: &[u32]) -> Tree {
    let tree = Tree::new();
    tree.online(&format!("0-{}", values.len() - 1));
    for (cpu, value) in (0..).zip(values) {
        tree.cpu(cpu, "topology/core_cpus_list", cpu);
        tree.cpu(cpu, file, value);
    }
    tree
}

#[test]
fn a_hint_names_all_cores_of_a_kind() {
    let capacities = [[718; 5], [997; 5], [731; 5], [1017, 1017, 1017, 1017, 1024]].concat();
    let tree = with("cpu_capacity", &capacities);
    let said = refused(run(&tree, nothing));
    assert!(
        said.contains("2 kinds of cores: cores 5-9,15-19 (capacity 997 to 1024); cores 0-4,10-14"),
        "{said}"
    );
    let hint = said.split("--cores ").nth(1).and_then(|rest| rest.split('`').next()).expect("a hint");
    let options = Options { cores: Some(parse_cores(hint).unwrap()), name: None };
    let detected = detect(&tree.files(), &nothing, &options, &Measured::default()).unwrap();
    assert_eq!(machine(&detected).topology.core_count(), 10);
}

#[test]
fn preferred_cores_are_no_kind_of_their_own() {
    let highest = "cpufreq/cpuinfo_max_freq";
    let hybrid = [5_000_000, 5_000_000, 5_200_000, 5_200_000, 3_900_000, 3_900_000];
    let said = refused(run(&with(highest, &hybrid), nothing));
    assert!(said.contains("cores 0-3 (up to 5.0 to 5.2 GHz)") && said.contains("`--cores 0-3`"), "{said}");
    // In steps of 3%, and 16% in all.
    let preferred = [5_000_000, 5_150_000, 5_300_000, 5_450_000, 5_600_000, 5_800_000];
    let tree = with(highest, &preferred);
    assert!(refused(run(&tree, nothing)).contains("2 kinds"), "nothing says that these are preferred");
    for cpu in 0..6 {
        tree.cpu(cpu, "cpufreq/amd_pstate_prefcore_ranking", 166 + 5 * cpu);
    }
    assert_eq!(machine(&run(&tree, nothing).unwrap()).topology.core_count(), 6);
}

#[test]
fn the_first_thread_of_each_core_of_a_socket_is_measured() {
    let cores = cores_of_a_socket(&crate::common::e7_8870().files(), &Options::default()).unwrap();
    assert_eq!(cores, (0..80).step_by(4).collect::<Vec<u32>>());
    let cores = cores_of_a_socket(&crate::common::ryzen_4650g().files(), &Options::default()).unwrap();
    assert_eq!(cores, [0, 2, 4, 6, 8, 10]);
}

#[test]
fn cores_are_given_as_the_kernel_writes_them() {
    assert_eq!(parse_cores("0-2,5"), Ok(vec![0, 1, 2, 5]));
    for bad in ["", "x", "3-1", "0-4294967295", "1;2"] {
        assert!(parse_cores(bad).is_err(), "{bad}");
    }
}

/// Files whose text could end a comment or a string, or whose numbers are absurd.
#[test]
fn hostile_files_give_a_machine_or_an_error() {
    let tree = crate::common::virtual_machine();
    let hostile = "x\"\n[topology]\nsockets = 9\n\\u{0}'''\u{1b}[2J";
    tree.write("proc/cpuinfo", format!("model name : a\"\\ \u{7} b\nvendor_id : {hostile}\n"));
    tree.cpu(0, "cpuidle/state1/name", hostile);
    tree.write("sys/devices/system/cpu/cpuidle/current_driver", hostile);
    tree.cpu(0, "cpufreq/scaling_driver", hostile);
    let detected = run(&tree, nothing).unwrap();
    assert_eq!(machine(&detected).topology.shape().sockets, 1);
    assert!(!detected.toml.contains('\u{1b}'));

    tree.online("0-4000000000");
    assert!(refused(run(&tree, nothing)).contains("at most 1024"));
}

/// What stands where a number or a list is expected.
fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        any::<i64>().prop_map(|n| n.to_string().into_bytes()),
        (0u32..40, 0u32..40).prop_map(|(a, b)| format!("{a}-{b}").into_bytes()),
        (0u32..6).prop_map(|n| n.to_string().into_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_tree_is_too_strange(
        changes in proptest::collection::vec((0usize..PATHS.len(), 0u32..4, nonsense()), 0..40),
        register in any::<u64>(),
    ) {
        let tree = crate::common::virtual_machine();
        for (path, cpu, text) in changes {
            tree.write(&PATHS[path].replace('#', &cpu.to_string()), text);
        }
        let registers = move |_, _| Some(register);
        // What is found loads: `detect` tries that itself, and must not blame us.
        match detect(&tree.files(), &registers, &Options::default(), &Measured::default()) {
            Ok(_) | Err(Error::Irregular(_) | Error::Unreadable { .. }) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}

const PATHS: [&str; 27] = [
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/offline",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/cpu#/topology/physical_package_id",
    "sys/devices/system/cpu/cpu#/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu#/topology/cluster_id",
    "sys/devices/system/cpu/cpu#/topology/cluster_cpus_list",
    "sys/devices/system/cpu/cpu#/cache/index1/level",
    "sys/devices/system/cpu/cpu#/cache/index1/shared_cpu_list",
    "sys/devices/system/cpu/cpu#/cpufreq/cpuinfo_min_freq",
    "sys/devices/system/cpu/cpu#/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpu#/cpufreq/base_frequency",
    "sys/devices/system/cpu/cpu#/cpufreq/scaling_driver",
    "sys/devices/system/cpu/cpu#/cpufreq/scaling_available_frequencies",
    "sys/devices/system/cpu/cpu#/acpi_cppc/nominal_freq",
    "sys/devices/system/cpu/cpu#/acpi_cppc/nominal_perf",
    "sys/devices/system/cpu/cpu#/acpi_cppc/highest_perf",
    "sys/devices/system/cpu/cpu#/cpu_capacity",
    "sys/devices/system/cpu/cpu0/cpuidle/state#/name",
    "sys/devices/system/cpu/cpu0/cpuidle/state#/latency",
    "sys/devices/system/cpu/cpu0/cpuidle/state#/residency",
    "sys/devices/system/cpu/cpufreq/schedutil/rate_limit_us",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node#/cpulist",
    "sys/devices/system/node/node#/distance",
    "sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw",
    "proc/cpuinfo",
];

/// Two P-cores with hyperthreads, one of them preferred, and a cluster of four E-cores; one L3.
fn hybrid() -> Tree {
    let tree = Tree::new();
    tree.online("0-7");
    let all: Vec<u32> = (0..8).collect();
    for cpu in 0..8 {
        let e = cpu >= 4;
        let siblings = if e { vec![cpu] } else { vec![cpu / 2 * 2, cpu / 2 * 2 + 1] };
        tree.core(&Core { cpu, package: 0, siblings: &siblings, llc: &all });
        tree.cpu(cpu, "topology/thread_siblings_list", hearth_host::sysfs::show_list(&siblings));
        tree.cpu(cpu, "cpufreq/scaling_driver", "intel_pstate");
        tree.cpu(cpu, "cpufreq/cpuinfo_min_freq", 800_000);
        tree.cpu(
            cpu,
            "cpufreq/cpuinfo_max_freq",
            [5_500_000, 5_700_000, 4_300_000, 4_300_000][cpu as usize / 2],
        );
        tree.cpu(cpu, "cpufreq/base_frequency", if e { 2_200_000 } else { 3_000_000 });
        tree.cpu(cpu, "cpufreq/related_cpus", if e { "4 5 6 7".into() } else { cpu.to_string() });
        tree.cpu(cpu, "cpu_capacity", if e { 460 } else { 1024 });
    }
    tree.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree.write(
        "proc/cpuinfo",
        "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 183\nmodel name : A hybrid\nflags : hwp\n",
    );
    tree
}

#[test]
fn a_hybrid_processor_has_two_kinds() {
    let detected = run(&hybrid(), nothing).unwrap();
    let found = machine(&detected);
    let t = &found.topology;
    let kinds: Vec<_> = (t.shape().kinds.iter())
        .map(|k| (k.cores, k.threads_per_core, k.cores_per_clock, k.llcs, k.max_khz, k.work_permille))
        .collect();
    assert_eq!(kinds, [(2, 2, 1, 0, 5_700_000, 1000), (4, 1, 4, 0, 4_300_000, 595)]);
    assert_eq!((t.siblings(3), t.siblings(4), t.llc_count()), (&[2, 3][..], &[4][..], 1));
    assert_eq!(found.frequency.core_max_khz[..3], [5_500_000, 5_700_000, 4_300_000]);
    assert_eq!((found.rank(2), found.rank(0), found.rank(4)), (0, 1, 2));
    assert_eq!((found.frequency.control, found.power.is_some()), (Control::SpeedShift, true));
    assert_eq!(detected.notes, Vec::<String>::new());
}

#[test]
fn a_hybrid_that_no_file_can_say_is_refused() {
    let tree = hybrid();
    tree.cpu(7, "topology/physical_package_id", 1);
    let said = refused(run(&tree, nothing));
    assert!(said.contains("several sockets") && said.contains("--cores 0-3"), "{said}");
}

/// One socket of twelve caches of eight cores with two hyperthreads.
fn twelve_caches(driver: &str) -> Tree {
    let tree = Tree::new();
    tree.online("0-191");
    for cpu in 0..192 {
        let core = cpu % 96;
        let ccx: Vec<u32> = (0..192).filter(|other| other % 96 / 8 == core / 8).collect();
        tree.core(&Core { cpu, package: 0, siblings: &[core, core + 96], llc: &ccx });
        tree.cpu(cpu, "cpufreq/scaling_driver", driver);
        tree.cpu(cpu, "cpufreq/cpuinfo_min_freq", 1_500_000);
        tree.cpu(cpu, "cpufreq/cpuinfo_max_freq", 3_700_000);
        tree.cpu(cpu, "acpi_cppc/nominal_freq", 2400);
        tree.cpu(cpu, "cpufreq/scaling_available_frequencies", "2400000 1900000 1500000");
    }
    tree.node(0, &(0..192).collect::<Vec<_>>(), "10");
    tree.write(
        "proc/cpuinfo",
        "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\nmodel name : AMD EPYC 9654\n",
    );
    tree
}

#[test]
fn twelve_caches_and_the_drivers_of_their_cores() {
    use Driver::{AmdPstate, AmdPstateEpp};
    for (driver, control, powersave, requests, drivers) in [
        (
            "acpi-cpufreq",
            Control::PerCore,
            Powersave::Lowest,
            &[1_500_000, 1_900_000, 2_400_000][..],
            &[][..],
        ),
        ("amd-pstate-epp", Control::SpeedShift, Powersave::Hardware, &[], &[AmdPstateEpp, AmdPstate]),
        ("amd-pstate", Control::PerCore, Powersave::Lowest, &[], &[AmdPstate, AmdPstateEpp]),
        ("cppc_cpufreq", Control::PerCore, Powersave::Lowest, &[], &[]),
    ] {
        let found = machine(&run(&twelve_caches(driver), nothing).unwrap());
        assert_eq!((found.topology.llc_count(), found.topology.same_llc(0).len()), (12, 16));
        let f = &found.frequency;
        assert_eq!((f.control, f.powersave, &f.requests_khz[..]), (control, powersave, requests), "{driver}");
        assert_eq!(f.drivers, drivers, "{driver}");
        assert!(f.core_max_khz.is_empty() && found.power.is_none());
    }
}

#[test]
fn without_cpufreq_there_is_no_governor() {
    let found = machine(&run(&crate::common::virtual_machine(), nothing).unwrap());
    assert!(!found.has_governor() && found.power.is_none());
    assert_eq!((found.frequency.min_khz, found.frequency.max_khz()), (2_450_000, 2_450_000));
}
