//! The small model check: some states of each scenario, for each property.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hearth_policy::{Policy, Settings};

use crate::counterexample::Counterexample;
use crate::progress::{Rounds, WITHIN};
use crate::property::Property;
use crate::scenario::Scenario;
use crate::search::{CheckError, Options, Outcome, check, walk};

/// A property that one exploration checks: an exploration ends at its first violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Safety, claims and invariants, which every exploration checks.
    Safety,
    /// Concurrent work conservation.
    Cwc,
    Livelock,
    /// Bounded waiting, within [`WITHIN`] ticks.
    Waiting,
    /// Eventual conservation, after one round.
    Conservation,
}

impl Question {
    pub const ALL: [Question; 5] =
        [Question::Safety, Question::Cwc, Question::Livelock, Question::Waiting, Question::Conservation];

    pub fn name(self) -> &'static str {
        match self {
            Question::Safety => "safety",
            Question::Cwc => "cwc",
            Question::Livelock => "livelock",
            Question::Waiting => "waiting",
            Question::Conservation => "conservation",
        }
    }

    pub fn options(self, max_states: usize, params: &Settings) -> Options {
        Options {
            max_states,
            cwc: self == Question::Cwc,
            livelock: self == Question::Livelock,
            within: (self == Question::Waiting).then_some(WITHIN),
            rounds: (self == Question::Conservation).then_some(Rounds { count: 1, overlap: false }),
            params: params.clone(),
            ..Options::default()
        }
    }

    /// Whether a scenario can refute it.
    fn fits(self, scenario: &Scenario) -> bool {
        self != Question::Waiting || scenario.ticks > WITHIN
    }
}

/// What the model checker says of one property on one scenario.
#[derive(Debug)]
pub struct Answer {
    pub question: Question,
    pub scenario: String,
    pub outcome: Outcome,
}

/// What it says of all.
#[derive(Debug)]
pub struct Survey(pub Vec<Answer>);

impl Survey {
    /// The violations, one for each property and scenario, the shortest schedules first.
    pub fn violations(&self) -> Vec<&Counterexample> {
        let mut found: Vec<&Counterexample> = Vec::new();
        for violation in self.0.iter().filter_map(|answer| answer.outcome.violation.as_ref()) {
            let key = |one: &Counterexample| (one.violation.property, one.scenario.name.clone());
            if !found.iter().any(|known| key(known) == key(violation)) {
                found.push(violation);
            }
        }
        found.sort_by_key(|violation| violation.steps.len());
        found
    }

    /// The violations of one property.
    pub fn of(&self, property: Property) -> Vec<&Counterexample> {
        self.violations().into_iter().filter(|found| found.violation.property == property).collect()
    }

    /// Explorations that ended at a bound without a violation: they say nothing of what was not explored.
    pub fn undecided(&self) -> impl Iterator<Item = &Answer> {
        self.0.iter().filter(|answer| answer.outcome.undecided.is_some())
    }
}

/// Explores up to `max_states` states of each scenario for each question. Calls `done` after each exploration, from several
/// threads. A bound in time would make the answer depend on the machine.
///
/// # Errors
/// If a scenario or a parameter does not fit the policy.
pub fn survey(
    policy: &Policy,
    params: &Settings,
    scenarios: &[Scenario],
    questions: &[Question],
    max_states: usize,
    done: &(dyn Fn() + Sync),
) -> Result<Survey, CheckError> {
    let asked = asked(scenarios, questions);
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((question, scenario)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = ask(policy, *question, scenario, &question.options(max_states, params));
            let answer = outcome.map(|outcome| Answer {
                question: *question,
                scenario: scenario.name.clone(),
                outcome,
            });
            answers.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(answer);
            done();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let answers = answers.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut answers = answers.into_iter().collect::<Result<Vec<Answer>, CheckError>>()?;
    let place = |name: &str| scenarios.iter().position(|scenario| scenario.name == name);
    answers.sort_by_key(|answer| (answer.question, place(&answer.scenario)));
    Ok(Survey(answers))
}

/// Explores, and where that ends at its bound before a thread can have waited too long, follows one schedule to its end.
fn ask(
    policy: &Policy,
    question: Question,
    scenario: &Scenario,
    options: &Options,
) -> Result<Outcome, CheckError> {
    let outcome = check(policy, scenario, options)?;
    if question != Question::Waiting || outcome.undecided.is_none() {
        return Ok(outcome);
    }
    Ok(match walk(policy, scenario, options)? {
        Some(found) => Outcome { undecided: None, violation: Some(found), ..outcome },
        None => outcome,
    })
}

/// The explorations of a survey.
pub fn asked<'s>(scenarios: &'s [Scenario], questions: &[Question]) -> Vec<(Question, &'s Scenario)> {
    let all = |question: &Question| {
        let question = *question;
        scenarios.iter().filter(move |scenario| question.fits(scenario)).map(move |one| (question, one))
    };
    questions.iter().flat_map(all).collect()
}
