//! The rule by which the prover is judged: what the model checker or the simulator refutes, the prover must not call
//! proved.
//!
//! `make test` takes ten seeds, `make test-all` 2,000. `HEARTH_DIFFERENTIAL=FIRST..LAST` selects the seeds of the random policies, and `HEARTH_DIFFERENTIAL=FILE.ipa,...`
//! takes these policies instead and prints what is refuted. Every 50 seeds the test prints a line, so with `--nocapture` a long run can be read at
//! any time and continued where it stopped.

mod claims;
mod generate;
mod kinds;
mod refute;

use claims::{Case, Prover, hash};
use generate::Material;
use hearth_policy::Policy;
use refute::{Judges, Refutation};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Seeds between two lines of output. The provers get the goals of so many at once.
const CHUNK: u64 = 50;

#[derive(Debug, Default)]
struct Outcome {
    /// Seeds whose policy the compiler accepts.
    compiled: usize,
    /// Of these, the policies that no earlier seed gave.
    distinct: usize,
    /// Refuted policies by property.
    refuted: BTreeMap<String, usize>,
    /// Refuted policies of which all obligations that exclude the refutation hold: defects of the prover.
    unsound: Vec<String>,
    /// Errors of the prover, the model checker and the simulator: nothing is known about these policies.
    errors: Vec<String>,
    /// Time that the compiler, the judges and the prover took, summed over threads.
    seconds: [f64; 3],
}

struct Run {
    material: Material,
    judges: Judges,
    prover: Prover,
    /// The policies so far, as hashes.
    seen: Mutex<HashSet<u64>>,
    outcome: Outcome,
}

/// A policy that compiles, and what the judges say.
struct SeedResult {
    /// The seed or file, with the text of the policy.
    name: String,
    text: String,
    policy: Policy,
    distinct: bool,
    refuted: Vec<Refutation>,
    errors: Vec<String>,
    /// Time that the compiler and the judges took.
    seconds: [f64; 2],
}

#[test]
fn what_is_refuted_is_not_proved() {
    let mut run = Run {
        material: Material::new(),
        judges: Judges::new(),
        prover: Prover::new().expect("Why3 and Z3 (on Debian: apt-get install why3 z3)"),
        seen: Mutex::default(),
        outcome: Outcome::default(),
    };
    let selected = std::env::var("HEARTH_DIFFERENTIAL")
        .unwrap_or_else(|_| format!("0..{}", hearth_tests::cases(10, 200)));
    let (seeds, start) = (seeds(&selected), Instant::now());
    for file in selected.split(',').filter(|file| file.ends_with(".ipa")) {
        let judged = run.judge(file, file.into(), hearth_policy::load(file).ok(), 0.0);
        run.count(judged.into_iter().collect());
    }
    for first in seeds.clone().step_by(CHUNK as usize) {
        let end = seeds.end.min(first + CHUNK);
        let judged = run.seeds(first..end);
        run.count(judged);
        let outcome = &run.outcome;
        println!(
            "seeds {}..{end}: compiled {}, distinct {}, refuted {:?}, called proved {}, errors {}, {:.0} s {:.0?}",
            seeds.start,
            outcome.compiled,
            outcome.distinct,
            outcome.refuted,
            outcome.unsound.len(),
            outcome.errors.len(),
            start.elapsed().as_secs_f64(),
            outcome.seconds,
        );
    }
    let outcome = run.outcome;
    assert!(outcome.unsound.is_empty(), "{}", outcome.unsound.join("\n\n"));
    assert!(outcome.errors.is_empty(), "{}", outcome.errors.join("\n\n"));
    let often = ["safety", "invariant", "concurrent work conservation"];
    let seldom = ["livelock", "bounded waiting", "eventual conservation"];
    for (compiled, properties) in [(30, often), (300, seldom)] {
        let missing = properties.iter().find(|property| !outcome.refuted.contains_key(**property));
        assert!(outcome.compiled < compiled || missing.is_none(), "nothing refutes {missing:?}");
    }
}

fn seeds(selected: &str) -> Range<u64> {
    if selected.ends_with(".ipa") {
        return 0..0;
    }
    let (first, last) =
        selected.split_once("..").expect("HEARTH_DIFFERENTIAL is FIRST..LAST or FILE.ipa,...");
    first.parse().expect("a number")..last.parse().expect("a number")
}

impl Run {
    /// Judges the policies of these seeds, in this order.
    fn seeds(&self, seeds: Range<u64>) -> Vec<SeedResult> {
        let (next, all) = (AtomicU64::new(seeds.start), Mutex::new(BTreeMap::new()));
        let work = || {
            while let seed = next.fetch_add(1, Ordering::Relaxed)
                && seed < seeds.end
            {
                let start = Instant::now();
                let (text, policy) = self.material.policy(seed);
                let compiler = start.elapsed().as_secs_f64();
                let judged = self.judge(&format!("seed {seed}"), text, policy, compiler);
                all.lock().expect("no thread panicked").insert(seed, judged);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        all.into_inner().expect("no thread panicked").into_values().flatten().collect()
    }

    fn judge(&self, name: &str, text: String, policy: Option<Policy>, compiler: f64) -> Option<SeedResult> {
        let (start, policy, name) = (Instant::now(), policy?, name.to_owned());
        let distinct = self.seen.lock().expect("no thread panicked").insert(hash(&policy.ir().to_json()));
        let (refuted, errors) = if distinct { self.judges.refutations(&policy) } else { Default::default() };
        let seconds = [compiler, start.elapsed().as_secs_f64()];
        Some(SeedResult { name, text, policy, distinct, refuted, errors, seconds })
    }

    /// Asks the prover about what is refuted, and counts.
    fn count(&mut self, judged: Vec<SeedResult>) {
        let start = Instant::now();
        let refuted =
            judged.iter().flat_map(|one| one.refuted.iter().map(move |refutation| (one, refutation)));
        let refuted: Vec<(&SeedResult, &Refutation)> = refuted.collect();
        let cases: Vec<Case> =
            refuted.iter().map(|(one, refutation)| Case::new(&one.policy, (*refutation).clone())).collect();
        let excluded = self.prover.exclude(&cases);
        let outcome = &mut self.outcome;
        let report = |one: &SeedResult, what: String| {
            let line = format!("{}: {what}:\n{}", one.name, one.text);
            eprintln!("{line}");
            line
        };
        for ((one, refutation), excluded) in refuted.into_iter().zip(excluded) {
            if one.name.ends_with(".ipa") {
                eprintln!("{}: {refutation}", one.name);
            }
            match excluded {
                Ok(true) => {
                    outcome.unsound.push(report(one, format!("{refutation}, and the prover excludes it")))
                }
                Ok(false) => {}
                Err(error) => outcome.errors.push(report(one, format!("prover: {error}"))),
            }
        }
        for one in &judged {
            outcome.seconds[0] += one.seconds[0];
            outcome.seconds[1] += one.seconds[1];
            outcome.compiled += 1;
            outcome.distinct += usize::from(one.distinct);
            let properties: BTreeSet<String> =
                one.refuted.iter().map(|one| one.violation.property.to_string()).collect();
            for property in properties {
                *outcome.refuted.entry(property).or_default() += 1;
            }
            outcome.errors.extend(one.errors.iter().map(|error| report(one, error.clone())));
        }
        outcome.seconds[2] += start.elapsed().as_secs_f64();
    }
}
