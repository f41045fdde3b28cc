//! Writes the tables of `lab/results/modelcheck.md`, with all cores.
//!
//! With the name of a table and of scenarios (default: all) it prints that table. `--check` writes nothing: it recomputes
//! the cells with few states, and fails if one differs.
//!
//! `cargo run --release -p hearth-lab --bin lab-modelcheck`
//! `cargo run --release -p hearth-lab --bin lab-modelcheck -- cwc wake-2 exit-2`

mod check;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use hearth_modelcheck::{
    Options, Outcome, Property, Rounds, Scenario, Stealing, WITHIN, check, standard_scenarios,
};
use hearth_policy::Policy;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results/modelcheck.md");
const BEGIN: &str = "<!-- made by cargo run --release -p hearth-lab --bin lab-modelcheck -->\n";
const END: &str = "<!-- end -->\n";

const CONSERVING: &[&str] = &["cfs-cwc", "cfs-cwc-flat", "ule-cwc"];
const ALL: &[&str] =
    &["cfs-cwc", "cfs-cwc-flat", "ule-cwc", "ule", "cfs", "cfs-5-4", "slocal", "smove", "nest", "eevdf"];

struct Table {
    name: &'static str,
    /// The heading in the page, and what is said below it.
    heading: &'static str,
    about: &'static str,
    policies: &'static [&'static str],
    stealing: Stealing,
    options: Options,
    /// Only the scenarios in which a policy is refuted.
    refuted_only: bool,
}

fn tables() -> Vec<Table> {
    let plain = Options { max_states: 500_000, ..Options::default() };
    let cwc = Options { cwc: true, ..plain.clone() };
    let time = |max_states, overlap| Options {
        max_states,
        livelock: true,
        within: Some(WITHIN),
        rounds: Some(Rounds { count: 1, overlap }),
        ..Options::default()
    };
    let table = |name, heading, about, options| Table {
        name,
        heading,
        about,
        options,
        policies: ALL,
        stealing: Stealing::Locked,
        refuted_only: false,
    };
    vec![
        table("cwc", "Concurrent work conservation, with safety and claims", "", cwc.clone()),
        Table {
            policies: CONSERVING,
            stealing: Stealing::CompareAndSwap,
            ..table("lock-free", "Lock-free steals, the work-conserving policies", "", cwc)
        },
        table("safety", "Safety and claims alone", "", plain),
        table(
            "time",
            "Livelock, bounded waiting (24 ticks) and eventual conservation (one round), with safety and claims",
            "Only `turns-1`, `yields-1` and `turns-2` have enough ticks to refute bounded waiting.",
            time(500_000, false),
        ),
        Table {
            refuted_only: true,
            ..table(
                "overlap",
                "Eventual conservation with overlapping balances",
                "At most 20,000 states each. Scenarios in which nothing is refuted are left out.",
                time(20_000, true),
            )
        },
    ]
}

impl Table {
    fn cell(&self, scenario: &Scenario, policy: &Policy) -> String {
        let scenario = Scenario { stealing: self.stealing, ..scenario.clone() };
        cell(&check(policy, &scenario, &self.options).expect("a valid scenario"), self.options.max_states)
    }

    fn text(&self, scenarios: &[Scenario]) -> String {
        let policies: Vec<Policy> =
            self.policies.iter().map(|name| hearth_policy::load(name).expect("a built-in policy")).collect();
        let cells = at_once(scenarios.len() * policies.len(), |i| {
            self.cell(&scenarios[i / policies.len()], &policies[i % policies.len()])
        });
        let mut text = format!("| scenario | `{}` |\n|---|", self.policies.join("` | `"));
        text += &("--:|".repeat(policies.len()) + "\n");
        for (scenario, row) in scenarios.iter().zip(cells.chunks(policies.len())) {
            if !self.refuted_only || row.iter().any(|cell| cell.starts_with("**")) {
                text += &format!("| {} | {} |\n", scenario.name, row.join(" | "));
            }
        }
        text
    }
}

fn cell(outcome: &Outcome, max_states: usize) -> String {
    let Some(found) = &outcome.violation else {
        return match &outcome.undecided {
            Some(why) if why.ends_with("states") => format!("> {} k", max_states / 1000),
            Some(why) => why.clone(),
            None => grouped(outcome.states),
        };
    };
    let steps = grouped(found.steps.len());
    match found.violation.property {
        Property::Livelock | Property::Waiting | Property::Conservation => {
            format!("**{}, {steps} steps**", found.violation.property)
        }
        _ => format!("**{steps} steps**"),
    }
}

/// 12345 as `12,345`.
fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

/// The results of `work` on the numbers below `count`, made on all cores.
fn at_once(count: usize, work: impl Fn(usize) -> String + Sync) -> Vec<String> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(vec![String::new(); count]));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let i = next.fetch_add(1, Ordering::Relaxed)
                    && i < count
                {
                    let result = work(i);
                    results.lock().expect("no thread panicked")[i] = result;
                }
            });
        }
    });
    results.into_inner().expect("no thread panicked")
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.as_slice() {
        [] => renew(),
        [check] if check == "--check" => {
            let (checked, different) = check::differences();
            different.iter().for_each(|one| eprintln!("error: {one}"));
            println!("{checked} cells are the same, {} differ", different.len());
            return if different.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        [name, wanted @ ..] => {
            let Some(table) = tables().into_iter().find(|table| table.name == name) else {
                let names: Vec<&str> = tables().iter().map(|table| table.name).collect();
                eprintln!("error: there is no table `{name}`; expected one of: {}", names.join(", "));
                return ExitCode::from(2);
            };
            let mut scenarios = standard_scenarios();
            scenarios.retain(|scenario| wanted.is_empty() || wanted.contains(&scenario.name));
            print!("{}", table.text(&scenarios));
        }
    }
    ExitCode::SUCCESS
}

/// Writes all tables into the page.
fn renew() {
    let mut text = String::new();
    for table in tables() {
        eprintln!("{}", table.name);
        let about = if table.about.is_empty() { String::new() } else { format!("{}\n\n", table.about) };
        text += &format!("\n## {}\n\n{about}{}", table.heading, table.text(&standard_scenarios()));
    }
    let page = fs::read_to_string(PAGE).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the page says where the tables begin");
    let (_, after) = rest.split_once(END).expect("the page says where the tables end");
    fs::write(PAGE, format!("{before}{BEGIN}{text}\n{END}{after}")).expect("the page is written");
}
