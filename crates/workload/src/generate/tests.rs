use super::*;
use crate::{DRY_RUN_STEPS, DryRun, Op};

fn all_small() -> impl Iterator<Item = Workload> {
    generators().iter().map(|g| generate(g.name).unwrap_or_else(|e| panic!("{}: {e}", g.name)))
}

#[test]
fn defaults_make_sense_and_end() {
    for workload in all_small() {
        workload.check(&workload.origin).unwrap();
        let stats = workload.stats(NOMINAL_KHZ);
        assert!(stats.span.is_some(), "{}", workload.name);
    }
}

/// The origin is a specification that generates the same workload again.
#[test]
fn origin_reproduces_the_workload() {
    for workload in all_small() {
        assert_eq!(generate(&workload.origin).unwrap(), workload);
    }
}

#[test]
fn another_seed_gives_another_workload() {
    for generator in generators().iter().filter(|g| g.params.iter().any(|p| p.name == "seed")) {
        let other = generate(&format!("{}:seed=2", generator.name)).unwrap();
        assert_ne!(other.threads, generate(generator.name).unwrap().threads, "{}", generator.name);
    }
}

/// The minimum values also give a workload that ends.
#[test]
fn minima_make_sense_and_end() {
    for generator in generators() {
        let settings: Vec<String> =
            generator.params.iter().map(|p| format!("{}={}", p.name, p.min)).collect();
        let workload = generate(&format!("{}:{}", generator.name, settings.join(","))).unwrap();
        assert!(matches!(workload.dry_run(DRY_RUN_STEPS), DryRun::Finishes { .. }), "{}", generator.name);
    }
}

#[test]
fn tables_are_consistent() {
    for generator in generators() {
        for (index, param) in generator.params.iter().enumerate() {
            assert!((param.min..=param.max).contains(&param.default), "{} {}", generator.name, param.name);
            assert!(!param.doc.is_empty());
            assert!(generator.params[..index].iter().all(|p| p.name != param.name));
        }
    }
}

/// Nest paper, section 5.2: "many running alone", and about half of the execution in longer tasks.
#[test]
fn configure_has_the_shape_of_the_paper() {
    let workload = generate("configure").unwrap();
    let stats = workload.stats(NOMINAL_KHZ);
    assert!(stats.threads > 1000, "hundreds or thousands of tasks: {}", stats.threads);
    let parallelism = stats.work as f64 / stats.span.unwrap() as f64;
    assert!((0.9..1.5).contains(&parallelism), "one or two at a time: {parallelism}");
    let work = |longer: bool| -> u64 {
        let ops = workload.threads.iter().flat_map(|t| &t.ops);
        let cycles = ops.filter_map(|op| if let Op::Run(n) = op { Some(*n) } else { None });
        cycles.filter(|n| (*n >= 5_000 * CYCLES_PER_US) == longer).sum()
    };
    let share = work(true) as f64 / (work(true) + work(false)) as f64;
    assert!((0.35..0.65).contains(&share), "half of the time in longer tasks: {share}");
}

/// As recorded: 127 of 249 processes of a script without compiler tests.
#[test]
fn half_of_the_processes_of_a_script_execute_nothing() {
    let workload = generate("configure:compile=0,tests=2000").unwrap();
    let executes = |t: &&crate::Thread| t.ops.iter().any(|op| matches!(op, Op::Exec(_)));
    let share = workload.threads.iter().filter(executes).count() as f64 / workload.threads.len() as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
}

#[test]
fn kbuild_never_exceeds_its_jobs() {
    let narrow = generate("kbuild:jobs=1,files=20").unwrap().stats(NOMINAL_KHZ);
    let wide = generate("kbuild:jobs=20,files=20").unwrap().stats(NOMINAL_KHZ);
    assert_eq!(narrow.cycles, wide.cycles);
    assert!(narrow.span.unwrap() > wide.span.unwrap() * 2);
}

fn message(spec: &str) -> String {
    generate(spec).unwrap_err().to_string()
}

#[test]
fn mistakes_are_explained() {
    let text = message("confgure");
    assert!(text.contains("did you mean `configure`?") && text.contains("hackbench"), "{text}");
    let text = message("configure:test=3");
    assert!(text.contains("no parameter is called `test`; did you mean `tests`?"), "{text}");
    assert!(text.contains("seed=1"), "{text}");
    assert!(message("configure:tests=0").contains("must be from 1 to 100000"));
    assert!(message("configure:tests=many").contains("not an integer"));
    assert!(message("configure:tests").contains("not of the form key=value"));
    assert!(message("configure:tests=1,tests=2").contains("given twice"));
    assert!(message("").contains("neither a generator"));
    assert!(generate("configure:").is_ok());
    assert!(generate("configure: tests = 1_0 , seed = 2").is_ok());
}

/// Parameters that are valid individually can be too large together; that is an error, not an
/// endless simulation.
#[test]
fn too_much_is_refused() {
    assert!(message("barrier:iterations=10000000,compute=60000000,threads=4096").contains("64 bits"));
}
