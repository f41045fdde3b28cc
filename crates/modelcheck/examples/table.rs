//! Prints the tables of `docs/src/data/modelcheck.md`.
//! Arguments: the limit of states, the table (`cwc`, `lock-free`, `safety`, `time` or `overlap`), and scenarios (default: all).
//!
//! `cargo run --release -p hearth-modelcheck --example table -- 200000 cwc wake-2`

use std::env;

use hearth_modelcheck::{Options, Outcome, Property, Rounds, Scenario, Stealing, check, standard_scenarios};

const CONSERVING: [&str; 3] = ["cfs-cwc", "cfs-cwc-flat", "ule-cwc"];
const ALL: [&str; 10] =
    ["cfs-cwc", "cfs-cwc-flat", "ule-cwc", "ule", "cfs", "cfs-5-4", "slocal", "smove", "nest", "eevdf"];

/// 12345 as `12,345`.
fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
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

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let max_states = args.first().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let table = args.get(1).map_or("cwc", String::as_str);
    let plain = Options { max_states, ..Options::default() };
    let (policies, stealing, options) = match table {
        "cwc" => (&ALL[..], Stealing::Locked, Options { cwc: true, ..plain }),
        "lock-free" => (&CONSERVING[..], Stealing::CompareAndSwap, Options { cwc: true, ..plain }),
        "safety" => (&ALL[..], Stealing::Locked, plain),
        "time" | "overlap" => {
            let rounds = Some(Rounds { count: 1, overlap: table == "overlap" });
            (&ALL[..], Stealing::Locked, Options { livelock: true, within: Some(24), rounds, ..plain })
        }
        other => panic!("there is no table `{other}`"),
    };
    println!("| scenario | `{}` |\n|---|{}", policies.join("` | `"), "--:|".repeat(policies.len()));
    let wanted = |scenario: &Scenario| args.len() < 3 || args[2..].contains(&scenario.name);
    for scenario in standard_scenarios().into_iter().filter(wanted) {
        let scenario = Scenario { stealing, ..scenario };
        let row = policies.iter().map(|name| {
            let policy = hearth_policy::load(name).expect("a built-in policy");
            let outcome = check(&policy, &scenario, &options).expect("a valid scenario");
            cell(&outcome, max_states)
        });
        println!("| {} | {} |", scenario.name, row.collect::<Vec<String>>().join(" | "));
    }
}
