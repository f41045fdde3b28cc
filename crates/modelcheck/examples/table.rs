//! Prints a table of policies and scenarios: states, steps, depth, seconds and verdict of each exploration.
//! Arguments: the directory of the policies, the limit of states, and the scenarios (default: all).
//!
//! Environment: `SCHEDULES` prints counterexamples, `POLICY` selects one policy, `COMPARE_AND_SWAP` makes
//! steals lock-free.
//!
//! `cargo run --release -p hearth-modelcheck --example table -- policies 2000000 wake-2`

use std::env;
use std::path::Path;
use std::time::Instant;

use hearth_modelcheck::{Options, Scenario, Stealing, check, standard_scenarios};
use hearth_policy::{Policy, names};

fn load(directory: &Path, name: &str) -> Policy {
    let path = directory.join(format!("{name}.ipa"));
    hearth_policy::load(path.to_str().expect("a UTF-8 path")).unwrap_or_else(|error| panic!("{error}"))
}

/// Explores and prints a row.
fn print_row(policy: &Policy, scenario: &Scenario, options: &Options, what: &str, schedules: bool) {
    let start = Instant::now();
    let outcome = check(policy, scenario, options).expect("a valid scenario");
    let verdict = match (&outcome.violation, outcome.complete) {
        (Some(violation), _) => format!("VIOLATED ({} steps)", violation.steps.len()),
        (None, true) => "holds".to_owned(),
        (None, false) => "unknown: state limit".to_owned(),
    };
    println!(
        "| {} | {} | {what} | {} | {} | {} | {:.1} | {verdict} |",
        policy.name(),
        scenario.name,
        outcome.states,
        outcome.transitions,
        outcome.depth,
        start.elapsed().as_secs_f64()
    );
    if let (Some(violation), true) = (&outcome.violation, schedules) {
        println!("\n{violation}");
    }
}

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let directory = args.first().map_or("policies", String::as_str);
    let max_states = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(2_000_000);
    let wanted = |name: &str| args.len() < 3 || args[2..].iter().any(|arg| arg == name);
    let schedules = env::var_os("SCHEDULES").is_some();
    let only = env::var("POLICY").ok();
    let stealing = match env::var_os("COMPARE_AND_SWAP") {
        Some(_) => Stealing::CompareAndSwap,
        None => Stealing::Locked,
    };
    println!("| policy | scenario | property | states | steps | depth | seconds | verdict |");
    println!("|---|---|---|---|---|---|---|---|");
    for scenario in standard_scenarios().into_iter().filter(|scenario| wanted(&scenario.name)) {
        let scenario = Scenario { stealing, ..scenario };
        for name in names().iter().filter(|name| only.as_deref().is_none_or(|only| only == **name)) {
            let policy = load(Path::new(directory), name);
            let plain = Options { max_states, ..Options::default() };
            print_row(&policy, &scenario, &plain, "safety, claims", schedules);
            print_row(&policy, &scenario, &Options { cwc: true, ..plain.clone() }, "CWC", schedules);
            print_row(&policy, &scenario, &Options { collisions: true, ..plain }, "collision", schedules);
        }
    }
}
