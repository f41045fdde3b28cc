use crate::arguments::{Jobs, examples};
use crate::failure::{Failure, Outcome};
use crate::here::Here;
use crate::live;
use crate::output::{self, Document};
use crate::progress;
use crate::provenance::quoted;
use crate::recording::{self, RecorderOptions};
use crate::table::{Column, number, percent, table};
use crate::verbs::extract::{extract, record_and_extract};
use hearth_features::{Claim, Model, NAMES, Product, Stored, Verdict};
use hearth_machine::{Governor, Machine};
use hearth_policy::Settings;
use hearth_sim::World;
use hearth_study::tune::{
    BASELINE, Compared, Experience, Goal, Method, Plan, Recommendation, Report, others, tune,
};
use hearth_workload::Workload;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Find the best scheduler for a command in the feature model
///
/// Takes a trace, a workload, or a command, which is recorded first. Simulates some of the products on a machine, by
/// default this one, and begins with those that were best for similar programs. The best ones, the best built-in policies, and
/// the scheduler of today's Linux are then simulated with fresh seeds. Says which one is faster, by how much, and what is
/// proved of it.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "sudo hearth tune -- make -j8",
    "hearth tune -w configure-php-16 -m xeon-5218 --goal energy --proved conserves",
]))]
pub struct Args {
    /// A recorded trace
    #[arg(conflicts_with_all = ["command", "workload"], required_unless_present_any = ["command", "workload"])]
    trace: Option<PathBuf>,

    /// The command to record, and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "workload")]
    command: Vec<String>,

    /// A workload, as for `hearth sim`
    #[arg(short, long, value_name = "SPEC|FILE", help_heading = WHAT)]
    workload: Option<String>,

    /// The machine, as for `hearth sim` [default: this machine]
    #[arg(short, long, value_name = "NAME|FILE", help_heading = WHAT)]
    machine: Option<String>,

    /// The frequency governor: schedutil, performance or powersave
    #[arg(short, long, value_name = "GOVERNOR", default_value = "schedutil", help_heading = WHAT)]
    governor: Governor,

    /// What to reduce: time, energy of the machine, or latency (mean time from wake-up to run)
    #[arg(long, value_enum, default_value_t = GoalArg::Time, help_heading = WHAT)]
    goal: GoalArg,

    /// The feature model whose products compete
    #[arg(long, value_name = "MODEL", default_value = NAMES[0], value_parser = NAMES, help_heading = SEARCH)]
    model: String,

    /// Only products of which this claim is proved: conserves, recovers, waits, progresses or safe. Repeatable
    #[arg(long = "proved", value_name = "CLAIM", value_parser = claim, help_heading = SEARCH)]
    proved: Vec<Claim>,

    /// Number of runs of the search
    #[arg(long, value_name = "RUNS", default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..), help_heading = SEARCH)]
    budget: u16,

    /// Number of runs of each finalist, with seeds that the search did not have
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=1000), help_heading = SEARCH)]
    runs: u64,

    /// The method of the search: transfer-profile or random
    #[arg(long, value_name = "METHOD", default_value_t = Method::TransferProfile, help_heading = SEARCH)]
    search: Method,

    /// Experience from `hearth study learn` [default: the suite's programs]
    #[arg(long, value_name = "FILE", help_heading = SEARCH)]
    experience: Option<PathBuf>,

    /// Seed of the search and of the simulations. The same seed gives the same result
    #[arg(long, default_value_t = 1, help_heading = SEARCH)]
    seed: u64,

    /// The world around the workload, as for `hearth predict`
    #[arg(long, value_name = "PARTS", default_value_t = World { sched_ext: true, ..World::default() }, help_heading = SEARCH)]
    world: World,

    #[command(flatten, next_help_heading = SEARCH)]
    jobs: Jobs,

    /// Run COMMAND this many times under the kernel's scheduler and under the winner, in turn, before recommending it. Needs root
    /// and a kernel with sched_ext
    #[arg(long, value_name = "RUNS", requires = "command", value_parser = clap::value_parser!(u16).range(2..), help_heading = "Live")]
    live: Option<u16>,

    #[command(flatten, next_help_heading = "Recording")]
    recorder: RecorderOptions,

    /// Print JSON (schema hearth.tune/1) instead of text
    #[arg(long)]
    json: bool,
}

