use crate::failure::{self, Failure};
use crate::output::{self, Document};
use crate::policy::PolicyArgs;
use crate::table::{Column, table};
use hearth_modelcheck::{Options, Outcome, Scenario, Stealing, check, standard_scenarios};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check a policy in every order of events on small machines
///
/// Explores all interleavings of wake-ups, forks, steals, claims and timers in each scenario. Finds lost
/// threads, broken claims and invariants, and cores that stay idle while threads wait. Prints a table of
/// scenarios, and the shortest schedule that leads to each violation. Exits with 1 if there is any.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Check this scenario (`hearth list scenarios`). Repeatable [default: all scenarios]
    #[arg(short, long, value_name = "NAME")]
    scenario: Vec<String>,

    /// Stop the exploration of a scenario after N states
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    max_states: usize,

    /// Check safety and the policy's invariants, but not concurrent work conservation
    #[arg(long)]
    no_cwc: bool,

    /// Steal without locks, as kernels do: the first core that changes a thread's state gets the thread
    #[arg(long)]
    lock_free: bool,

    /// Write the first schedule found (schema hearth.schedule/1), for `hearth sim --schedule`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print JSON (schema hearth.modelcheck/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    policy: &'a str,
    scenarios: &'a [Explored],
}

#[derive(Serialize)]
struct Explored {
    scenario: String,
    #[serde(flatten)]
    outcome: Outcome,
}

impl Explored {
    fn verdict(&self) -> String {
        match &self.outcome.violation {
            Some(found) => format!("{}, after {} steps", found.violation.property, found.steps.len()),
            None if self.outcome.complete => "holds".into(),
            None => "nothing found; not all states explored".into(),
        }
    }
}

impl Args {
    pub fn run(self) -> failure::Outcome {
        self.output.as_deref().map_or(Ok(()), output::check_writable)?;
        let (policy, params) = self.policy.load()?;
        let options =
            Options { max_states: self.max_states, cwc: !self.no_cwc, params, ..Options::default() };
        let mut all = Vec::new();
        for scenario in self.scenarios()? {
            let outcome = check(&policy, &scenario, &options).map_err(Failure::new)?;
            all.push(Explored { scenario: scenario.name, outcome });
        }
        self.write(&all)?;
        let content = Json { policy: policy.name(), scenarios: &all };
        output::print(self.json, &Document { schema: "hearth.modelcheck/1", content }, || text(&all))?;
        match all.iter().any(|explored| explored.outcome.violation.is_some()) {
            true => Err(Failure::quiet()),
            false => Ok(ExitCode::SUCCESS),
        }
    }

    fn write(&self, all: &[Explored]) -> Result<(), Failure> {
        let Some(path) = &self.output else { return Ok(()) };
        match all.iter().find_map(|explored| explored.outcome.violation.as_ref()) {
            Some(found) => output::file(path, found.to_json().as_bytes()),
            None => {
                eprintln!("note: there is no violation; {} is not written", path.display());
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
    let columns: [Column<&Explored>; 5] = [
        ("scenario", |e| e.scenario.clone()),
        ("states", |e| e.outcome.states.to_string()),
        ("steps", |e| e.outcome.transitions.to_string()),
        ("depth", |e| e.outcome.depth.to_string()),
        ("verdict", |e| e.verdict()),
    ];
    let mut text = table(1, &columns, all);
    for found in all.iter().filter_map(|explored| explored.outcome.violation.as_ref()) {
        text += &format!("\n{found}\n");
    }
    text
}
