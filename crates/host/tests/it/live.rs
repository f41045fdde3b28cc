//! On the machine on which the tests run, whatever it is: only what must hold anywhere.

use hearth_host::detect::{Measured, Options, cores_of_a_socket, detect, registers};
use hearth_host::report::{Phase, Unit, Verdict};
use hearth_host::sysfs::Files;
use hearth_host::{Error, Report, ftl, plot, turbo};
use hearth_machine::Machine;
use std::path::Path;
use std::time::Duration;

fn short() -> ftl::Options {
    ftl::Options {
        rounds: 3,
        busy: Duration::from_millis(30),
        idle: Duration::from_millis(20),
        quiet: Duration::from_millis(5),
        ..ftl::Options::default()
    }
}

fn sound(phase: &Phase, report: &Report, length: usize) {
    assert_eq!((phase.rounds, phase.speeds.len(), phase.curve.len()), (3, 3, length));
    assert!(phase.usable <= 3 && phase.moved <= phase.usable);
    assert_eq!(phase.settled_ms.is_some(), phase.verdict == Verdict::Seen);
    let speeds = phase.speeds.iter().flatten().flatten();
    let range = if report.source.unit == Unit::Khz { 50_000.0..20_000_000.0 } else { 0.0..1000.0 };
    for speed in speeds {
        assert!(range.contains(speed), "{speed} is no speed");
    }
    for quantiles in phase.curve.iter().filter_map(|point| point.speed) {
        assert!(quantiles.q10 <= quantiles.median && quantiles.median <= quantiles.q90);
    }
}

#[test]
fn a_measurement_is_sound_and_can_be_drawn() {
    let mut rounds = 0;
    let report = ftl::measure(&short(), || rounds += 1).expect("a measurement");
    assert_eq!(rounds, 3);
    sound(&report.up, &report, 300);
    sound(&report.down, &report, 20);
    assert!(report.source.unit == Unit::Khz || report.source.kind == "rate");
    let svg = plot::svg(&report);
    assert!(svg.starts_with("<svg") && svg.contains(&format!("core {}", report.core)));
    let json: serde_json::Value = serde_json::to_value(&report).expect("a document");
    assert_eq!(json["schema"], "hearth.ftl/1");
}

#[test]
fn what_cannot_be_measured_is_told() {
    let refused = |options: ftl::Options| ftl::measure(&options, || ()).expect_err("refused").to_string();
    let absent = refused(ftl::Options { core: Some(4_000_000), ..short() });
    assert!(absent.contains("may not use core 4000000: choose one of"), "{absent}");
    assert!(refused(ftl::Options { rounds: 0, ..short() }).contains("give 1 to 10000"));
    let busy = refused(ftl::Options { busy: Duration::ZERO, ..short() });
    assert!(busy.contains("the busy time is 0ns; give 5ms to 10s"), "{busy}");
    let gap = refused(ftl::Options { gap: Duration::from_millis(15), ..short() });
    assert!(gap.contains("the gap time is 15ms"), "{gap}");
}

#[test]
fn this_machine_has_a_file() {
    let files = Files::under(Path::new("/"));
    let (options, mut measured) = (Options::default(), Measured::default());
    let detected = match detect(&files, &registers, &options, &measured) {
        Ok(detected) => detected,
        // There are such machines; then that is what is said.
        Err(Error::Irregular(said)) => return assert!(said.contains("--cores"), "{said}"),
        Err(error) => panic!("{error}"),
    };
    let machine = Machine::parse("detected", &detected.toml).expect("it loads");
    let cores = cores_of_a_socket(&files, &options).expect("a socket");
    assert_eq!(cores.len(), usize::from(machine.topology.shape().cores_per_socket));
    measured.turbo = turbo::measure(&cores[..1], || ()).unwrap_or(None);
    measured.ftl = Some(ftl::measure(&short(), || ()).expect("a measurement"));
    let detected = detect(&files, &registers, &options, &measured).expect("a file with what was measured");
    assert!(detected.toml.contains("Measured on core"), "{}", detected.toml);
}
