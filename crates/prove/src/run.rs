//! Runs Why3 on the emitted obligations.

use crate::emit::Theorems;
use crate::error::Error;
use crate::obligation::{Claim, Id, Obligation};
use crate::options::Options;
use crate::report::{Proved, Report, Verdict};
use crate::theory;
use crate::why3::{Goal, Prover, Why3};
use hearth_ipanema::ir::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Proves a policy's obligations.
///
/// # Errors
/// Why3 or its provers cannot be run, or reject what was emitted.
pub fn prove(policy: &Policy, theorems: &Theorems, options: &Options) -> Result<Report, Error> {
    let folder = Folder::new(options)?;
    write(&folder.path().join("policy.mlw"), &theorems.whyml)?;
    let why3 = Why3::find(folder.path(), options)?;
    let wanted = closure(&theorems.obligations, |o| options.properties.contains(&o.property));
    let obligations =
        at_once(options.at_once, &wanted, |obligation| one(&why3, &folder, theorems, obligation))?;
    let mut report = Report { policy: policy.name.clone(), obligations };
    report.settle();
    Ok(report)
}

/// Proofs of several policies.
#[derive(Clone, Debug)]
pub struct Family {
    /// One for each policy.
    pub reports: Vec<Report>,
    /// Number of different goals: most policies of a family share theirs with others.
    pub goals: usize,
}

/// Proves obligations of several policies, each goal once. A goal is the text that a prover reads, so nothing is
/// assumed of a policy because of another. All obligations of `policies` are proved, whatever the options say.
///
/// # Errors
/// As [`prove`].
pub fn prove_family(policies: &[(String, Theorems)], options: &Options) -> Result<Family, Error> {
    let folder = Folder::new(options)?;
    let why3 = Why3::find(folder.path(), options)?;
    let mut goals = Goals::default();
    let numbers: Vec<Vec<Option<usize>>> = policies
        .iter()
        .map(|(_, theorems)| theorems.obligations.iter().map(|o| goals.number(theorems, &o.claim)).collect())
        .collect();
    let all: Vec<_> = goals.0.iter().collect();
    let verdicts = at_once(options.at_once, &all, |((text, module, goal), number)| {
        let file = folder.path().join(format!("goal-{number}.mlw"));
        write(&file, text)?;
        Ok((*number, why3.prove(&file, text, &Goal { module, goal })?))
    })?;
    let verdicts: BTreeMap<&usize, (Verdict, f64)> = verdicts.into_iter().collect();
    let reports = policies.iter().zip(&numbers).map(|((policy, theorems), numbers)| {
        let proved = |(obligation, number): (&Obligation, &Option<usize>)| {
            let (verdict, seconds) = match number {
                Some(number) => verdicts[number].clone(),
                None => (without_prover(&obligation.claim), 0.0),
            };
            Proved { obligation: obligation.clone(), verdict, seconds }
        };
        let obligations = theorems.obligations.iter().zip(numbers).map(proved).collect();
        let mut report = Report { policy: policy.clone(), obligations };
        report.settle();
        report
    });
    Ok(Family { reports: reports.collect(), goals: goals.0.len() })
}

/// The different goals of several policies, numbered: the text that a prover reads, module and name.
#[derive(Default)]
struct Goals(BTreeMap<(String, String, String), usize>);

impl Goals {
    fn number(&mut self, theorems: &Theorems, claim: &Claim) -> Option<usize> {
        let Claim::Goal { module, goal } = claim else { return None };
        let next = self.0.len();
        Some(*self.0.entry((theorems.alone(module), module.clone(), goal.clone())).or_insert(next))
    }
}

/// The obligations that are `wanted`, and all that they rest on.
pub fn closure(all: &[Obligation], wanted: impl Fn(&Obligation) -> bool) -> Vec<&Obligation> {
    let mut wanted: BTreeSet<&Id> = all.iter().filter(|o| wanted(o)).map(|o| &o.id).collect();
    loop {
        let before = wanted.len();
        let needed: Vec<&Id> =
            all.iter().filter(|o| wanted.contains(&o.id)).flat_map(|o| &o.rests_on).collect();
        wanted.extend(needed);
        if wanted.len() == before {
            return all.iter().filter(|o| wanted.contains(&o.id)).collect();
        }
    }
}

fn one(why3: &Why3, folder: &Folder, theorems: &Theorems, obligation: &Obligation) -> Result<Proved, Error> {
    let (verdict, seconds) = match &obligation.claim {
        Claim::Goal { module, goal } => {
            let file = alone(folder, theorems, module, goal)?;
            why3.prove(&file, &theorems.alone(module), &Goal { module, goal })?
        }
        claim => (without_prover(claim), 0.0),
    };
    Ok(Proved { obligation: obligation.clone(), verdict, seconds })
}

/// The verdict on a claim that is not a goal.
fn without_prover(claim: &Claim) -> Verdict {
    match claim {
        Claim::Decided { by, holds: true } => Verdict::Holds { prover: format!("compiler: {by}") },
        Claim::Follows { theorem } => Verdict::Holds { prover: format!("theorem {theorem}") },
        Claim::Decided { holds: false, .. } | Claim::Goal { .. } => Verdict::NotProved { parts: Vec::new() },
        Claim::NotModelled { construct } => Verdict::NotModelled { construct: construct.clone() },
    }
}

/// A file with the goal's module only: Why3 generates the verification conditions of all modules of a file.
fn alone(folder: &Folder, theorems: &Theorems, module: &str, goal: &str) -> Result<PathBuf, Error> {
    let name = format!("{module}-{goal}");
    let file = folder.path().join(format!("{}.mlw", name.trim_end_matches('-')));
    write(&file, &theorems.alone(module))?;
    Ok(file)
}

