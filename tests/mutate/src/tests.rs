//! The mutants that each operator makes of a small policy.

use hearth_ipanema::compile;
use hearth_ipanema::syntax::Source;
use hearth_modelcheck::standard_scenarios;
use hearth_policy::Settings;

use crate::checker::ModelChecker;
use crate::find::mutants;
use crate::judge::{Verdict, judge_all};
use crate::operator::Operator;
use crate::subject::Subject;

const FRAME: &str = "
    queue ready : fifo;
    queue late : fifo;
    on schedule (core c) { if (thread t = first(thread t in c.ready)) t => running; }
    on yield (thread t) { t => t.core.ready; }
    on preempt (thread t) { t => t.core.ready; }
    on block (thread t) { t => blocked; }
    on terminate (thread t) { t => terminated; }
";

/// The mutated text.
const TINY: &str = "
    core near(thread t, core c) { return c in t.affinity ? c : (first(core x in t.affinity nearest c) else c); }
    on new (thread t, core parent) {
        if (core c = first(core c in idle & t.affinity nearest parent where claim(c))) t => c.ready;
        t => near(t, parent).ready;
    }
    on unblock (thread t, core waker) {
        if (!(waker in idle) && waker.nr_ready >= 1) t => near(t, waker).late;
        t => near(t, min(core c in llc(waker) & t.affinity by max(c.nr_running, 1)) else waker).ready;
    }
    steal pull (core dst, set from) {
        can_steal_core (core src) { return src.nr_running >= 2; }
        select_core (core src) max by src.nr_running;
        stop { return stolen > 0; }
        move (thread t) { t => dst.ready because balance; }
    }
    on newly_idle (core c) { pull(c, waiting); }
";

fn subject(text: &str) -> Subject {
    let text = format!("policy tiny {{{FRAME}{text}}}");
    let provider = move |_: &str| Some(Source { name: "tiny.ipa".to_owned(), text: text.clone() });
    Subject::new(compile(&provider, "tiny").unwrap_or_else(|failed| panic!("{failed}")).into())
}

/// The mutants of the lines of `TINY` that contain this text.
fn after(operator: Operator, line: &str) -> Vec<String> {
    let found = mutants(&subject(TINY)).into_iter();
    found.filter(|m| m.operator == operator && m.before.contains(line)).map(|m| m.after).collect()
}

#[track_caller]
fn expect(operator: Operator, line: &str, mutants: &[&str]) {
    let found = after(operator, line);
    assert_eq!(found.len(), mutants.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(mutants) {
        assert!(found.contains(expected), "`{expected}` is not in `{found}`");
    }
}

#[test]
fn off_by_one() {
    expect(
        Operator::OffByOne,
        "can_steal_core",
        &["src.nr_running > 2", "src.nr_running >= 3", "src.nr_running >= 1"],
    );
}

#[test]
fn conditions() {
    expect(Operator::Condition, "stop {", &["return true;", "return false;"]);
    expect(Operator::Condition, "where claim", &["where false"]);
    expect(Operator::Negation, "stop {", &["stolen <= 0"]);
    expect(Operator::Negation, "!(waker in idle)", &["if ((waker in idle) &&", "waker.nr_ready < 1"]);
    expect(
        Operator::Operand,
        "!(waker in idle)",
        &["if (!(waker in idle)) t =>", "if (waker.nr_ready >= 1) t =>"],
    );
}

#[test]
fn affinity() {
    expect(Operator::Affinity, "where claim", &["in idle nearest parent"]);
    expect(Operator::Affinity, "core near", &["return true ? c"]);
}

#[test]
fn groups() {
    expect(Operator::Group, "llc(waker)", &["in smt(waker) &", "in machine &"]);
    expect(Operator::Narrow, "where claim", &["in idle & t.affinity & llc(parent) nearest parent"]);
    expect(Operator::Narrow, "newly_idle", &["pull(c, waiting & llc(c));"]);
}

#[test]
fn first_candidates() {
    expect(Operator::FirstCandidate, "where claim", &["nearest parent limit 1 where"]);
    expect(Operator::FirstCandidate, "steal pull", &["ends after its first candidate"]);
    // A search for the first thread without a filter has only one candidate.
    expect(Operator::FirstCandidate, "on schedule", &[]);
    expect(Operator::NoRecheck, "can_steal_core", &["not checked again"]);
}

#[test]
fn claims() {
    expect(Operator::Claim, "where claim", &["where (c in idle)", "where true"]);
}

#[test]
fn queues() {
    expect(Operator::Queue, "on yield", &["t => t.core.late;"]);
    expect(Operator::Queue, "near(t, waker).late", &["near(t, waker).ready"]);
}

#[test]
fn extremes() {
    expect(Operator::MinMax, "llc(waker)", &["near(t, max(core c", "by min(c.nr_running, 1)"]);
    expect(Operator::MinMax, "select_core", &["min by src.nr_running"]);
}

#[test]
fn statements() {
    expect(Operator::Statement, "newly_idle", &["on newly_idle (core c) { {} }"]);
    expect(Operator::Statement, "on block", &["on block (thread t) { {} }"]);
}

#[test]
fn mutants_are_distinct() {
    let all = mutants(&subject(TINY));
    for (at, mutant) in all.iter().enumerate() {
        assert!(all[..at].iter().all(|other| other.change != mutant.change), "{mutant:?}");
    }
}

/// The compiler rejects some mutants, the model checker refutes others, and the rest survives.
#[test]
fn mutants_are_judged() {
    let subject = subject(TINY);
    let scenarios = standard_scenarios().into_iter().take(3).collect();
    let checker =
        ModelChecker::new(&subject.policy, scenarios, Settings::default(), 2000).expect("valid scenarios");
    let judged = |operator| {
        let mut some = mutants(&subject);
        some.retain(|mutant| mutant.operator == operator);
        judge_all(&subject, some, &[&checker], 1, &|| {})
    };
    let statements = judged(Operator::Statement);
    let of =
        |line: &str| &statements.iter().find(|one| one.mutant.before.contains(line)).expect("one").verdict;
    assert!(
        matches!(of("on block"), Verdict::Rejected { code: "E0502", .. }),
        "the handler makes no transition"
    );
    let twice = judge_all(&subject, mutants(&subject), &[&checker], 2, &|| {});
    assert_eq!(
        twice,
        judge_all(&subject, mutants(&subject), &[&checker], 1, &|| {}),
        "the number of jobs does not matter"
    );
    assert!(twice.iter().any(|one| matches!(one.verdict, Verdict::Refuted(_))));
    assert!(twice.iter().any(|one| one.verdict.survives()));
}

/// A change of an overridden handler is not a mutant.
#[test]
fn overridden_text_has_no_mutants() {
    let texts = |wanted: &str| {
        let text = match wanted {
            "tiny" => format!("policy tiny {{{FRAME}{TINY}}}"),
            _ => "policy small extends tiny { on newly_idle (core c) { pull(c, waiting); } }".to_owned(),
        };
        Some(Source { name: format!("{wanted}.ipa"), text })
    };
    let subject = Subject::new(compile(&texts, "small").expect("a valid policy").into());
    let replaced = mutants(&subject);
    let replaced = replaced.iter().filter(|m| !subject.is_own(m) && m.before.contains("on newly_idle"));
    let compiled: Vec<bool> = replaced.map(|mutant| subject.compile(mutant).is_none()).collect();
    assert_eq!(compiled, [true, true]);
}
