//! The effect of each part of the simulated world on the results of the claims: all parts on, each one off in turn,
//! and all off. Prints a Markdown table.
//!
//! `world [RUNS]`

use hearth_sim::{World, run_all};
use hearth_study::claims::Book;
use hearth_study::reproduction::{Plan, Reproduction};
use std::error::Error;

const WORLDS: [(&str, World); 6] = [
    ("all on", World::ALL),
    ("without warm", World { warm: false, ..World::ALL }),
    ("without daemons", World { daemons: false, ..World::ALL }),
    ("without search", World { search: false, ..World::ALL }),
    ("without races", World { races: false, ..World::ALL }),
    ("empty", World::EMPTY),
];

fn main() -> Result<(), Box<dyn Error>> {
    let runs = std::env::args().nth(1).map_or(Ok(5), |runs| runs.parse())?;
    let book = Book::built_in()?;
    let plan = Plan::new(&book, &book.starting_with(&[])?);
    let mut all = Vec::new();
    for (name, world) in WORLDS {
        let mut jobs = plan.jobs(runs);
        jobs.iter_mut().for_each(|job| job.world = world);
        all.push((name, plan.evaluate(runs, run_all(&jobs, 0, || ()))?));
        eprintln!("{name}: done");
    }
    print(&all);
    Ok(())
}

fn print(all: &[(&str, Reproduction)]) {
    let row = |cells: Vec<String>| println!("| {} |", cells.join(" | "));
    let of_each =
        |cell: &dyn Fn(&Reproduction) -> String| all.iter().map(|(_, r)| cell(r)).collect::<Vec<_>>();
    row([vec!["claim".into(), "machine".into()], all.iter().map(|(name, _)| (*name).into()).collect()]
        .concat());
    row(vec!["---".into(); all.len() + 2]);
    let in_range = of_each(&|r| format!("{} of {}", r.in_range, r.results));
    row([vec!["in range".into(), "".into()], in_range].concat());
    for (number, claim) in all[0].1.claims.iter().enumerate() {
        for (place, found) in claim.results.iter().enumerate() {
            let values = of_each(&|r| {
                let found = &r.claims[number].results[place];
                format!("{:.3}{}", found.value, if found.in_range { "" } else { " (out)" })
            });
            row([vec![claim.id.into(), found.machine.into()], values].concat());
        }
    }
}
