//! The small model check before a verdict: what it refutes is not called proved.

use crate::failure::Failure;
use crate::output::count;
use crate::progress;
use hearth_modelcheck::{
    Counterexample, Property as Refuted, Question, Standing, Survey, asked, check, standard_scenarios,
    standing, survey,
};
use hearth_policy::{Policy, Settings};
use hearth_prove::{Id, Judged, Property, Report, Theorems};
use serde::Serialize;

/// States explored of each scenario for each property, which takes seconds at most. A bound in time would make the verdict
/// depend on the machine.
const STATES: usize = 2_000;

/// What the proof says of a violation.
#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// These obligations exclude it, and are proved: a bug of hearth.
    Contradiction { proved: Vec<Id> },
    /// An obligation that excludes it is not proved.
    NotProved,
    /// No obligation excludes it.
    NotClaimed,
    /// It leaves an assumption of the theorem that is proved.
    Outside { assumption: String },
    /// The proved bound may be longer than that of the model checker.
    WithinBound,
}

#[derive(Serialize)]
pub struct Violation {
    scenario: String,
    property: Refuted,
    what: String,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The policy's base has it too.
    pub of_base: bool,
    #[serde(skip)]
    pub schedule: Counterexample,
}

/// The model check of a policy, compared with the proof.
#[derive(Default, Serialize)]
pub struct Check {
    states: usize,
    /// Explorations, and those that ended at the bound: unknown.
    explorations: usize,
    undecided: usize,
    /// The shortest first; those that the base has too come last.
    pub violations: Vec<Violation>,
}

/// The questions about these properties.
fn questions(properties: &[Property]) -> Vec<Question> {
    let mut questions: Vec<Question> = properties
        .iter()
        .flat_map(|property| match property {
            Property::Conservation => &[Question::Cwc][..],
            Property::Progress => &[Question::Livelock],
            Property::Invariants => &[Question::Safety],
            Property::Waiting => &[Question::Livelock, Question::Waiting, Question::Conservation],
        })
        .copied()
        .collect();
    questions.sort_unstable();
    questions.dedup();
    questions
}

/// The question that a violation answers.
fn question(property: Refuted) -> Question {
    match property {
        Refuted::Safety | Refuted::Claims | Refuted::Invariant => Question::Safety,
        Refuted::Cwc | Refuted::Collision => Question::Cwc,
        Refuted::Livelock => Question::Livelock,
        Refuted::Waiting => Question::Waiting,
        Refuted::Conservation => Question::Conservation,
    }
}

/// Explores small machines for violations of these properties.
pub fn explore(policy: &Policy, properties: &[Property]) -> Result<Survey, Failure> {
    let (scenarios, questions) = (standard_scenarios(), questions(properties));
    let params = Settings::default();
    progress::during("checking small machines", asked(&scenarios, &questions).len(), |step| {
        survey(policy, &params, &scenarios, &questions, STATES, step).map_err(Failure::new)
    })
}

impl Check {
    /// Compares what was explored with a report on these properties.
    pub fn new(
        policy: &Policy,
        base: Option<&Policy>,
        properties: &[Property],
        theorems: &Theorems,
        report: &Report,
        survey: &Survey,
    ) -> Result<Check, Failure> {
        let asked = questions(properties);
        let mut violations = Vec::new();
        for found in survey.violations() {
            let question = question(found.violation.property);
            if asked.contains(&question) {
                violations.push(Violation {
                    scenario: found.scenario.name.clone(),
                    property: found.violation.property,
                    what: found.violation.what.clone(),
                    verdict: Verdict::new(policy, theorems, report, found)?,
                    of_base: base.is_some_and(|base| has(base, question, found)),
                    schedule: found.clone(),
                });
            }
        }
        violations.sort_by_key(|one| one.of_base);
        Ok(Check {
            states: STATES,
            explorations: survey.0.len(),
            undecided: survey.undecided().count(),
            violations,
        })
    }

    /// The violation that shows a bug of hearth, and the obligations that exclude it.
    pub fn contradiction(&self) -> Option<(&Violation, &[Id])> {
        self.violations.iter().find_map(|one| match &one.verdict {
            Verdict::Contradiction { proved } => Some((one, proved.as_slice())),
            _ => None,
        })
    }

    /// The first violation of what is not proved, whatever the obligations say.
    pub fn refutation(&self) -> Option<&Violation> {
        let refutes = |one: &&Violation| !matches!(one.verdict, Verdict::WithinBound);
        self.contradiction().map(|(one, _)| one).or_else(|| self.violations.iter().find(refutes))
    }

    /// The extent of the check in a line, what is unknown after it, and violations that refute nothing.
    pub fn summary(&self) -> String {
        let Check { states, explorations, undecided, violations } = self;
        let violated = match violations.len() {
            0 => "no violation".into(),
            n => count(n, "violation"),
        };
        let unknown = match undecided {
            0 => String::new(),
            n => format!("; {n} ended at {states} states: unknown there"),
        };
        let mut text =
            format!("model check of small machines: {violated} in {explorations} explorations{unknown}\n");
        let within: Vec<&Violation> =
            violations.iter().filter(|one| matches!(one.verdict, Verdict::WithinBound)).collect();
        if let Some(first) = within.first() {
            text += &format!(
                "{} of them within the proved bound, as on {}: {}\n",
                within.len(),
                first.scenario,
                first.what
            );
        }
        text
    }
}