const WHAT: &str = "What to tune";
const SEARCH: &str = "Search";

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum GoalArg {
    Time,
    Energy,
    Latency,
}

impl From<GoalArg> for Goal {
    fn from(goal: GoalArg) -> Goal {
        match goal {
            GoalArg::Time => Goal::Time,
            GoalArg::Energy => Goal::Energy,
            GoalArg::Latency => Goal::Latency,
        }
    }
}

fn claim(text: &str) -> Result<Claim, String> {
    match text {
        "conserves" => Ok(Claim::Conserves),
        "recovers" => Ok(Claim::Recovers),
        "waits" => Ok(Claim::Waits),
        "progresses" => Ok(Claim::Progresses),
        "safe" => Ok(Claim::Safe),
        _ => Err("expected conserves, recovers, waits, progresses or safe".into()),
    }
}

#[derive(Serialize)]
struct Content {
    #[serde(flatten)]
    report: Report,
    live: Option<live::Comparison>,
}

impl Args {
    pub fn run(self) -> Outcome {
        if self.live.is_some() && self.goal != GoalArg::Time {
            return Err(Failure::usage("--live measures time only").help("remove --live, or use --goal time"));
        }
        let model = Model::named(&self.model)?;
        let machine = self.machine()?;
        let experience = self.experience(&model)?;
        let stored = Stored::load();
        let allowed = |product: &Product| {
            let proved = |claim: &Claim| stored.verdict(&model, product, *claim) == Some(Verdict::Proved);
            self.proved.iter().all(proved)
        };
        if !model.products().iter().any(allowed) {
            return Err(Failure::usage(format_args!(
                "no product of model {} has these proofs",
                model.name()
            ))
            .help("`hearth features list` shows what is proved"));
        }
        if matches!(self.goal, GoalArg::Energy) && machine.power.is_none() {
            return Err(Failure::new(format!(
                "the power of {} is unknown, so its energy cannot be reduced",
                machine.name
            ))
            .help("choose --goal time or --goal latency, or a machine file with [power]"));
        }
        let (workload, notes) = self.workload()?;
        for note in notes {
            eprintln!("note: {note}");
        }
        let plan = Plan {
            workload: &workload,
            machine: &machine,
            governor: self.governor,
            world: self.world,
            goal: self.goal.into(),
            model: &model,
            allowed: &allowed,
            experience: experience.as_ref(),
            method: self.search,
            baseline: BASELINE,
            others: &others(&self.proved),
            budget: self.budget.into(),
            runs: self.runs,
            seed: self.seed,
        };
        let found = progress::during("simulating", plan.simulations(), |step| {
            self.jobs.install(|| tune(&plan, step))
        })?;
        let mut report = Report::new(&plan, &found, &stored);
        let live = match (self.live, &report.recommended) {
            (Some(runs), Some(winner)) => Some(self.compare_live(winner, runs)?),
            _ => None,
        };
        report.recommended.take_if(|_| live.as_ref().is_some_and(|live| !live.is_faster()));
        let content = Content { report, live };
        output::print(self.json, &Document { schema: "hearth.tune/1", content: &content }, || {
            self.text(&content, &found)
        })?;
        Ok(ExitCode::SUCCESS)
    }

    fn compare_live(&self, winner: &str, runs: u16) -> Result<live::Comparison, Failure> {
        let policy = hearth_policy::load(winner)?;
        let params = &Settings::default();
        let plan = live::Plan { policy: &policy, params, command: &self.command, prepare: None, runs };
        live::compare(winner, &plan)
    }

    fn machine(&self) -> Result<Machine, Failure> {
        if let Some(machine) = &self.machine {
            return Ok(Machine::load(machine)?);
        }
        let here = Here::detect()?;
        eprintln!("note: {}", here.about);
        Ok(here.machine)
    }

