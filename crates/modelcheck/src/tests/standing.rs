//! Which violations contradict the theorems about waiting.

use super::liveness::changed;
use crate::progress::WITHIN;
use crate::scenario::Scenario;
use crate::search::{Options, check};
use crate::standing::{Standing, standing};
use crate::survey::{Question, survey};
use hearth_policy::{Policy, Settings};

fn waits(policy: &Policy, scenario: &Scenario, params: &[(&str, i64)]) -> Standing {
    let params = Settings::from_pairs(policy, params.iter().copied()).expect("parameters");
    let options = Options { within: Some(WITHIN), params, max_states: 20_000, ..Options::default() };
    let found = check(policy, scenario, &options).expect("it fits").violation.expect("a violation");
    standing(policy, &found).expect("it was just found")
}

fn turns() -> Scenario {
    Scenario::named("turns-1").expect("a standard scenario")
}

/// Last come, first served; two that change cores; one whose turn never ends; one that is not moved back.
const LIFO: &str = "on enqueue (thread t, core c) { t.home = none; t.vruntime = 0ms - now; }";
const SWAPS: &str = "
    on enqueue (thread t, core c) {
        if (core h = t.home) if (h == c) return;
        t.home = c;
        t.vruntime = c.min_vruntime - 1s;
        if (thread f = first(thread f in c.ready)) t.vruntime = f.vruntime - 1ms;
    }
    on preempt (thread t) {
        charge(t);
        t => (first(core x in t.affinity from t.core where x != t.core) else t.core).ready;
    }";
const WRAPS: &str = "
    void charge(thread t) {
        if (t.charged == 0ms) t.vruntime += t.weight * 1ns;
        t.charged = t.runtime;
        t.vruntime += 576460752303423488ns;
    }
    on enqueue (thread t, core c) { }";

#[test]
fn a_broken_premise_contradicts() {
    let broken = |text: &str, phrase: &str| {
        let standing = waits(&changed("cfs-cwc-flat", text), &turns(), &[]);
        assert!(matches!(&standing, Standing::Contradicts(why) if why.contains(phrase)), "{standing:?}");
    };
    broken(LIFO, "the key of thread");
    broken("on tick (thread t) { }", "a turn ends after");
    broken(
        "on schedule (core c) { if (thread t = max(thread t in c.ready by t.vruntime)) t => running; }",
        "`schedule` takes",
    );
}

#[test]
fn what_the_theorem_allows_does_not_contradict() {
    let policy = changed("cfs-cwc-flat", "");
    assert_eq!(waits(&policy, &turns(), &[("quantum", 200_000_000)]), Standing::Within);
    let swaps = changed("cfs-cwc-flat", SWAPS);
    let four = [Scenario::named("four-2").expect("a standard scenario")];
    let survey =
        survey(&swaps, &Settings::default(), &four, &[Question::Waiting], 2_000, &|| ()).expect("it fits");
    let standing = standing(&swaps, survey.violations()[0]).expect("just found");
    assert!(matches!(&standing, Standing::Outside(why) if why.contains("new to core")), "{standing:?}");
    let two = "doc = \"\"\ncores = [1]\nticks = 250\nthread = [\n  { on = 0, does = [\"forever\"] },\n  \
               { on = 0, weight = 1030, does = [\"forever\"] },\n]";
    let two = Scenario::from_toml("two", two).expect("a scenario");
    let wraps = waits(&changed("cfs-cwc-flat", WRAPS), &two, &[]);
    assert!(matches!(&wraps, Standing::Outside(why) if why.contains("2^60")), "{wraps:?}");
}

/// Balances that exchange threads for ever, and balances that need two rounds.
#[test]
fn rounds_contradict_if_there_is_no_last_one() {
    let first = |policy: &Policy| {
        let all = crate::standard_scenarios();
        let survey = survey(policy, &Settings::default(), &all, &[Question::Conservation], 2_000, &|| ());
        let survey = survey.expect("it fits");
        let standings =
            survey.violations().into_iter().map(|found| standing(policy, found).expect("just found"));
        standings.collect::<Vec<_>>()
    };
    let never = changed("cfs-cwc-flat", "on balance (core c) { }");
    assert!(first(&never).iter().any(|one| matches!(one, Standing::Contradicts(_))));
    // Each counts down before it moves anything.
    let late = "global { int left = 6; } on balance (core c) { if (left > 0) { left -= 1; return; } super; }";
    let late = changed(
        "cfs-cwc-flat",
        &late.replace("super;", "pull(c, waiting); for (core i in idle nearest c) pull(i, waiting);"),
    );
    let late = first(&late);
    assert!(
        late.contains(&Standing::Within) && !late.iter().any(|one| matches!(one, Standing::Contradicts(_))),
        "{late:?}"
    );
}
