//! Renews the scores of the built-in policies in `lab/results/mutation.md`, and their surviving mutants in
//! `lab/results/mutation-survivors.md`. Arguments: the policies (default: all); with `--prove`, the provers judge too,
//! and only the table of these scores is renewed. Rows of other policies stay as they are.
//!
//! Mutates the own text of a policy. For the work-conserving policies it also mutates the inherited text,
//! because `ule-cwc` changes little of `ule`.
//!
//! `cargo run --release -p hearth-lab --bin lab-mutation`

mod page;
mod reasons;

use std::env;
use std::process::ExitCode;

use hearth_modelcheck::{Property, standard_scenarios};
use hearth_mutate::{
    Judge, ModelChecker, MutantVerdict, Prover, Score, Subject, Verdict, judge_all, mutants,
};
use hearth_policy::{Settings, load, names};
use page::Page;
use reasons::Reasons;

/// Limit of states of an exploration. CFS and what is built on it have the most states.
fn states(name: &str, prove: bool) -> usize {
    match name {
        _ if name.contains("cwc") && prove => 3_000,
        "cfs" => 10_000,
        "cfs-5-4" | "eevdf" | "nest" => 3_000,
        // Its timers need more.
        "smove" => 100_000,
        _ => 30_000,
    }
}

fn judged(name: &str, prove: bool) -> Vec<MutantVerdict> {
    let subject = Subject::new(load(name).expect("a built-in policy"));
    let states = states(name, prove);
    let checker = ModelChecker::new(&subject.policy, standard_scenarios(), Settings::default(), states)
        .expect("valid scenarios");
    for (scenario, promise, complete) in checker.promises() {
        eprintln!("{name} {scenario}: {promise:?}{}", if complete { "" } else { " (incomplete)" });
    }
    let prover = prove.then(|| Prover::new(&subject.policy).expect("Why3 and its provers"));
    let judges: Vec<&dyn Judge> =
        [&checker as &dyn Judge].into_iter().chain(prover.iter().map(|prover| prover as _)).collect();
    let mut wanted = mutants(&subject);
    wanted.retain(|mutant| name.contains("cwc") || subject.is_own(mutant));
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    judge_all(&subject, wanted, &judges, jobs, &|| {})
}

/// The processor time of this process and of the provers that have ended, in seconds.
fn processor_seconds() -> f64 {
    let used = |who| {
        // SAFETY: all-zero bytes are a valid `rusage`, and the call only writes to it.
        let usage = unsafe {
            let mut usage = std::mem::zeroed::<libc::rusage>();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}

/// A row of a table of scores.
fn row(name: &str, judged: &[MutantVerdict], prove: bool, seconds: f64) -> String {
    let Score { mutants, rejected, refuted, unproved, survive } = Score::of(judged);
    let is_live = |verdict: &Verdict| match verdict {
        Verdict::Refuted(kill) => {
            matches!(kill.property, Property::Livelock | Property::Waiting | Property::Conservation)
        }
        _ => false,
    };
    let live = judged.iter().filter(|one| is_live(&one.verdict)).count();
    let proofs = if prove { format!(" {unproved} |") } else { String::new() };
    let (states, percent) = (page::grouped(states(name, prove)), 100.0 * Score::of(judged).noticed());
    format!(
        "| {name} | {states} | {mutants} | {rejected} | {refuted} | {live} |{proofs} {survive} | {percent:.0} % | {seconds:.0} |"
    )
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let prove = args.iter().any(|arg| arg == "--prove");
    let asked: Vec<&String> = args.iter().filter(|arg| *arg != "--prove").collect();
    if let Some(unknown) = asked.iter().find(|asked| !names().contains(&asked.as_str())) {
        eprintln!("error: there is no built-in policy `{unknown}`; expected some of: {}", names().join(", "));
        return ExitCode::from(2);
    }
    let reasons = Reasons::load();
    let mut unexplained = 0;
    for name in names().iter().filter(|name| asked.is_empty() || asked.iter().any(|asked| asked == *name)) {
        let before = processor_seconds();
        let judged = judged(name, prove);
        let row = row(name, &judged, prove, processor_seconds() - before);
        println!("{row}");
        let mut scores = Page::open("mutation.md");
        scores.set_row(if prove { " -- --prove" } else { "" }, name, &row);
        scores.save();
        if !prove {
            let (section, open) = reasons.section(&judged);
            unexplained += open;
            let mut survivors = Page::open("mutation-survivors.md");
            survivors.set_section("", name, &section);
            survivors.save();
        }
    }
    if unexplained > 0 {
        eprintln!("error: {unexplained} surviving mutants have no reason in lab/mutation/reasons.toml");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
