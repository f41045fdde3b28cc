//! Which obligations of the built-in policies hold, and which changes break them. Needs Why3.

use crate::common::{changed, emitted, failed, policy, policy_of, proved};
use hearth_ipanema::ir::Policy;
use hearth_prove::{Claim, Error, Obligation, Options, Property, Proved, Report, Verdict, fails_too, prove};

const WORK: [Property; 3] = [Property::Conservation, Property::Progress, Property::Waiting];

fn holds(name: &str, properties: &[Property]) {
    let report = proved(&policy(name), properties);
    assert!(!report.obligations.is_empty());
    assert_eq!(failed(&report), Vec::<String>::new(), "{name}");
}

#[test]
fn cfs_cwc_conserves_work() {
    holds("cfs-cwc", &WORK);
}

#[test]
#[ignore = "minutes: make test-all"]
fn cfs_cwc_flat_conserves_work() {
    holds("cfs-cwc-flat", &WORK);
}

#[test]
fn ule_cwc_conserves_work() {
    holds("ule-cwc", &WORK);
}

#[test]
#[ignore = "minutes: make test-all"]
fn smove_keeps_its_invariants() {
    holds("smove", &[Property::Invariants]);
}

#[test]
fn nest_keeps_its_invariants() {
    holds("nest", &[Property::Invariants]);
}

/// CFS does not conserve work, but its threads get their turns.
#[test]
#[ignore = "minutes: make test-all"]
fn nobody_waits_for_ever_on_a_core_of_cfs() {
    let report = proved(&policy("cfs"), &[Property::Waiting]);
    for about in ["ready", "events"] {
        let mut claims = report.of(Property::Waiting).filter(|o| o.obligation.id.about == about);
        assert!(claims.next().is_some_and(|claim| claim.verdict.holds()), "{about}");
    }
}

/// After the changes, no obligation about `about` whose text begins with `what` holds.
fn broken(name: &str, changes: &[(&str, &str)], about: &str, what: &str) {
    let policy = changed(name, changes);
    let mut theorems = emitted(&policy);
    theorems.obligations.retain(|o| o.id.about == about && o.id.what.starts_with(what));
    assert!(!theorems.obligations.is_empty(), "nothing is to be proved of {about}: `{what}`");
    let report = prove(&policy, &theorems, &Options::default()).unwrap();
    assert_eq!(failed(&report).len(), theorems.obligations.len(), "{about}: `{what}` holds");
}

#[test]
fn ule_leaves_cores_idle() {
    broken("ule", &[], "newly_idle", "the core is not left idle");
}

#[test]
fn slocal_leaves_cores_idle() {
    broken("slocal", &[], "unblock", "no core stays idle");
}

#[test]
fn cfs_leaves_cores_idle() {
    broken("cfs", &[], "unblock", "no core stays idle");
}

#[test]
fn a_fork_that_trusts_an_idle_core_of_before_leaves_others_idle() {
    let trusts = ("if (best in idle) return best;", "if (c_free(best)) return best;");
    let free =
        ("load average(domain d) {", "bool c_free(core c) { return true; }\n load average(domain d) {");
    broken("cfs-cwc", &[trusts, free], "new", "no core stays idle");
}

#[test]
fn nests_that_are_left_before_the_other_is_entered_are_not_disjoint() {
    let first =
        ("primary.add(c);\n        reserve.remove(c);", "reserve.remove(c);\n        primary.add(c);");
    broken("nest", &[first], "unblock", "keeps `disjoint`");
}

#[test]
fn a_wakeup_that_looks_at_one_die_leaves_cores_idle() {
    let one_die = (
        "first(core c in idle & t.affinity nearest prev)) return c",
        "first(core c in idle & llc(prev) & t.affinity nearest prev)) return c",
    );
    broken("cfs-cwc-flat", &[one_die], "unblock", "no core stays idle");
}

#[test]
fn a_preempted_thread_that_goes_to_any_core_leaves_others_idle() {
    let stays = "on preempt (thread t) {\n        charge(t);\n        t => t.core.ready;";
    let goes = "on preempt (thread t) {\n        charge(t);\n        t => (first(core c in t.affinity) else t.core).ready;";
    broken("cfs-cwc-flat", &[(stays, goes)], "preempt", "no core stays idle");
}

#[test]
fn a_filter_off_by_one_misses_overloaded_cores() {
    let off = ("src.nr_running >= 2;", "src.nr_running >= 3;");
    broken("cfs-cwc-flat", &[off], "pull", "an idle core sees");
}

#[test]
fn a_steal_that_stops_at_once_gives_up_too_early() {
    let at_once = ("stop { return stolen > 0; }", "stop { return stolen >= 0; }");
    broken("cfs-cwc-flat", &[at_once], "pull", "it does not stop before");
}

#[test]
fn an_inverted_thread_rule_takes_nothing() {
    let inverted = ("load_of(dst) > t.share", "load_of(dst) < t.share");
    broken("cfs-cwc-flat", &[inverted], "pull", "an idle core takes any thread");
}

