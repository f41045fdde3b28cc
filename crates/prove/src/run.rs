//! Runs Why3 on the emitted obligations.

use crate::emit::Theorems;
use crate::error::Error;
use crate::obligation::{Claim, Id, Obligation};
use crate::options::Options;
use crate::report::{Proved, Report, Verdict};
use crate::theory;
use crate::why3::{Goal, Part, Prover, Slice, Why3};
use hearth_ipanema::ir::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Proves a policy's obligations.
///
/// # Errors
/// Why3 or its provers cannot be run, or reject what was emitted.
pub fn prove(policy: &Policy, theorems: &Theorems, options: &Options) -> Result<Report, Error> {
    prove_watched(policy, theorems, options, &|| ())
}

/// Number of goals that [`prove`] gives to the provers.
pub fn goals(theorems: &Theorems, options: &Options) -> usize {
    let is_goal = |one: &&Obligation| matches!(one.claim, Claim::Goal { .. });
    wanted(theorems, options).into_iter().filter(is_goal).count()
}

fn wanted<'t>(theorems: &'t Theorems, options: &Options) -> Vec<&'t Obligation> {
    closure(&theorems.obligations, |o| options.properties.contains(&o.property))
}

/// As [`prove`]. Calls `done` after each goal, from several threads.
///
/// # Errors
/// As [`prove`].
pub fn prove_watched(
    policy: &Policy,
    theorems: &Theorems,
    options: &Options,
    done: &(dyn Fn() + Sync),
) -> Result<Report, Error> {
    let session = Session::new(options)?;
    session.folder.write("policy.mlw", &theorems.whyml)?;
    let wanted = wanted(theorems, options);
    let goals: Vec<(&Theorems, &Obligation)> = wanted.iter().map(|one| (theorems, *one)).collect();
    let verdicts = session.prove_each(&goals, done)?.into_iter();
    let proved = |(obligation, (verdict, seconds)): (&&Obligation, _)| {
        let obligation = (*obligation).clone();
        Proved { obligation, verdict, seconds }
    };
    let obligations = wanted.iter().zip(verdicts).map(proved).collect();
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
    let session = Session::new(options)?;
    // The different goals, by the text that a prover reads, module and name.
    let mut numbers: BTreeMap<(String, &str, &str), usize> = BTreeMap::new();
    let (mut goals, mut number_of) = (Vec::new(), Vec::new());
    for (_, theorems) in policies {
        for obligation in &theorems.obligations {
            number_of.push(goal(theorems, &obligation.claim).map(|key| {
                *numbers.entry(key).or_insert_with(|| {
                    goals.push((theorems, obligation));
                    goals.len() - 1
                })
            }));
        }
    }
    let verdicts = session.prove_all(&goals)?;
    let mut number_of = number_of.into_iter();
    let reports = policies.iter().map(|(policy, theorems)| {
        let proved = |(obligation, number): (&Obligation, Option<usize>)| {
            let known = number.map(|number| verdicts[number].clone());
            let without = || decided(&obligation.claim).map(|verdict| (verdict, 0.0));
            let (verdict, seconds) =
                known.or_else(without).unwrap_or((Verdict::NotProved { parts: Vec::new() }, 0.0));
            Proved { obligation: obligation.clone(), verdict, seconds }
        };
        let obligations = theorems.obligations.iter().zip(number_of.by_ref()).map(proved).collect();
        let mut report = Report { policy: policy.clone(), obligations };
        report.settle();
        report
    });
    Ok(Family { reports: reports.collect(), goals: goals.len() })
}

pub(crate) fn goal<'t>(theorems: &Theorems, claim: &'t Claim) -> Option<(String, &'t str, &'t str)> {
    let Claim::Goal { module, goal } = claim else { return None };
    Some((theorems.alone(module), module, goal))
}

/// Why3 and its provers with the theory, for obligations of any policies.
pub struct Session {
    folder: Folder,
    why3: Why3,
    at_once: usize,
    stop: Arc<AtomicBool>,
}