/// What a prover finds when it searches for contradictions: from one, everything would follow.
#[derive(Clone, Debug)]
pub struct Search {
    pub prover: Prover,
    /// The number of contexts that it searched.
    pub contexts: usize,
    /// The contexts in which it proves `false`. There must be none.
    pub contradictory: Vec<String>,
}

/// Searches the assumptions of a policy: those that all its obligations share, and those of each obligation.
///
/// # Errors
/// Z3 or CVC4 is missing, or Why3 rejects what was emitted.
pub fn contradictions(theorems: &Theorems, options: &Options) -> Result<Vec<Search>, Error> {
    let folder = Folder::new(options)?;
    let mut contexts = vec![Context::after(&folder, "Policy", theorems.shared(), "Policy")?];
    for obligation in &theorems.obligations {
        if let Claim::Goal { module, goal } = &obligation.claim {
            let file = alone(&folder, theorems, module, goal)?;
            let (module, goal) = (module.clone(), goal.clone());
            contexts.push(Context { name: obligation.id.to_string(), file, module, goal });
        }
    }
    search(&folder, &contexts, options)
}

/// The same for each module of the theory.
///
/// # Errors
/// Z3 or CVC4 is missing, or Why3 rejects the theory.
pub fn contradictions_of_theory(options: &Options) -> Result<Vec<Search>, Error> {
    let folder = Folder::new(options)?;
    let mut contexts = Vec::new();
    for (file, text) in theory::FILES {
        let file = file.trim_end_matches(".mlw");
        for module in text.lines().filter_map(|line| line.strip_prefix("module ")) {
            contexts.push(Context::after(
                &folder,
                &format!("{file}-{module}"),
                "",
                &format!("{file}.{module}"),
            )?);
        }
    }
    search(&folder, &contexts, options)
}

/// A goal whose assumptions are searched.
struct Context {
    name: String,
    file: PathBuf,
    module: String,
    goal: String,
}

impl Context {
    /// What holds after `text` and the module `used`.
    fn after(folder: &Folder, name: &str, text: &str, used: &str) -> Result<Self, Error> {
        let file = folder.path().join(format!("after-{name}.mlw"));
        write(&file, &format!("{text}\nmodule After\n  use {used}\n  goal nothing: false\nend\n"))?;
        Ok(Context { name: used.into(), file, module: "After".into(), goal: "nothing".into() })
    }
}

fn search(folder: &Folder, contexts: &[Context], options: &Options) -> Result<Vec<Search>, Error> {
    let why3 = Why3::find(folder.path(), options)?;
    let by = |prover| {
        let found = at_once(options.at_once, contexts, |context| {
            let goal = Goal { module: &context.module, goal: &context.goal };
            why3.contradicts_itself(prover, &context.file, &goal)
        })?;
        let found = contexts.iter().zip(found).filter(|(_, found)| *found);
        let contradictory = found.map(|(context, _)| context.name.clone()).collect();
        Ok(Search { prover, contexts: contexts.len(), contradictory })
    };
    [Prover::Z3, Prover::Cvc4].into_iter().map(by).collect()
}

/// The result of proving one file of the theory.
#[derive(Clone, Debug)]
pub struct Lemmas {
    pub file: &'static str,
    pub parts: usize,
    /// The parts that were not proved.
    pub open: Vec<String>,
    pub seconds: f64,
}

/// Proves the theory itself.
///
/// # Errors
/// Why3 or its provers cannot be run, or reject the theory.
pub fn prove_theory(options: &Options) -> Result<Vec<Lemmas>, Error> {
    theory::FILES.into_iter().map(|(file, _)| prove_file(file, &[], options)).collect()
}

/// Proves one file of the theory, after replacing the text of the `changed` files.
///
/// # Errors
/// Why3 or its provers cannot be run, or reject the theory.
pub fn prove_file(file: &'static str, changed: &[(&str, &str)], options: &Options) -> Result<Lemmas, Error> {
    let folder = Folder::new(options)?;
    for (name, text) in changed {
        write(&folder.path().join(name), text)?;
    }
    let why3 = Why3::find(folder.path(), options)?;
    let parts = why3.parts(&folder.path().join(file), None)?;
    let verdicts = at_once(options.at_once, &parts, |part| why3.part(part))?;
    let open = parts.iter().zip(&verdicts).filter(|(_, (prover, _))| prover.is_none());
    Ok(Lemmas {
        file,
        parts: parts.len(),
        open: open.map(|(part, _)| part.place()).collect(),
        seconds: verdicts.iter().map(|(_, seconds)| seconds).sum(),
    })
}

/// The folder with the theory: temporary, or the one given by `Options::keep`.
enum Folder {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Folder {
    fn new(options: &Options) -> Result<Self, Error> {
        let folder = match &options.keep {
            Some(path) => {
                fs::create_dir_all(path).map_err(|error| Error::Write { path: path.clone(), error })?;
                Folder::Kept(path.clone())
            }
            None => {
                let made = tempfile::Builder::new().prefix("hearth-prove-").tempdir();
                Folder::Temporary(made.map_err(|error| Error::Write { path: std::env::temp_dir(), error })?)
            }
        };
        for (name, text) in theory::FILES {
            write(&folder.path().join(name), text)?;
        }
        Ok(folder)
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Kept(path) => path,
            Folder::Temporary(folder) => folder.path(),
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let written = hearth_base::file::write(path, text.as_bytes());
    written.map_err(|error| Error::Write { path: path.to_owned(), error })
}

/// Runs `work` on all items in parallel. Results have the order of the items.
fn at_once<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<R, Error>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some((i, item)) = items.get(next.load(Ordering::Relaxed)..).and_then(|_| {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    Some((i, items.get(i)?))
                }) {
                    let result = work(item);
                    let mut results = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    results.push((i, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}