#[test]
fn a_core_that_may_run_no_thread_is_not_preempted() {
    let of_another_core = ("thread? running = c.current;", "thread? running = t.core.current;");
    broken("cfs", &[of_another_core], "events", "no preemption");
}

#[test]
fn stealing_from_one_die_only_is_not_enough() {
    let one_die = ("pull(c, waiting);", "pull(c, waiting & llc(c));");
    broken("cfs-cwc-flat", &[one_die], "newly_idle", "the core is not left idle");
}

/// The parts of a policy are proved apart from each other. A policy that recombines proved parts needs no prover.
#[test]
fn policies_of_proved_parts_need_no_prover() {
    let options = Options { properties: WORK.to_vec(), ..Options::default() };
    let prove = |policy: &Policy| prove(policy, &emitted(policy), &options).unwrap();
    for name in ["cfs-cwc-flat", "cfs-cwc"] {
        assert!(prove(&policy(name)).holds(), "{name}");
    }
    for name in ["fork-by-die", "other-intervals"] {
        let recombined = policy_of(&format!("{}/tests/parts/{name}.ipa", env!("CARGO_MANIFEST_DIR")));
        let report = prove(&recombined);
        assert_eq!(failed(&report), Vec::<String>::new(), "{name}");
        let proved_now = report.obligations.iter().filter(|o| o.seconds > 0.0);
        assert_eq!(
            proved_now.map(|o| o.obligation.id.to_string()).collect::<Vec<_>>(),
            Vec::<String>::new(),
            "{name}"
        );
    }
}

/// Goals of which splitting leaves nothing: one that is simply true, and one that does not exist.
#[test]
fn a_goal_without_parts_needs_a_prover_or_is_an_error() {
    let policy = policy("cfs-cwc-flat");
    let verdict = |goal: &str| {
        let mut theorems = emitted(&policy);
        theorems.add("Trivial", "  goal plain: true\n  goal wrong: false\n");
        theorems.obligations.truncate(1);
        let claim = Claim::Goal { module: "Trivial".into(), goal: goal.into() };
        theorems.obligations[0] = Obligation { claim, ..theorems.obligations[0].clone() };
        prove(&policy, &theorems, &Options::default())
    };
    let report = verdict("plain").unwrap();
    assert!(report.holds() && matches!(report.obligations[0].verdict, Verdict::Holds { .. }));
    assert!(!verdict("wrong").unwrap().holds());
    assert!(matches!(verdict("missing"), Err(Error::NoGoal(_) | Error::Rejected(_))));
}

/// Policies with one fault each. The comments at the top name the obligations that do not hold. What does not hold costs
/// all steps that the provers may take, so they may take all of them only in `make test-all`.
#[test]
fn broken_policies_lose_their_obligations() {
    let full = Options::default();
    let steps = if hearth_tests::everything() { full.steps } else { full.steps / 4 };
    let options = Options { steps, ..full };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/broken");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path().display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let due: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("// loses ")).collect();
        let policy = policy_of(&path);
        let mut theorems = emitted(&policy);
        let wanted = |o: &Obligation| due.contains(&o.id.to_string().as_str());
        assert_eq!(
            theorems.obligations.iter().filter(|o| wanted(o)).count(),
            due.len(),
            "{path}: obligations"
        );
        let needed: Vec<_> =
            theorems.obligations.iter().filter(|o| wanted(o)).flat_map(|o| o.rests_on.clone()).collect();
        theorems.obligations.retain(|o| wanted(o) || needed.contains(&o.id));
        let report = prove(&policy, &theorems, &options).unwrap();
        let held = report.obligations.iter().filter(|o| wanted(&o.obligation) && o.verdict.holds());
        assert_eq!(
            held.map(|o| o.obligation.id.to_string()).collect::<Vec<_>>(),
            Vec::<String>::new(),
            "{path}"
        );
    }
}

/// Of two obligations that do not hold, the base fails the one whose text is the same.
#[test]
fn a_change_is_compared_with_its_base() {
    let base = policy("cfs-cwc-flat");
    let one_die = (
        "first(core c in idle & t.affinity nearest prev)) return c",
        "first(core c in idle & llc(prev) & t.affinity nearest prev)) return c",
    );
    let theorems = emitted(&changed("cfs-cwc-flat", &[one_die]));
    let failed = |o: &Obligation| {
        o.id.about == "unblock" && o.id.what.starts_with("no core")
            || o.id.what.starts_with("an idle core sees")
    };
    let obligations = theorems.obligations.iter().map(|obligation| {
        let verdict = match failed(obligation) {
            true => Verdict::NotProved { parts: Vec::new() },
            false => Verdict::Holds { prover: "z3".into() },
        };
        Proved { obligation: obligation.clone(), verdict, seconds: 0.0 }
    });
    let report = Report { policy: "changed".into(), obligations: obligations.collect() };
    assert_eq!(report.obligations.iter().filter(|one| !one.verdict.holds()).count(), 2);
    let too = fails_too(&report, &theorems, &base, &Options::default()).unwrap();
    assert_eq!(too.iter().map(|id| id.about.as_str()).collect::<Vec<_>>(), ["pull"]);
}
