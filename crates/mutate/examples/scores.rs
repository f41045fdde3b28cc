//! Prints the score of each built-in policy and its surviving mutants, for the book's chapter on
//! mutation testing. Arguments: the limit of states per exploration, and the policies (default: all).
//!
//! Mutates the own text of a policy. For the work-conserving policies it also mutates the inherited text,
//! because `ule-cwc` changes little of `ule`.
//!
//! `cargo run --release -p hearth-mutate --example scores -- 30000`

use std::env;
use std::path::Path;
use std::time::Instant;

use hearth_modelcheck::standard_scenarios;
use hearth_mutate::{Judged, ModelChecker, Subject, Verdict, judge_all, mutants};
use hearth_policy::{Settings, load, names};

fn judged(name: &str, max_states: usize) -> Vec<Judged> {
    let subject = Subject::new(load(name).expect("a built-in policy"));
    let checker = ModelChecker::new(&subject.policy, standard_scenarios(), Settings::default(), max_states)
        .expect("valid scenarios");
    for (scenario, promise, complete) in checker.promises() {
        eprintln!("{name} {scenario}: {promise:?}{}", if complete { "" } else { " (incomplete)" });
    }
    let mut wanted = mutants(&subject);
    wanted.retain(|mutant| name.contains("cwc") || subject.is_own(mutant));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    judge_all(&subject, wanted, &[&checker], jobs, &|| {})
}

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let max_states = args.first().and_then(|n| n.parse().ok()).unwrap_or(30_000);
    let mut survivors = String::new();
    println!("| policy | mutants | do not compile | refuted | survive | detected | seconds |");
    println!("|---|---|---|---|---|---|---|");
    for name in names().iter().filter(|name| args.len() < 2 || args[1..].iter().any(|arg| arg == *name)) {
        let start = Instant::now();
        let judged = judged(name, max_states);
        let seconds = start.elapsed().as_secs_f64();
        let count = |is: fn(&Verdict) -> bool| judged.iter().filter(|one| is(&one.verdict)).count();
        let rejected = count(|verdict| matches!(verdict, Verdict::Rejected { .. }));
        let survive = count(Verdict::survives);
        let all = judged.len();
        let percent = 100.0 * (all - survive) as f64 / all.max(1) as f64;
        let refuted = all - survive - rejected;
        println!("| {name} | {all} | {rejected} | {refuted} | {survive} | {percent:.0} % | {seconds:.1} |");
        for Judged { mutant, .. } in judged.iter().filter(|one| one.verdict.survives()) {
            let file = Path::new(&mutant.file).display();
            survivors += &format!(
                "{name}: {file}:{} {}: {} -> {}\n",
                mutant.line, mutant.operator, mutant.before, mutant.after
            );
        }
    }
    println!("\n{survivors}");
}
