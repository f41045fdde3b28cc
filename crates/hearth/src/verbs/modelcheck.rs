use crate::failure::{Failure, Outcome};
use crate::output;
use crate::policy::PolicyArgs;
use crate::table::Plain;
use hearth_modelcheck::{Counterexample, Options, Scenario, Stealing, check, standard_scenarios};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Try every order of events of a small machine: is a thread lost, a claim broken, a core left idle while threads wait?
///
/// All interleavings of wake-ups, forks, steals, claims and timers of a scenario, over the same compiled policy that is
/// simulated and run. What is wrong is shown as the shortest schedule that leads to it. Exits with 1 if anything is.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// A scenario (`hearth list scenarios`). Repeatable; without it, all of them
    #[arg(short, long, value_name = "NAME")]
    scenario: Vec<String>,

    /// Stop exploring a scenario behind so many states
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    max_states: usize,

    /// Look at safety and at what the policy declares only, not at work conservation
    #[arg(long)]
    no_cwc: bool,

    /// Steal as kernels do, without locks: who changes a thread's state first has it
    #[arg(long)]
    lock_free: bool,

    /// Write the first schedule that is found (schema hearth.schedule/1): `hearth sim --schedule` replays it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print JSON (schema hearth.modelcheck/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    policy: &'a str,
    scenarios: &'a [Explored],
}

#[derive(Serialize)]
struct Explored {
    scenario: String,
    states: usize,
    transitions: usize,
    depth: usize,
    /// All states were reached.
    complete: bool,
    violation: Option<Counterexample>,
}

impl Explored {
    fn verdict(&self) -> String {
        match &self.violation {
            Some(found) => format!("{}, after {} steps", found.violation.property, found.steps.len()),
            None if self.complete => "holds".into(),
            None => "nothing found; there is more".into(),
        }
    }
}

impl Args {
    pub fn run(self) -> Outcome {
        self.output.as_deref().map_or(Ok(()), output::check_writable)?;
        let (policy, params) = self.policy.load()?;
        let options =
            Options { max_states: self.max_states, cwc: !self.no_cwc, params, ..Options::default() };
        let mut all = Vec::new();
        for scenario in self.scenarios()? {
            let found = check(&policy, &scenario, &options).map_err(Failure::new)?;
            all.push(Explored {
                scenario: scenario.name,
                states: found.states,
                transitions: found.transitions,
                depth: found.depth,
                complete: found.complete,
                violation: found.violation,
            });
        }
        self.keep(&all)?;
        if self.json {
            output::json(&Json { schema: "hearth.modelcheck/1", policy: policy.name(), scenarios: &all })?;
        } else {
            output::text(&text(&all))?;
        }
        match all.iter().any(|explored| explored.violation.is_some()) {
            true => Err(Failure::quiet()),
            false => Ok(ExitCode::SUCCESS),
        }
    }

    fn keep(&self, all: &[Explored]) -> Result<(), Failure> {
        let Some(path) = &self.output else { return Ok(()) };
        match all.iter().find_map(|explored| explored.violation.as_ref()) {
            Some(found) => output::file(path, found.to_json().as_bytes()),
            None => {
                eprintln!("note: nothing is wrong, so {} is not written", path.display());
                Ok(())
            }
        }
    }

    fn scenarios(&self) -> Result<Vec<Scenario>, Failure> {
        let mut scenarios = match self.scenario.as_slice() {
            [] => standard_scenarios(),
            names => names
                .iter()
                .map(|name| Scenario::named(name).map_err(Failure::usage))
                .collect::<Result<_, _>>()?,
        };
        if self.lock_free {
            scenarios.iter_mut().for_each(|scenario| scenario.stealing = Stealing::CompareAndSwap);
        }
        Ok(scenarios)
    }
}

/// The table, and the schedule of each violation.
fn text(all: &[Explored]) -> String {
    let mut table = Plain::new(1);
    table.head(&["scenario", "states", "steps", "depth", "verdict"]);
    for e in all {
        let numbers = [e.states, e.transitions, e.depth].map(|n| n.to_string());
        let [states, transitions, depth] = numbers;
        table.row(&[&e.scenario, &states, &transitions, &depth, &e.verdict()]);
    }
    let mut text = table.render();
    for found in all.iter().filter_map(|explored| explored.violation.as_ref()) {
        text += &format!("\n{found}\n");
    }
    text
}