impl Verdict {
    fn new(
        policy: &Policy,
        theorems: &Theorems,
        report: &Report,
        found: &Counterexample,
    ) -> Result<Verdict, Failure> {
        let claims = match report.judge(policy.ir(), &theorems.obligations, &found.violation) {
            Judged::NotProved => return Ok(Verdict::NotProved),
            Judged::NotClaimed => return Ok(Verdict::NotClaimed),
            Judged::Contradicted(claims) => claims,
        };
        Ok(match standing(policy, found).map_err(Failure::new)? {
            Standing::Contradicts(_) => Verdict::Contradiction {
                proved: claims.iter().map(|one| one.obligation.id.clone()).collect(),
            },
            Standing::Outside(assumption) => Verdict::Outside { assumption },
            Standing::Within => Verdict::WithinBound,
        })
    }
}

/// Whether another policy violates the same property on the same scenario.
pub fn has(other: &Policy, question: Question, found: &Counterexample) -> bool {
    let options = question.options(STATES, &Settings::default());
    let explored = check(other, &found.scenario, &options).ok().and_then(|outcome| outcome.violation);
    explored.is_some_and(|theirs| theirs.violation.property == found.violation.property)
}

impl Violation {
    /// What it is, where, and why the proof does not exclude it.
    pub fn explain(&self, base: Option<&Policy>) -> String {
        let Violation { scenario, property, .. } = self;
        let standing = match &self.verdict {
            Verdict::Contradiction { proved } => {
                format!("{} is proved, and refuted on {scenario}:", names(proved))
            }
            Verdict::NotProved => format!("refuted on {scenario}:"),
            Verdict::NotClaimed => format!("no obligation is about this, which is refuted on {scenario}:"),
            Verdict::Outside { assumption } => {
                format!(
                    "{property} is proved under an assumption. Without it, it is refuted on {scenario}: {assumption}:"
                )
            }
            Verdict::WithinBound => format!("within the proved bound, on {scenario}:"),
        };
        let of_base = match base.filter(|_| self.of_base) {
            Some(base) => format!("the base `{}` has this violation too\n", base.name()),
            None => String::new(),
        };
        format!("{standing}\n{}\n{of_base}", self.schedule)
    }
}

/// Obligations in a sentence.
pub fn names(ids: &[Id]) -> String {
    let quoted: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_prove::{Proved, invariants, theorems};

    /// The check of a policy of which everything is called proved but what is about `open`.
    fn checked(policy: &Policy, base: Option<&Policy>, property: Property, open: &str) -> (Check, bool) {
        let theorems = theorems(policy.ir(), &invariants(policy.ir()));
        let obligations = theorems.obligations.iter().map(|obligation| {
            let verdict = match obligation.id.about == open {
                true => hearth_prove::Verdict::NotProved { parts: Vec::new() },
                false => hearth_prove::Verdict::Holds { prover: "z3".into() },
            };
            Proved { obligation: obligation.clone(), verdict, seconds: 0.0 }
        });
        let report = Report { policy: policy.name().into(), obligations: obligations.collect() };
        let survey = explore(policy, &[property]).unwrap();
        let check = Check::new(policy, base, &[property], &theorems, &report, &survey).unwrap();
        let refuted = check.refutation().is_some();
        (check, refuted)
    }

    fn changed(text: &str) -> Policy {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changed.ipa");
        std::fs::write(&path, format!("policy changed extends cfs-cwc-flat {{ {text} }}")).unwrap();
        hearth_policy::load(path.to_str().unwrap()).unwrap()
    }

    #[test]
    fn what_is_proved_and_refuted_is_a_bug() {
        let ule = hearth_policy::load("ule").unwrap();
        let (check, refuted) = checked(&ule, None, Property::Conservation, "");
        let (found, proved) = check.contradiction().unwrap();
        assert!(refuted && proved.iter().any(|id| id.about == "terminate"), "{proved:?}");
        let message = super::super::bug(&ule, found, proved);
        for part in ["hearth has a bug", "`ule`", "terminate", "exit-2", "core 1 is idle"] {
            assert!(message.message().contains(part), "{part}: {}", message.message());
        }
        assert!(found.explain(None).contains("=> concurrent work conservation"));
        // The same violation of what is not proved is none.
        let (check, refuted) = checked(&ule, None, Property::Conservation, "newly_idle");
        assert!(refuted && check.contradiction().is_none());
        let (check, refuted) = checked(&ule, None, Property::Progress, "");
        assert!(!refuted && check.summary().contains("unknown there"), "{}", check.summary());
    }

    #[test]
    fn a_thread_that_starves_beside_new_ones_is_not_called_proved() {
        let swaps = changed(
            "on enqueue (thread t, core c) {
                if (core h = t.home) if (h == c) return;
                t.home = c;
                t.vruntime = c.min_vruntime - 1s;
                if (thread f = first(thread f in c.ready)) t.vruntime = f.vruntime - 1ms;
            }
            on preempt (thread t) {
                charge(t);
                t => (first(core x in t.affinity from t.core where x != t.core) else t.core).ready;
            }",
        );
        let (check, refuted) = checked(&swaps, None, Property::Waiting, "");
        assert!(refuted && check.contradiction().is_none());
        let found = check.refutation().unwrap();
        assert!(
            matches!(&found.verdict, Verdict::Outside { assumption } if assumption.contains("new to core"))
        );
    }

    #[test]
    fn violations_of_the_base_come_last() {
        let base = changed("on newly_idle (core c) { }");
        let worse = changed("on newly_idle (core c) { } on balance (core c) { }");
        let (check, _) = checked(&worse, Some(&base), Property::Waiting, "");
        let of_base: Vec<bool> = check.violations.iter().map(|one| one.of_base).collect();
        assert!(!of_base[0] && of_base.is_sorted(), "{of_base:?}");
        let (check, _) = checked(&base, Some(&base), Property::Conservation, "");
        assert!(check.violations.iter().all(|one| one.of_base));
    }
}
