use super::*;
use crate::claims::{Claim, Metric};
use hearth_sim::Outcome;
use hearth_trace::{Header, Latency, Residency, Summary};
use std::collections::BTreeMap;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// A run with this summary on a machine of 4 cores.
fn run_with(energy_j: f64, summary: Summary) -> Run {
    let header = Header { cores: vec![Default::default(); 4], ..Header::default() };
    Run {
        outcome: Outcome { time_s: summary.duration_s, energy_j, summary, header, ..Outcome::default() },
        seen: Vec::new(),
    }
}

fn run(time_s: f64, energy_j: f64, underload_per_s: f64, overload_core_ms: f64) -> Run {
    run_with(
        energy_j,
        Summary { duration_s: time_s, underload_per_s, overload_core_ms, ..Summary::default() },
    )
}

fn whole(runs: &[Run]) -> Runs<'_> {
    Runs { runs, watch: None }
}

#[test]
fn metrics_agree_with_manual_calculation() {
    // Mean times 8 and 10; energies 60 and 80; underloads 3 and 30.
    let subject = [run(7.0, 50.0, 2.0, 14.0), run(9.0, 70.0, 4.0, 36.0)];
    let baseline = [run(10.0, 80.0, 30.0, 0.0), run(10.0, 80.0, 30.0, 0.0)];
    let value = |metric| measure(&metric, whole(&subject), Some(whole(&baseline))).value;
    assert!(close(value(Metric::Speedup), 0.25));
    assert!(close(value(Metric::TimeSaved), 0.2));
    assert!(close(value(Metric::EnergySaving), 0.25));
    assert!(close(value(Metric::Underload), 0.1));
    assert!(close(value(Metric::Time), 0.8));
    // The slowest runs take 9 and 10.
    assert!(close(value(Metric::Slowest), 0.9));
    let alone = |metric| measure(&metric, whole(&subject), None);
    assert_eq!(alone(Metric::Slowest), Change { value: 9.0, ci95: None });
    // Deviation sqrt 2 of a mean of 8.
    assert!(close(alone(Metric::Deviation).value, 2f64.sqrt() / 8.0));
    // 14 core-ms in 7 s are 2 per second, 36 in 9 s are 4: mean 3, deviation sqrt 2, t(0.975; 1) = 12.7062,
    // so 3 ± 12.7062; the lower end is cut at 0.
    let overload = alone(Metric::Overload);
    assert!(close(overload.value, 3.0));
    let [low, high] = overload.ci95.unwrap();
    assert!(low == 0.0 && (high - 15.7062).abs() < 1e-3, "{high}");
}

#[test]
fn metrics_of_one_side() {
    let summary = Summary {
        duration_s: 2.0,
        busy_core_s: 4.0,
        inversion_core_ms: 1_000.0,
        cores_used: 3,
        sockets_used: 1,
        busy_ghz_mean: Some(2.5),
        frequency_residency: vec![
            Residency { ghz: 2.0, ms: 1_000.0 },
            Residency { ghz: 3.1, ms: 1_000.0 },
            Residency { ghz: 3.2, ms: 2_000.0 },
        ],
        wakeup_latency_us: Latency { count: 9, p99_9: 70.0, ..Latency::default() },
        placements: BTreeMap::from([("cfs".into(), 30), ("local".into(), 60), ("moved".into(), 10)]),
        ..Summary::default()
    };
    let runs = [run_with(1.0, summary)];
    let value = |metric| measure(&metric, whole(&runs), None).value;
    let placed = |reasons: &[&str]| Metric::Placed(reasons.iter().map(|r| r.to_string()).collect());
    let expected = [
        (Metric::Time, 2.0),
        (Metric::Cores, 3.0),
        (Metric::Sockets, 1.0),
        // 4 of 2 · 4 core-seconds.
        (Metric::Utilisation, 0.5),
        (Metric::Inverted, 0.25),
        (Metric::Ghz, 2.5),
        // The bin of 3.1 GHz is not above 3.1.
        (Metric::AboveGhz(3.1), 0.5),
        (Metric::AboveGhz(2.1), 0.75),
        (Metric::LatencyP999, 70.0),
        (placed(&["cfs"]), 0.3),
        (placed(&["local", "moved"]), 0.7),
        (placed(&["attached"]), 0.0),
        (Metric::PerSecond("local".into()), 30.0),
    ];
    for (metric, expected) in expected {
        assert!(close(value(metric.clone()), expected), "{metric}: {}", value(metric.clone()));
    }
}

