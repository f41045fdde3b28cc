//! The rule by which the prover is judged: what the model checker or the simulator refutes, the prover must not call
//! proved.
//!
//! `HEARTH_DIFFERENTIAL=FIRST..LAST` selects the seeds of the random policies, and `HEARTH_DIFFERENTIAL=FILE.ipa,...`
//! takes these policies instead and prints what is refuted. Every 100 seeds the test prints a line, so with `--nocapture` a long run can be read at
//! any time and continued where it stopped.

mod claims;
mod generate;
mod refute;

use claims::{Prover, hash};
use generate::Material;
use hearth_policy::Policy;
use refute::Judges;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Seeds between two lines of output.
const CHUNK: u64 = 100;

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
    outcome: Mutex<Outcome>,
}

#[test]
fn what_is_refuted_is_not_proved() {
    let why3 = std::process::Command::new("why3").arg("--version").output();
    assert!(why3.is_ok(), "there is no why3 (on Debian: apt-get install why3 z3)");
    let run = Run {
        material: Material::new(),
        judges: Judges::new(),
        prover: Prover::default(),
        seen: Mutex::default(),
        outcome: Mutex::default(),
    };
    let selected = std::env::var("HEARTH_DIFFERENTIAL").unwrap_or_else(|_| "0..300".into());
    let (seeds, start) = (seeds(&selected), Instant::now());
    for file in selected.split(',').filter(|file| file.ends_with(".ipa")) {
        run.judge(file, file, hearth_policy::load(file).ok());
    }
    for first in seeds.clone().step_by(CHUNK as usize) {
        let end = seeds.end.min(first + CHUNK);
        run.seeds(first..end);
        let outcome = run.outcome.lock().expect("no thread panicked");
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
    let outcome = run.outcome.into_inner().expect("no thread panicked");
    assert!(outcome.unsound.is_empty(), "{}", outcome.unsound.join("\n\n"));
    assert!(outcome.errors.is_empty(), "{}", outcome.errors.join("\n\n"));
    if outcome.compiled >= 250 {
        for property in ["safety", "invariant", "concurrent work conservation"] {
            assert!(outcome.refuted.contains_key(property), "nothing refutes {property}");
        }
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
    fn seeds(&self, seeds: Range<u64>) {
        let next = AtomicU64::new(seeds.start);
        let work = || {
            while let seed = next.fetch_add(1, Ordering::Relaxed)
                && seed < seeds.end
            {
                let start = Instant::now();
                let (text, policy) = self.material.policy(seed);
                self.outcome.lock().expect("no thread panicked").seconds[0] += start.elapsed().as_secs_f64();
                self.judge(&format!("seed {seed}"), &text, policy);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
    }

    fn judge(&self, name: &str, text: &str, policy: Option<Policy>) {
        let start = Instant::now();
        let Some(policy) = policy else { return };
        let distinct = self.seen.lock().expect("no thread panicked").insert(hash(&policy.ir().to_json()));
        let (mut refuted, mut errors) = Default::default();
        if distinct {
            (refuted, errors) = self.judges.refutations(&policy);
        }
        let judged = start.elapsed();
        let mut unsound = Vec::new();
        for refutation in &refuted {
            if name.ends_with(".ipa") {
                eprintln!("{name}: {refutation}");
            }
            match self.prover.excludes(&policy, refutation) {
                Ok(true) => unsound.push(refutation.to_string()),
                Ok(false) => {}
                Err(error) => errors.push(format!("prover: {error}")),
            }
        }
        let mut outcome = self.outcome.lock().expect("no thread panicked");
        outcome.seconds[1] += judged.as_secs_f64();
        outcome.seconds[2] += (start.elapsed() - judged).as_secs_f64();
        outcome.compiled += 1;
        outcome.distinct += usize::from(distinct);
        let properties: HashSet<String> = refuted.iter().map(|one| one.property.to_string()).collect();
        for property in properties {
            *outcome.refuted.entry(property).or_default() += 1;
        }
        let report = |what: String| {
            let line = format!("{name}: {what}:\n{text}");
            eprintln!("{line}");
            line
        };
        outcome.unsound.extend(unsound.into_iter().map(|what| report(what + ", and the prover excludes it")));
        outcome.errors.extend(errors.into_iter().map(report));
    }
}