    fn experience(&self, model: &Model) -> Result<Option<Experience>, Failure> {
        let Some(path) = &self.experience else { return Ok(Experience::built_in(model.name())) };
        let loaded = Experience::load(path)?;
        if loaded.model != model.name() {
            return Err(Failure::usage(format_args!(
                "{} is about model {}, but {} is searched",
                path.display(),
                loaded.model,
                model.name()
            )));
        }
        Ok(Some(loaded))
    }

    fn workload(&self) -> Result<(Workload, Vec<String>), Failure> {
        if let Some(spec) = &self.workload {
            let resolved = Workload::resolve_with_notes(spec)?;
            return Ok((resolved.workload, resolved.notes));
        }
        let extraction = match &self.trace {
            Some(path) => extract(path)?,
            None => {
                let (extraction, status) = record_and_extract(&self.command, &self.recorder)?;
                if let Some(status) = status.filter(|status| !status.success()) {
                    return Err(Failure::new("a command that fails is not tuned")
                        .status(recording::passed_on(status)));
                }
                extraction
            }
        };
        Ok((extraction.workload, extraction.report.warnings()))
    }

    fn text(&self, content: &Content, found: &Recommendation) -> String {
        let mut text = String::new();
        let report = &content.report;
        if !report.similar.is_empty() {
            let named = report
                .similar
                .iter()
                .map(|one| format!("{} on {} ({:.0}%)", one.workload, one.machine, one.share * 100.0));
            text += &format!("Most similar programs: {}\n", named.collect::<Vec<_>>().join(", "));
        }
        text += &format!(
            "Searched {} products of model {} with {} runs on {} under {}\n\n",
            report.products, report.model, report.search_runs, report.machine, report.governor
        );
        let columns: [Column<&Compared>; 7] = [
            ("policy", |one| one.policy.clone()),
            ("time s", |one| number(one.time_s)),
            ("speed-up", |one| interval(one.speedup, one.speedup_ci95)),
            ("energy J", |one| number(one.energy_j)),
            ("saving", |one| interval(one.energy_saving, one.energy_saving_ci95)),
            ("wake-up µs", |one| number(one.wakeup_mean_us)),
            ("conserves work", |one| one.verdicts.first().map_or("", |said| said.verdict).into()),
        ];
        text += &table(1, &columns, std::iter::once(&report.baseline).chain(&report.finalists));
        text += &format!("\nMeans of {} runs; ± is half of the 95% confidence interval.\n", self.runs);
        if let Some(live) = &content.live {
            text += &format!("{live}\n");
        }
        text + "\n" + &self.advice(report, found)
    }

    /// What to do.
    fn advice(&self, report: &Report, found: &Recommendation) -> String {
        let Some(winner) = found.winner(report.goal) else {
            return format!(
                "No policy is surely and noticeably (1%) better than {BASELINE}. Keep the kernel's scheduler.\n"
            );
        };
        let name = &winner.policy;
        if report.recommended.is_none() {
            return format!(
                "{name} is better in the simulation, but the runs on this machine do not show it. Keep the kernel's scheduler.\n"
            );
        }
        let claims = match report.claims(name) {
            none if none.is_empty() => format!("`hearth prove {name}` tells what is proved of it.\n"),
            claims => claims,
        };
        let command =
            if self.command.is_empty() { "COMMAND".to_owned() } else { quoted(self.command.iter().cloned()) };
        format!(
            "{name} is {}.\n{claims}Try it: sudo hearth try {name} -- {command}\n\
             Write it to a file, to read and change it: hearth new mine --from {name}\n",
            winner.difference(report.goal, BASELINE)
        )
    }
}

fn interval(value: f64, ci95: Option<[f64; 2]>) -> String {
    match ci95 {
        Some([low, high]) => format!("{} ±{:.1}", percent(value), (high - low) * 50.0),
        None => percent(value),
    }
}