#[test]
fn what_a_run_does_not_have_is_unknown() {
    let runs = [run(1.0, 1.0, 0.0, 0.0), run(1.0, 1.0, 0.0, 0.0)];
    for metric in [Metric::Ghz, Metric::AboveGhz(1.0), Metric::LatencyP999, Metric::Placed(Vec::new())] {
        let change = measure(&metric, whole(&runs), None);
        assert!(change.value.is_nan() && change.ci95.is_none(), "{metric}");
    }
    let missing = [Run { seen: vec![Observation::Nothing], ..run(1.0, 1.0, 0.0, 0.0) }];
    assert!(measure(&Metric::Time, Runs { runs: &missing, watch: Some(0) }, None).value.is_nan());
    assert!(measure(&Metric::Deviation, whole(&runs[..1]), None).value.is_nan());
}

#[test]
fn ratios_with_zeros() {
    let (none, some) = (|| run(1.0, 1.0, 0.0, 0.0), || run(1.0, 1.0, 5.0, 0.0));
    let underload = |subject: fn() -> Run, baseline: fn() -> Run| {
        let (subject, baseline) = ([subject(), subject()], [baseline(), baseline()]);
        measure(&Metric::Underload, whole(&subject), Some(whole(&baseline)))
    };
    assert_eq!(underload(none, none), Change { value: 0.0, ci95: Some([0.0; 2]) });
    assert_eq!(underload(none, some), Change { value: 0.0, ci95: Some([0.0; 2]) });
    // Division by zero is outside of any range.
    let change = underload(some, none);
    assert_eq!((change.value, change.ci95), (f64::INFINITY, None));
}

#[test]
fn one_run_has_no_interval() {
    let one = [run(1.0, 1.0, 1.0, 1.0)];
    for metric in [Metric::Speedup, Metric::EnergySaving, Metric::Underload] {
        assert_eq!(measure(&metric, whole(&one), Some(whole(&one))).ci95, None, "{metric:?}");
    }
    assert_eq!(measure(&Metric::Overload, whole(&one), None).ci95, None);
}

const CLAIMS: &str = include_str!("../../tests/data/claims.toml");

fn book() -> Book {
    Book::parse(&[("claims.toml", CLAIMS)]).unwrap()
}

/// A run with this time and a hundred times as much energy, and two core-ms of overload.
fn timed(time_s: f64) -> Run {
    run(time_s, time_s * 100.0, 0.0, 2.0)
}

/// Evaluates `CLAIMS` with these times: Nest and CFS on the Xeon, both on the Ryzen, and CFS with the governor
/// `performance`.
fn reproduced(book: &Book, times: [f64; 5]) -> serde_json::Value {
    let claims: Vec<&Claim> = book.claims.iter().collect();
    let reproduction =
        Plan::new(book, &claims).evaluate(1, times.map(|time| Ok(timed(time))).into()).unwrap();
    serde_json::to_value(&reproduction).unwrap()
}

#[test]
fn each_setting_is_simulated_once() {
    let book = book();
    let claims: Vec<&Claim> = book.claims.iter().collect();
    let plan = Plan::new(&book, &claims);
    let jobs = plan.jobs(3);
    let settings: Vec<_> = jobs
        .iter()
        .map(|job| (&*job.machine.name, job.policy.name(), job.governor.name(), job.params.len(), job.seed))
        .collect();
    let expected: Vec<_> = [
        ("xeon-5218", "nest", "schedutil"),
        ("xeon-5218", "cfs", "schedutil"),
        ("ryzen-3400g", "nest", "schedutil"),
        ("ryzen-3400g", "cfs", "schedutil"),
        ("xeon-5218", "cfs", "performance"),
    ]
    .into_iter()
    .flat_map(|(machine, policy, governor)| (1..=3).map(move |seed| (machine, policy, governor, 0, seed)))
    .collect();
    assert_eq!(settings, expected);
    // A single claim needs only its own settings.
    assert_eq!(Plan::new(&book, &claims[3..]).jobs(2).len(), 2);
}