/// Most obligations that Why3 gets at once. Its start takes as long as a few of them.
const MOST_TOGETHER: usize = 12;

impl Session {
    /// Finds the provers.
    ///
    /// # Errors
    /// Why3 or its provers cannot be run.
    pub fn new(options: &Options) -> Result<Session, Error> {
        let folder = Folder::new(options)?;
        let why3 = Why3::find(folder.path(), options)?;
        Ok(Session { folder, why3, at_once: options.at_once, stop: Arc::clone(&options.stop) })
    }

    /// The verdicts on obligations, without those that they rest on, and the time in seconds that the provers took.
    ///
    /// # Errors
    /// Why3 or its provers cannot be run, or reject what was emitted.
    pub fn prove_all(&self, wanted: &[(&Theorems, &Obligation)]) -> Result<Vec<(Verdict, f64)>, Error> {
        self.prove_each(wanted, &|| ())
    }

    fn prove_each(
        &self,
        wanted: &[(&Theorems, &Obligation)],
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<(Verdict, f64)>, Error> {
        let mut verdicts: Vec<Option<(Verdict, f64)>> = Vec::new();
        let (mut slices, mut folders) = (Vec::new(), Vec::new());
        for (at, (theorems, obligation)) in wanted.iter().enumerate() {
            verdicts.push(decided(&obligation.claim).map(|verdict| (verdict, 0.0)));
            if let Claim::Goal { module, goal } = &obligation.claim {
                let folder = self.folder.slice()?;
                slices.push((at, slice(&folder, theorems, module, goal)?));
                folders.push(folder);
            }
        }
        let together = slices.len().div_ceil(self.at_once.max(1)).clamp(1, MOST_TOGETHER);
        // Long ones first and one by one.
        let (long, short): (Vec<_>, Vec<_>) =
            slices.iter().partition(|(_, slice): &&(usize, Slice)| slice.is_long());
        let batches: Vec<&[&(usize, Slice)]> = long.chunks(1).chain(short.chunks(together)).collect();
        let proved = at_once(self.at_once, &batches, |batch| {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let verdicts = self.why3.prove_all(&Vec::from_iter(batch.iter().map(|(_, slice)| slice)))?;
            batch.iter().for_each(|_| done());
            Ok(verdicts)
        })?;
        for ((at, _), verdict) in batches.into_iter().flatten().zip(proved.into_iter().flatten()) {
            verdicts[*at] = Some(verdict);
        }
        Ok(verdicts.into_iter().flatten().collect())
    }
}

/// The verdict on a claim that needs no prover.
pub(crate) fn decided(claim: &Claim) -> Option<Verdict> {
    match claim {
        Claim::Decided { by, holds: true } => {
            Some(Verdict::Holds { prover: format!("compiler, from syntax alone: {by}") })
        }
        Claim::Follows { theorem } => Some(Verdict::Holds { prover: format!("theorem {theorem}") }),
        Claim::Decided { holds: false, .. } => Some(Verdict::NotProved { parts: Vec::new() }),
        Claim::NotModelled { construct } => Some(Verdict::NotModelled { construct: construct.clone() }),
        Claim::Goal { .. } => None,
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

/// A file with the goal's module only: Why3 generates the verification conditions of all modules of a file.
fn slice(folder: &Folder, theorems: &Theorems, module: &str, goal: &str) -> Result<Slice, Error> {
    let (name, text) = (format!("{module}-{goal}"), theorems.alone(module));
    let file = folder.write(&format!("{}.mlw", name.trim_end_matches('-')), &text)?;
    Ok(Slice { goal: Goal { file, module: module.into(), goal: goal.into() }, text })
}

/// What a prover finds when it searches for contradictions: from one, everything would follow.
#[derive(Clone, Debug)]
pub struct Search {
    pub prover: Prover,
    /// The number of contexts that it searched.
    pub contexts: usize,
    /// The contexts that it did not search, because Why3 takes too long to split their goals.
    pub too_large: Vec<String>,
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
            let goal = slice(&folder, theorems, module, goal)?.goal;
            contexts.push(Context { name: obligation.id.to_string(), goal });
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
    goal: Goal,
}

impl Context {
    /// What holds after `text` and the module `used`.
    fn after(folder: &Folder, name: &str, text: &str, used: &str) -> Result<Self, Error> {
        let text = format!("{text}\nmodule After\n  use {used}\n  goal nothing: false\nend\n");
        let file = folder.write(&format!("after-{name}.mlw"), &text)?;
        Ok(Context { name: used.into(), goal: Goal { file, module: "After".into(), goal: "nothing".into() } })
    }
}

fn search(folder: &Folder, contexts: &[Context], options: &Options) -> Result<Vec<Search>, Error> {
    let why3 = Why3::find(folder.path(), options)?;
    let by = |prover| {
        let found = at_once(options.at_once, contexts, |context| {
            match why3.contradicts_itself(prover, &context.goal) {
                Err(Error::TooLarge) => Ok(None),
                found => found.map(Some),
            }
        })?;
        let those = |wanted| {
            let of = contexts.iter().zip(&found).filter(|(_, found)| **found == wanted);
            of.map(|(context, _)| context.name.clone()).collect::<Vec<_>>()
        };
        let (contradictory, too_large) = (those(Some(true)), those(None));
        Ok(Search { prover, contexts: contexts.len() - too_large.len(), too_large, contradictory })
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
        folder.write(name, text)?;
    }
    let why3 = Why3::find(folder.path(), options)?;
    let path = folder.path().join(file);
    let parts = why3.parts(&path, Prover::Z3)?;
    let first = at_once(options.at_once, &parts, |part| why3.part(part, None))?;
    let open = parts.iter().zip(&first).filter(|(_, (prover, _))| prover.is_none());
    let open: Vec<&Part> = open.map(|(part, _)| part).collect();
    let theirs = if open.is_empty() { Vec::new() } else { why3.parts(&path, Prover::Cvc4)? };
    let second = at_once(options.at_once, &open, |part| why3.part(part, Some(&theirs)))?;
    let open = open.iter().zip(&second).filter(|(_, (prover, _))| prover.is_none());
    Ok(Lemmas {
        file,
        parts: parts.len(),
        open: open.map(|(part, _)| part.place(&path)).collect(),
        seconds: first.iter().chain(&second).map(|(_, seconds)| seconds).sum(),
    })
}

/// A folder with WhyML: temporary, or the one given by `Options::keep`.
enum Folder {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Folder {
    /// The folder with the theory.
    fn new(options: &Options) -> Result<Self, Error> {
        let folder = match &options.keep {
            Some(path) => {
                fs::create_dir_all(path).map_err(|error| Error::Write { path: path.clone(), error })?;
                Folder::Kept(path.clone())
            }
            None => Folder::temporary(&std::env::temp_dir())?,
        };
        for (name, text) in theory::FILES {
            folder.write(name, text)?;
        }
        Ok(folder)
    }

    fn temporary(within: &Path) -> Result<Self, Error> {
        let made = tempfile::Builder::new().prefix("hearth-prove-").tempdir_in(within);
        Ok(Folder::Temporary(made.map_err(|error| Error::Write { path: within.to_owned(), error })?))
    }

    /// The folder for the file of one obligation: those of several policies have the same names.
    fn slice(&self) -> Result<Self, Error> {
        match self {
            Folder::Kept(path) => Ok(Folder::Kept(path.clone())),
            Folder::Temporary(folder) => Folder::temporary(folder.path()),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Kept(path) => path,
            Folder::Temporary(folder) => folder.path(),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.path().join(name);
        let written = match self {
            Folder::Kept(_) => hearth_base::file::write(&path, text.as_bytes()),
            // Nobody else reads it, so it need not reach the disk.
            Folder::Temporary(_) => fs::write(&path, text),
        };
        match written {
            Ok(()) => Ok(path),
            Err(error) => Err(Error::Write { path, error }),
        }
    }
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
