use crate::arguments::examples;
use crate::failure::{self, Failure};
use crate::output::{self, Document};
use crate::policy::PolicyArgs;
use crate::progress;
use crate::table::{Column, table};
use hearth_modelcheck::{
    Options, Outcome, Property, Rounds, Scenario, Stealing, WITHIN, check, standard_scenarios,
};
use hearth_policy::{Policy, Settings};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check a policy in every order of events on small machines
///
/// Explores all interleavings of wake-ups, forks, steals, claims and timers in each scenario. Finds lost
/// threads, broken claims and invariants, cores that stay idle while threads wait, threads that wait too
/// long, and preemptions without end. Prints a table of scenarios, and the shortest schedule that leads to a
/// violation. If the policy extends another, violations that the base has too come last, in one line. Exits with 1 if
/// there is any.
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

    /// Print the schedule of each violation, not only the shortest one
    #[arg(long)]
    all: bool,

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
    /// The policy that it extends, if that was explored: where there are violations.
    base: Option<&'a str>,
    scenarios: &'a [Explored],
}

#[derive(Serialize)]
struct Explored {
    scenario: String,
    /// The base violates the same property on this scenario.
    of_base: bool,
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
        let base = self.policy.base(&policy, &params);
        let options = self.options(params);
        let scenarios = self.scenarios()?;
        let mut all = progress::during("exploring", scenarios.len(), |step| {
            let explore = |scenario: Scenario| {
                let outcome = check(&policy, &scenario, &options).map_err(Failure::new)?;
                step();
                Ok(Explored { scenario: scenario.name, of_base: false, outcome })
            };
            scenarios.into_iter().map(explore).collect::<Result<Vec<_>, Failure>>()
        })?;
        self.write(&all)?;
        let base = base.filter(|_| all.iter().any(|explored| explored.outcome.violation.is_some()));
        if let Some((base, params)) = &base {
            compare(base, &Options { params: params.clone(), ..options }, &mut all);
        }
        let base = base.as_ref().map(|(base, _)| base.name());
        let content = Json { policy: policy.name(), base, scenarios: &all };
        let shown = || text(&all, base, self.all);
        output::print(self.json, &Document { schema: "hearth.modelcheck/1", content }, shown)?;
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

/// Explores a base on the scenarios with violations.
fn compare(base: &Policy, options: &Options, all: &mut [Explored]) {
    let violated: Vec<&mut Explored> =
        all.iter_mut().filter(|explored| explored.outcome.violation.is_some()).collect();
    progress::during("exploring the base", violated.len(), |step| {
        for Explored { outcome, of_base, .. } in violated {
            let Some(found) = &outcome.violation else { continue };
            // A scenario may set attributes that the base does not have.
            let theirs = check(base, &found.scenario, options).ok().and_then(|outcome| outcome.violation);
            *of_base = theirs.is_some_and(|theirs| theirs.violation.property == found.violation.property);
            step();
        }
    });
}

/// The table, then schedules: the shortest one, or all. Violations of the base come last.
fn text(all: &[Explored], base: Option<&str>, each: bool) -> String {
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
    let mut found: Vec<&Explored> = all.iter().filter(|one| one.outcome.violation.is_some()).collect();
    if let Some(base) = base {
        text += &of_base(base, &found);
    }
    let steps = |one: &Explored| one.outcome.violation.as_ref().map_or(0, |found| found.steps.len());
    found.sort_by_key(|one| (one.of_base, if each { 0 } else { steps(one) }));
    let shown = if each { found.len() } else { 1 };
    for violation in found.iter().take(shown).filter_map(|one| one.outcome.violation.as_ref()) {
        text += &format!("\n{violation}\n");
    }
    let left = found.len().saturating_sub(shown);
    if left > 0 {
        text += &format!("\n--all shows the {} too.\n", output::count(left, "longer schedule"));
    }
    text
}

/// Which violations a change brings, and which its base has.
fn of_base(base: &str, found: &[&Explored]) -> String {
    let (theirs, new): (Vec<&Explored>, Vec<&Explored>) = found.iter().partition(|one| one.of_base);
    let named = |all: &[&Explored]| {
        let names: Vec<&str> = all.iter().map(|one| one.scenario.as_str()).collect();
        names.join(", ")
    };
    let mut text = match new.as_slice() {
        [] => format!("\nthe change of `{base}` brings no violation\n"),
        new => format!("\nthe change of `{base}` brings these: {}\n", named(new)),
    };
    if !theirs.is_empty() {
        text += &format!("the base `{base}` has these too: {}\n", named(&theirs));
    }
    text
}