#[test]
fn claims_get_their_results() {
    let book = book();
    let json = reproduced(&book, [8.0, 10.0, 20.0, 10.0, 40.0]);
    let found = |claim: usize, result: usize| {
        let found = &json["claims"][claim]["results"][result];
        (found["value"].as_f64().unwrap(), found["in_range"].as_bool().unwrap())
    };
    assert!(close(found(0, 0).0, 0.25) && found(0, 0).1);
    assert!(close(found(0, 1).0, -0.5) && !found(0, 1).1);
    // 25% on the Xeon, -50% on the Ryzen.
    assert!(close(found(1, 0).0, 0.75) && found(1, 0).1);
    // 800 J instead of 4000 J.
    assert!(close(found(2, 0).0, 0.8) && found(2, 0).1);
    // 2 core-ms in 10 s.
    assert!(close(found(3, 0).0, 0.2) && !found(3, 0).1);
    assert_eq!(json["claims"][0]["results"][0]["subject"]["time_s"], 8.0);
    assert_eq!(json["claims"][3]["baseline"], serde_json::Value::Null);
    assert_eq!(json["claims"][1]["than"]["subject"]["machine"], "ryzen-3400g");
}

#[test]
fn both_halves_have_a_score() {
    let book = book();
    let json = reproduced(&book, [8.0, 10.0, 20.0, 10.0, 40.0]);
    // X1 has a result outside of the range, X2 none, X3 one. X4 is not asked.
    let tally = |rows: [u64; 5]| {
        let names = ["rows", "rows_in_range", "results", "in_range", "unasked"];
        serde_json::to_value(names.into_iter().zip(rows).collect::<BTreeMap<_, _>>()).unwrap()
    };
    assert_eq!(json["score"]["all"], tally([3, 1, 5, 3, 1]));
    let sums =
        |field: &str| ["choosing", "reported"].map(|half| json["score"][half][field].as_u64().unwrap());
    for field in ["rows", "rows_in_range", "results", "in_range", "unasked"] {
        assert_eq!(sums(field).iter().sum::<u64>(), json["score"]["all"][field].as_u64().unwrap(), "{field}");
    }
    for claim in json["claims"].as_array().unwrap() {
        let row = claim["id"].as_str().unwrap().split('-').next().unwrap();
        assert_eq!(claim["half"], serde_json::to_value(crate::claims::Half::of(row)).unwrap());
    }
}

#[test]
fn parts_of_runs_are_measured_in_the_same_simulations() {
    let text = |until: &str| {
        format!(
            "[[claim]]\nid = \"a\"\npaper = \"P\"\nsays = \"s\"\nworkload = \"kbuild:files=1,prepare=5\"\n\
             machines = [\"ryzen-3400g\"]\nsubject = \"cfs schedutil\"\nmetric = \"time\"\nrange = [0, 9]\n{until}"
        )
    };
    let value = |until: &str| {
        let book = Book::parse(&[("c", &text(until))]).unwrap();
        let claims: Vec<&Claim> = book.claims.iter().collect();
        let reproduction = Plan::new(&book, &claims).run(1, 1, || ()).unwrap();
        reproduction.claims[0].results[0].value
    };
    let all = value("");
    assert_eq!(value("until = { exit = \"make\" }"), all);
    assert_eq!(value("until = { seconds = 0.01 }"), 0.01);
    assert_eq!(value("until = { seconds = 1000 }"), all);
    let prepared = value("until = { exec = \"make\" }");
    assert!(0.0 < prepared && prepared < all / 2.0, "{prepared} of {all}");
}

#[test]
fn simulator_errors_name_the_setting() {
    let book = book();
    let claims: Vec<&Claim> = book.claims.iter().collect();
    let outcomes = (0..10)
        .map(|i| {
            if i == 5 {
                Err(SimError::TimeLimit { limit: std::time::Duration::from_secs(1) })
            } else {
                Ok(timed(1.0))
            }
        })
        .collect();
    let Err(error) = Plan::new(&book, &claims).evaluate(2, outcomes) else { panic!("an error") };
    let said = error.to_string();
    assert!(said.contains("fork-wait:iterations=5 on ryzen-3400g under nest: "), "{said}");
}
