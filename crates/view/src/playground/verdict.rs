//! What the model checker says within a second or two. It refutes, or it finds nothing within its bound; it proves nothing.

use hearth_modelcheck::{Options, Outcome, Rounds, Scenario, WITHIN, check, standard_scenarios};
use hearth_policy::{Policy, Settings};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// States explored of each scenario for each question. A bound in time would make the answer depend on the machine.
pub const STATES: usize = 2_000;

#[derive(Serialize)]
pub struct Verdict {
    /// The bound: states of each scenario, and cores of the largest one.
    states: usize,
    cores: usize,
    questions: Vec<Answer>,
}

/// The answer to one question over all scenarios.
#[derive(Serialize)]
struct Answer {
    question: &'static str,
    /// What has to hold.
    what: String,
    /// The schedule of a violation, in the first scenario that has one.
    violation: Option<Violation>,
    scenarios: usize,
    /// Scenarios of which all states were explored.
    complete: usize,
    /// Scenarios with more states than the bound: undecided.
    cut: usize,
    /// Scenarios that are too short to refute it.
    vacuous: usize,
    /// Scenarios in which it is violated.
    violated: usize,
}

#[derive(Clone, Serialize)]
pub struct Violation {
    scenario: String,
    property: String,
    what: String,
    steps: usize,
    /// For people, line by line.
    schedule: String,
}

type Ask = fn(&mut Options);

/// One question each, because an exploration ends at its first violation. `WITHIN` in a text stands for the number.
const QUESTIONS: [(&str, &str, Ask); 4] = [
    (
        "safety, claims, invariants",
        "A thread is in one place, one placement at a time claims a core, and the policy's invariants hold.",
        |_| (),
    ),
    (
        "no livelock, bounded waiting",
        "Preemptions, timers and steals end; a ready thread runs within WITHIN ticks.",
        |options| {
            options.livelock = true;
            options.within = Some(WITHIN);
        },
    ),
    (
        "eventual conservation",
        "Once threads only run, a balance on each core leaves no core idle that a thread waits for.",
        |options| options.rounds = Some(Rounds { count: 1, overlap: false }),
    ),
    (
        "concurrent work conservation",
        "After an event, no core is idle while threads wait elsewhere, but for concurrent events.",
        |options| options.cwc = true,
    ),
];

/// `None`: it was told to stop.
pub fn verdict(policy: &Policy, params: &Settings, stop: &AtomicBool) -> Result<Option<Verdict>, String> {
    let scenarios = standard_scenarios();
    let mut questions = Vec::new();
    for (question, what, ask) in QUESTIONS {
        let mut options = Options { max_states: STATES, params: params.clone(), ..Options::default() };
        ask(&mut options);
        let mut answer = Answer::new(question, what.replace("WITHIN", &WITHIN.to_string()));
        for scenario in &scenarios {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let outcome = check(policy, scenario, &options).map_err(|error| error.to_string())?;
            answer.add(scenario, outcome);
        }
        questions.push(answer);
    }
    let cores = scenarios.iter().map(|scenario| scenario.topology.nr_cores()).max().unwrap_or(0);
    Ok(Some(Verdict { states: STATES, cores, questions }))
}

impl Verdict {
    /// The first violation.
    pub fn refutation(&self) -> Option<&Violation> {
        self.questions.iter().find_map(|answer| answer.violation.as_ref())
    }
}

impl Answer {
    fn new(question: &'static str, what: String) -> Answer {
        Answer { question, what, violation: None, scenarios: 0, complete: 0, cut: 0, vacuous: 0, violated: 0 }
    }

    fn add(&mut self, scenario: &Scenario, outcome: Outcome) {
        self.scenarios += 1;
        self.vacuous += usize::from(!outcome.vacuous.is_empty());
        match outcome.violation {
            Some(found) => {
                self.violated += 1;
                self.violation.get_or_insert_with(|| Violation {
                    scenario: scenario.name.clone(),
                    property: found.violation.property.to_string(),
                    what: found.violation.what.clone(),
                    steps: found.steps.len(),
                    schedule: found.to_string(),
                });
            }
            None if outcome.complete => self.complete += 1,
            None => self.cut += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Verdict {
        let policy = hearth_policy::load(name).unwrap();
        verdict(&policy, &Settings::default(), &AtomicBool::new(false)).unwrap().unwrap()
    }

    #[test]
    fn each_question_accounts_for_all_scenarios() {
        let found = of("ule-cwc");
        for answer in &found.questions {
            assert_eq!(answer.scenarios, standard_scenarios().len());
            assert_eq!(
                answer.complete + answer.cut + answer.violated,
                answer.scenarios,
                "{}",
                answer.question
            );
        }
        assert!(found.questions.iter().any(|answer| answer.cut > 0), "the bound cuts some scenarios");
        assert!(found.refutation().is_none());
    }

    #[test]
    fn a_violation_has_a_schedule() {
        let found = of("ule");
        let cwc = found.questions.last().unwrap();
        assert_eq!(cwc.question, "concurrent work conservation");
        let violation = cwc.violation.as_ref().unwrap();
        assert!(violation.schedule.contains("=> concurrent work conservation"), "{}", violation.schedule);
        assert!(violation.steps > 0 && cwc.violated > 1);
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let policy = hearth_policy::load("cfs").unwrap();
        assert!(verdict(&policy, &Settings::default(), &AtomicBool::new(true)).unwrap().is_none());
    }
}
