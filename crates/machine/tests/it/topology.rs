//! Shapes of the built-in machines and of scaled ones.

use crate::common::machine;
use hearth_machine::{Governor, Level, Machine};

#[test]
fn shapes_are_the_papers() {
    for (name, sockets, llcs, physical, cores) in [
        ("xeon-e7-8870v4", 4, 4, 80, 160),
        ("xeon-6130-2s", 2, 2, 32, 64),
        ("xeon-6130-4s", 4, 4, 64, 128),
        ("xeon-5218", 2, 2, 32, 64),
        ("xeon-5220", 1, 1, 18, 36),
        ("xeon-e5645", 2, 2, 12, 24),
        ("ryzen-3400g", 1, 1, 4, 8),
        ("ryzen-4650g", 1, 2, 6, 12),
        ("epyc-9654", 2, 24, 192, 384),
        ("epyc-9755", 2, 32, 256, 512),
        ("xeon-8480", 2, 2, 112, 224),
        ("xeon-6980p", 2, 2, 256, 512),
        ("i9-13900k", 1, 1, 24, 32),
        ("ultra-9-285k", 1, 1, 24, 24),
        ("ryzen-7950x", 1, 2, 16, 32),
        ("graviton4", 1, 1, 96, 96),
        ("ampere-altra", 1, 1, 80, 80),
        ("apple-m2", 1, 2, 8, 8),
        ("cloud-guest", 1, 1, 8, 16),
    ] {
        let m = machine(name);
        assert_eq!(m.name, name);
        let t = &m.topology;
        assert_eq!(
            (t.socket_count(), t.llc_count(), t.physical_count(), t.core_count()),
            (sockets, llcs, physical, cores),
            "{name}"
        );
    }
    assert_eq!(Machine::names().count(), 19);
}

#[test]
fn the_e7_is_numbered_round_robin() {
    let t = machine("xeon-e7-8870v4").topology;
    assert_eq!(t.cores_of_numa(0)[..3], [0, 4, 8]);
    assert_eq!(t.siblings(5), [5, 85]);
    assert_eq!(t.level(0, 0), Level::Core);
    assert_eq!(t.level(0, 80), Level::Smt);
    assert_eq!(t.level(0, 4), Level::Llc);
    assert_eq!(t.level(0, 1), Level::Machine);
    assert_eq!((t.numa_distance(0, 4), t.numa_distance(0, 1)), (10, 21));
}

#[test]
fn the_4650g_has_two_caches_in_one_node() {
    let t = machine("ryzen-4650g").topology;
    assert_eq!(t.same_llc(0), [0, 1, 2, 3, 4, 5]);
    assert_eq!(t.level(0, 1), Level::Smt);
    assert_eq!(t.level(0, 2), Level::Llc);
    assert_eq!(t.level(0, 6), Level::Numa);
    assert_eq!(t.cores_of_numa(0).len(), 12);
}

/// Each kind of domain contains each core once, and the domains nest.
#[test]
fn domains_are_partitions() {
    for name in Machine::names() {
        let t = machine(name).topology;
        for (i, core) in t.cores.iter().enumerate() {
            let id = core.id;
            assert_eq!(usize::from(id), i);
            let (numa, socket) = (t.cores_of_numa(core.numa), t.cores_of_socket(core.socket));
            for domain in [t.siblings(id), t.same_llc(id), numa, socket] {
                assert!(domain.contains(&id) && domain.is_sorted());
            }
            let inside = |a: &[u16], b: &[u16]| a.iter().all(|c| b.contains(c));
            assert!(inside(t.siblings(id), t.same_llc(id)));
            assert!(inside(t.same_llc(id), numa));
            assert!(inside(numa, socket));
        }
        let sum: usize = (0..t.numa_count() as u16).map(|node| t.cores_of_numa(node).len()).sum();
        assert_eq!(sum, t.core_count());
    }
}

#[test]
fn scaled_machines() {
    for (base, sockets, cores) in [
        ("xeon-6130-2s", 1, 4),
        ("xeon-6130-2s", 8, 40),
        ("xeon-e7-8870v4", 4, 40),
        ("xeon-5220", 2, 7),
        ("ryzen-4650g", 2, 9),
        ("ryzen-4650g", 1, 4),
    ] {
        let m = machine(base).scaled(sockets, cores).expect("possible");
        assert_eq!(m.topology.core_count(), usize::from(sockets * cores) * 2);
        assert_eq!(m.name, format!("{base}-{sockets}x{cores}"));
        let mut model = m.frequency_model(Governor::Performance);
        for core in 0..m.topology.core_count() as u16 {
            model.set_active(0, core, true);
        }
        let last = m.frequency.turbo.limits.last().unwrap();
        assert_eq!(last.cores, cores);
        model.advance(1_000_000_000);
        assert_eq!(model.khz(0), last.khz);
    }
    assert_eq!(machine("ryzen-4650g").scaled(2, 9).unwrap().topology.llc_count(), 6);
    assert_eq!(machine("ryzen-4650g").scaled(1, 4).unwrap().topology.llc_count(), 1);
    for (sockets, cores) in [(0, 4), (4, 0), (8, 65), (u16::MAX, u16::MAX)] {
        let error = machine("xeon-5218").scaled(sockets, cores).unwrap_err().to_string();
        assert!(error.contains("topology."), "{error}");
    }
}

#[test]
fn a_machine_round_trips_through_its_file() {
    for name in Machine::names() {
        let m = machine(name);
        assert_eq!(Machine::parse("again", &m.to_toml()).expect("well-formed"), m);
    }
}
