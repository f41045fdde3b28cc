//! Scenarios in files: what they mean, and what is rejected.

use super::load;
use crate::cores::Cores;
use crate::property::Property;
use crate::scenario::{Op, Owner, Scenario, Start, Stealing, Value};
use crate::search::{Options, check};
use crate::topology::Topology;

/// The example in the book.
fn example() -> &'static str {
    let page = include_str!("../../../../docs/src/proofs.md");
    page.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).expect("an example").0
}

#[test]
fn the_books_example_is_read() {
    let scenario = Scenario::from_toml("example", example()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.topology, Topology::llcs(&[2, 1]));
    assert_eq!((scenario.ticks, scenario.stealing), (25, Stealing::CompareAndSwap));
    let [runner, waiter, sleeper, forked] = scenario.threads.as_slice() else { panic!("{scenario:?}") };
    assert_eq!((runner.start, runner.affinity), (Start::Awake(0), Cores::one(0)));
    assert_eq!((waiter.start, waiter.weight), (Start::Awake(0), 335));
    assert_eq!(sleeper.program, [Op::Sleep, Op::Sleep]);
    assert_eq!((forked.start, forked.runtime), (Start::Forked, 3_600_000_000_000));
    assert_eq!(scenario.values, [Value { of: Owner::Thread(1), name: "share".into(), value: 1_000_000 }]);
    let options = Options { max_states: 2_000, cwc: true, ..Options::default() };
    let outcome = check(&load("cfs-cwc-flat"), &scenario, &options).expect("it fits");
    assert!(outcome.violation.is_none() && outcome.states > 1_000);
}

#[track_caller]
fn rejected(text: &str, expected: &[&str]) {
    let error = Scenario::from_toml("test", text).expect_err("it is wrong").to_string();
    for part in expected {
        assert!(error.contains(part), "`{part}` is not in:\n{error}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    rejected("cores = [2", &["line 1, column"]);
    rejected("cores = [2]\nthreads = 1", &["line 2", "unknown field `threads`", "`thread`"]);
    rejected("thread = []", &["missing field `cores`"]);
    rejected("cores = []\nthread = []", &["1 to 8 cores", "has 0"]);
    rejected("cores = [9]\nthread = []", &["has 9"]);
    rejected("cores = [1]\noffline = [0]\nthread = []", &["all cores are off line"]);
    rejected("cores = [2]\nfast = [\n0, 2]\nthread = []", &["line 3", "no core 2", "the last is 1"]);
    let thread = |text: &str| format!("cores = [2]\n[[thread]]\n{text}");
    rejected(&thread("on = 0\nblocked_on = 1"), &["line 2", "`on` or `blocked_on`"]);
    rejected(&thread("on = 2"), &["thread 0", "core 2"]);
    rejected(&thread("on = 0\nweight = 0"), &["line 4", "1 to 1048576"]);
    rejected(&thread("on = 0\nallowed = [0,\n7]"), &["line 5", "no core 7"]);
    rejected(
        &thread("on = 0\ndoes = [\"yield\",\n\"spin\"]"),
        &["line 5", "`spin`", "`sleep`", "`wake THREAD`"],
    );
    rejected(&thread("on = 0\ndoes = [\"wake me\"]"), &["line 4", "`me` is not the number of a thread"]);
    rejected(&thread("on = 0\ndoes = [\"wake 1\"]"), &["thread 1", "does not exist"]);
    rejected(&thread("on = 0\ntimes = 200\ndoes = [\"yield\", \"yield\"]"), &["more than 255 operations"]);
}

#[test]
fn attributes_that_the_policy_lacks_are_refused() {
    let text = "cores = [1]\nthread = [{ on = 0 }]\nset = [{ thread = 0, to = { turn = 1 } }]";
    let scenario = Scenario::from_toml("test", text).expect("it is well-formed");
    assert!(check(&load("ule"), &scenario, &Options::default()).is_ok());
    let error = check(&load("cfs"), &scenario, &Options::default()).expect_err("no such attribute");
    assert_eq!(error.to_string(), "`cfs` declares no attribute `turn` of thread 0");
}

/// A counter beyond the reach of a search is started near its limit.
#[test]
fn a_counter_starts_near_its_limit() {
    let changed = super::liveness::changed(
        "cfs-cwc-flat",
        "global { int turns; } invariant few : turns <= 1000000; on yield (thread t) { turns += 1; super; }",
    );
    let refuted = |text: &str| {
        let scenario = Scenario::from_toml("test", text).expect("it is well-formed");
        let outcome = check(&changed, &scenario, &Options::default()).expect("it fits");
        outcome.violation.map(|found| found.violation.property)
    };
    let text = "cores = [1]\nthread = [{ on = 0, does = [\"yield\"], times = 3 }]";
    assert_eq!(refuted(text), None);
    let near = format!("{text}\nset = [{{ to = {{ turns = 999998 }} }}]");
    assert_eq!(refuted(&near), Some(Property::Invariant));
    let far = format!("{text}\nset = [{{ to = {{ turns = 999997 }} }}]");
    assert_eq!(refuted(&far), None);
}

/// A policy that forgets that cores may be off line.
#[test]
fn cores_that_are_off_line_get_no_threads() {
    let scenario = Scenario::named("offline-4").expect("a standard scenario");
    let holds = check(&load("cfs-cwc"), &scenario, &Options::default()).expect("it fits");
    assert!(holds.complete);
    let alone = "invariant known : empty(idle - online); on tick (thread t) { super; }";
    let outcome = check(&super::liveness::changed("cfs-cwc-flat", alone), &scenario, &Options::default());
    assert!(outcome.expect("it fits").complete, "a core that is off line is in `idle`");
    // A thread was sent to the other core of a pair, whether it is on line or not.
    let careless = super::liveness::changed(
        "cfs-cwc-flat",
        "global { core? other; } on unblock (thread t, core waker) { if (core c = other) t => c.ready; super; }",
    );
    let aimed =
        Scenario { values: vec![Value { of: Owner::Global, name: "other".into(), value: 1 }], ..scenario };
    let found =
        check(&careless, &aimed, &Options::default()).expect("it fits").violation.expect("a violation");
    assert!(found.violation.what.contains("core 1, which does not exist or is off line"), "{found}");
}
