use crate::arguments::examples;
use crate::failure::{self, Failure};
use crate::output::{self, Document};
use crate::policy::PolicyArgs;
use crate::progress;
use crate::table::{Column, table};
use hearth_modelcheck::{
    Options, Outcome, Property, Rounds, Scenario, Stealing, WITHIN, check, standard_scenarios,
};
use hearth_policy::Settings;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check a policy in every order of events on small machines
///
/// Explores all interleavings of wake-ups, forks, steals, claims and timers in each scenario. Finds lost
/// threads, broken claims and invariants, cores that stay idle while threads wait, threads that wait too
/// long, and preemptions without end. Prints a table of scenarios, and a schedule that leads to each
/// violation. Exits with 1 if there is any.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth modelcheck ule -s thieves-3 -o ule.json",
    "hearth modelcheck ./mine.ipa --property waiting",
]))]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Check this scenario: the name of a built-in one (`hearth list scenarios`), or the path of a TOML
    /// file. Repeatable [default: all built-in scenarios]
    #[arg(short, long, value_name = "NAME|FILE.toml")]
    scenario: Vec<String>,

    /// Stop the exploration of a scenario after N states
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    max_states: usize,

    /// Check this property besides safety, claims and the policy's invariants. Repeatable [default: all]
    #[arg(long = "property", value_name = "PROPERTY")]
    properties: Vec<Timely>,

    /// Check all properties but concurrent work conservation
    #[arg(long, conflicts_with = "properties")]
    no_cwc: bool,

    /// Bounded waiting: a ready thread runs within this many ticks. The default is a round of turns of ULE
    /// (80 ms), and a tick more for each of up to four threads
    #[arg(long, value_name = "TICKS", default_value_t = WITHIN, value_parser = clap::value_parser!(u8).range(1..255))]
    within: u8,

    /// Eventual conservation: number of times that each core balances until no core is idle beside an overloaded one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..255))]
    rounds: u8,

    /// Eventual conservation: the cores balance at the same time instead of in turn
    #[arg(long)]
    overlap: bool,

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

/// The properties that can be selected.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Timely {
    /// Concurrent work conservation
    Cwc,
    /// Preemptions, timers and steals end
    Livelock,
    /// A ready thread runs within a number of ticks
    Waiting,
    /// Once threads stop to come and go, balancing leaves no core idle beside an overloaded one
    Conservation,
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
            None => match &self.outcome.undecided {
                Some(why) => format!("undecided: {why}"),
                None => "holds".into(),
            },
        }
    }
}

impl Args {
    pub fn run(self) -> failure::Outcome {
        self.output.as_deref().map_or(Ok(()), output::check_writable)?;
        let (policy, params) = self.policy.load()?;
        let options = self.options(params);
        let scenarios = self.scenarios()?;
        let all = progress::during("exploring", scenarios.len(), |step| {
            let explore = |scenario: Scenario| {
                let outcome = check(&policy, &scenario, &options).map_err(Failure::new)?;
                step();
                Ok(Explored { scenario: scenario.name, outcome })
            };
            scenarios.into_iter().map(explore).collect::<Result<Vec<_>, Failure>>()
        })?;
        self.write(&all)?;
        let content = Json { policy: policy.name(), scenarios: &all };
        output::print(self.json, &Document { schema: "hearth.modelcheck/1", content }, || text(&all))?;
        match all.iter().any(|explored| explored.outcome.violation.is_some()) {
            true => Err(Failure::quiet()),
            false => Ok(ExitCode::SUCCESS),
        }
    }

    fn options(&self, params: Settings) -> Options {
        let checks = |property| match self.properties.as_slice() {
            [] => !(self.no_cwc && property == Timely::Cwc),
            selected => selected.contains(&property),
        };
        let rounds = Rounds { count: self.rounds, overlap: self.overlap };
        Options {
            max_states: self.max_states,
            cwc: checks(Timely::Cwc),
            livelock: checks(Timely::Livelock),
            within: checks(Timely::Waiting).then_some(self.within),
            rounds: checks(Timely::Conservation).then_some(rounds),
            params,
            ..Options::default()
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
            names => names.iter().map(|name| scenario(name)).collect::<Result<_, _>>()?,
        };
        if self.lock_free {
            scenarios.iter_mut().for_each(|scenario| scenario.stealing = Stealing::CompareAndSwap);
        }
        Ok(scenarios)
    }
}

/// A built-in scenario, or one in a file.
fn scenario(name_or_path: &str) -> Result<Scenario, Failure> {
    if !(name_or_path.ends_with(".toml") || name_or_path.contains('/')) {
        return Scenario::named(name_or_path).map_err(Failure::usage);
    }
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format_args!("{name_or_path}: {error}"))
            .help(format_args!("a scenario looks like this:\n{}", Scenario::EXAMPLE))
    };
    let text = std::fs::read_to_string(name_or_path).map_err(|error| failed(&error))?;
    let name = Path::new(name_or_path).file_stem().map_or(name_or_path.into(), |stem| stem.to_string_lossy());
    Scenario::from_toml(&name, &text).map_err(|error| failed(&error))
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
    if all.iter().any(|explored| explored.outcome.vacuous.contains(&Property::Waiting)) {
        text += "\nBounded waiting is not checked in scenarios with fewer ticks than its bound.\n";
    }
    for found in all.iter().filter_map(|explored| explored.outcome.violation.as_ref()) {
        text += &format!("\n{found}\n");
    }
    text
}
