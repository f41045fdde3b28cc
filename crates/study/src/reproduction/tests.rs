use super::*;

fn run(time_s: f64, energy_j: f64, underload_per_s: f64, overload_core_ms: f64) -> Run {
    Run { time_s, energy_j, underload_per_s, overload_core_ms, cores_used: 2.0, busy_ghz: Some(3.0) }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn metrics_agree_with_manual_calculation() {
    // Mean times 8 and 10; energies 60 and 80; underloads 3 and 30.
    let subject = [run(7.0, 50.0, 2.0, 14.0), run(9.0, 70.0, 4.0, 36.0)];
    let baseline = [run(10.0, 80.0, 30.0, 0.0), run(10.0, 80.0, 30.0, 0.0)];
    let value = |metric| measure(metric, &subject, &baseline).value;
    assert!(close(value(Metric::Speedup), 0.25));
    assert!(close(value(Metric::EnergySaving), 0.25));
    assert!(close(value(Metric::Underload), 0.1));
    // 14 core-ms in 7 s are 2 per second, 36 in 9 s are 4: mean 3, deviation sqrt 2, t(0.975; 1) = 12.7062,
    // so 3 ± 12.7062; the lower end is cut at 0.
    let overload = measure(Metric::Overload, &subject, &[]);
    assert!(close(overload.value, 3.0));
    let [low, high] = overload.ci95.unwrap();
    assert!(low == 0.0 && (high - 15.7062).abs() < 1e-3, "{high}");
}

#[test]
fn ratios_with_zeros() {
    let (none, some) = (run(1.0, 1.0, 0.0, 0.0), run(1.0, 1.0, 5.0, 0.0));
    let underload = |subject: &Run, baseline: &Run| {
        let twice = |r: &Run| [0, 1].map(|_| run(r.time_s, r.energy_j, r.underload_per_s, 0.0));
        measure(Metric::Underload, &twice(subject), &twice(baseline))
    };
    assert_eq!(underload(&none, &none), Change { value: 0.0, ci95: Some([0.0; 2]) });
    assert_eq!(underload(&none, &some), Change { value: 0.0, ci95: Some([0.0; 2]) });
    // Division by zero is outside of any range.
    let change = underload(&some, &none);
    assert_eq!((change.value, change.ci95), (f64::INFINITY, None));
    // A run without duration has no overload.
    assert_eq!(run(0.0, 0.0, 0.0, 0.0).overload_per_s(), 0.0);
}

#[test]
fn one_run_has_no_interval() {
    let one = [run(1.0, 1.0, 1.0, 1.0)];
    for metric in [Metric::Speedup, Metric::EnergySaving, Metric::Underload, Metric::Overload] {
        assert_eq!(measure(metric, &one, &one).ci95, None, "{metric:?}");
    }
}

const CLAIMS: &str = include_str!("../../tests/data/claims.toml");

/// An outcome with this time and energy, and two core-ms of overload.
fn outcome(time_s: f64, energy_j: f64) -> Outcome {
    let summary = hearth_trace::Summary { overload_core_ms: 2.0, ..Default::default() };
    Outcome { summary, time_s, energy_j, ..Outcome::default() }
}

/// Evaluates `CLAIMS` with these times: Nest and CFS on the Xeon, both on the Ryzen, and CFS with the governor
/// `performance`. Energy in joules is a hundred times the time in seconds.
fn reproduced(book: &Book, times: [f64; 5]) -> serde_json::Value {
    let claims: Vec<&Claim> = book.claims.iter().collect();
    let outcomes = times.map(|time| Ok(outcome(time, time * 100.0))).into();
    let reproduction = Plan::new(book, &claims).evaluate(1, outcomes).unwrap();
    serde_json::to_value(&reproduction).unwrap()
}

#[test]
fn each_setting_is_simulated_once() {
    let book = Book::parse("claims.toml", CLAIMS).unwrap();
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
    assert_eq!(Plan::new(&book, &claims[2..]).jobs(2).len(), 2);
}

#[test]
fn claims_get_their_results() {
    let book = Book::parse("claims.toml", CLAIMS).unwrap();
    let json = reproduced(&book, [8.0, 10.0, 20.0, 10.0, 40.0]);
    let found = |claim: usize, result: usize| {
        let found = &json["claims"][claim]["results"][result];
        (found["value"].as_f64().unwrap(), found["in_range"].as_bool().unwrap())
    };
    assert!(close(found(0, 0).0, 0.25) && found(0, 0).1);
    assert!(close(found(0, 1).0, -0.5) && !found(0, 1).1);
    // 800 J instead of 4000 J.
    assert!(close(found(1, 0).0, 0.8) && found(1, 0).1);
    // 2 core-ms in 10 s.
    assert!(close(found(2, 0).0, 0.2) && !found(2, 0).1);
    assert_eq!((&json["results"], &json["in_range"]), (&4.into(), &2.into()));
    assert_eq!(json["claims"][0]["results"][0]["subject"]["time_s"], 8.0);
    assert_eq!(json["claims"][2]["baseline"], serde_json::Value::Null);
}

#[test]
fn simulator_errors_name_the_setting() {
    let book = Book::parse("claims.toml", CLAIMS).unwrap();
    let claims: Vec<&Claim> = book.claims.iter().collect();
    let outcomes = (0..10)
        .map(|i| if i == 5 { Err(SimError::TimeLimit { limit_s: 1 }) } else { Ok(outcome(1.0, 1.0)) })
        .collect();
    let Err(error) = Plan::new(&book, &claims).evaluate(2, outcomes) else { panic!("an error") };
    let said = error.to_string();
    assert!(said.contains("fork-wait:iterations=5 on ryzen-3400g under nest: "), "{said}");
}
