//! Runs Why3 and its provers. Why3 splits goals into parts and writes them in the provers' language; this module
//! decides which prover tries which part, and for how long.
//!
//! Programs take longer to start than most goals take to prove. So Why3 writes several goals at once ([`Why3::prove_all`]), and
//! only those that no prover takes as a whole are split; Z3 takes the parts of a goal one after the other.

mod joint;
mod prover;

use crate::error::Error;
use crate::options::Options;
use crate::proof_cache::{Key, ProofCache, key};
use crate::report::Verdict;
use crate::theory;
use joint::Joint;
pub use prover::version;
use prover::{
    Attempts, CVC4_LIMIT, CVC4_SOON, LAST, PARTS, PROVER_SECONDS, SOON, WHOLES, answer, ask_cvc4, bounded,
    limited, z3,
};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempDir;

/// A goal of a file.
#[derive(Clone)]
pub struct Goal {
    pub file: PathBuf,
    pub module: String,
    /// Empty: all goals of the module.
    pub goal: String,
}

/// A goal, and the text of a file that has only its module and what that uses.
pub struct Slice {
    pub goal: Goal,
    pub text: String,
}

pub struct Why3 {
    folder: PathBuf,
    config: PathBuf,
    /// Folder for the provers' input.
    scratch: TempDir,
    /// Prover names, as for `why3 prove -P`.
    z3: Option<String>,
    cvc4: Option<String>,
    steps: u64,
    known: ProofCache,
    /// The versions of Why3, the provers and this crate, and their limits: part of each key of the cache.
    tools: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prover {
    Z3,
    Cvc4,
}

impl Slice {
    /// Whether Why3 may need seconds to split the goal.
    pub fn is_long(&self) -> bool {
        self.text.len() > 16_000
    }
}

/// A part of a goal, as split by Why3.
#[derive(Clone)]
pub struct Part {
    smt: PathBuf,
    /// Where `smt` lies: it is removed with the last part.
    _folder: Arc<TempDir>,
    nth: usize,
    /// Number of parts of the goal.
    of: usize,
}

/// A goal on its way through the provers.
struct Task {
    parts: Vec<Part>,
    attempts: Attempts,
    /// The first part that is not proved yet.
    at: usize,
    /// What proved the parts before.
    used: Vec<String>,
    seconds: f64,
}

impl Why3 {
    /// Finds provers, and writes a configuration of Why3 to `folder`. The user's own configuration is not used, so that
    /// results are reproducible.
    pub fn find(folder: &Path, options: &Options) -> Result<Self, Error> {
        let why3 = version("why3", "version ").map_err(Error::NoWhy3)?;
        let versions = [version("z3", "Z3 version ").ok(), version("cvc4", "CVC4 version ").ok()];
        if versions.iter().all(Option::is_none) {
            return Err(Error::NoProver);
        }
        let mut text = "[main]\nmagic = 14\n".to_owned();
        let [z3, cvc4] = [("Z3", "z3", "z3_471"), ("CVC4", "cvc4", "cvc4_16")];
        let known = [z3, cvc4].into_iter().zip(versions).map(|((name, command, driver), version)| {
            let version = version?;
            text += &format!(
                "\n[prover]\nname = \"{name}\"\nversion = \"{version}\"\ndriver = \"{driver}\"\n\
                 command = \"{command} %f\"\neditor = \"\"\nin_place = false\ninteractive = false\n"
            );
            Some(format!("{name},{version}"))
        });
        let [z3, cvc4] = <[Option<String>; 2]>::try_from(known.collect::<Vec<_>>()).unwrap_or_default();
        let config = folder.join("why3.conf");
        let wrong = |path: &Path| {
            let path = path.to_owned();
            move |error| Error::Write { path, error }
        };
        fs::write(&config, text).map_err(wrong(&config))?;
        let scratch = tempfile::Builder::new().prefix("hearth-prove-").tempdir();
        let scratch = scratch.map_err(wrong(&std::env::temp_dir()))?;
        let hearth = env!("CARGO_PKG_VERSION");
        let tools = format!(
            "{hearth} {why3} {z3:?} {cvc4:?} {} {PARTS:?} {WHOLES:?} {LAST:?} {CVC4_LIMIT:?}",
            options.steps
        );
        Ok(Why3 {
            folder: folder.to_owned(),
            config,
            scratch,
            z3,
            cvc4,
            steps: options.steps,
            known: options.known.clone(),
            tools,
        })
    }

    /// The verdicts on goals, and the time in seconds that the provers took for each.
    pub fn prove_all(&self, slices: &[&Slice]) -> Result<Vec<(Verdict, f64)>, Error> {
        let theory = theory::FILES.map(|(_, text)| text).concat();
        let key = |slice: &&Slice| {
            key(&["goal", &self.tools, &theory, &slice.text, &slice.goal.module, &slice.goal.goal])
        };
        let keys: Vec<Key> = slices.iter().map(key).collect();
        let known = |key: &Key| Some((Verdict::Holds { prover: self.known.prover(*key)? }, 0.0));
        let mut verdicts: Vec<Option<(Verdict, f64)>> = keys.iter().map(known).collect();
        let open: Vec<usize> = (0..slices.len()).filter(|at| verdicts[*at].is_none()).collect();
        let goals: Vec<&Slice> = open.iter().map(|at| slices[*at]).collect();
        for (at, verdict) in open.into_iter().zip(self.prove_together(&goals)?) {
            if let Verdict::Holds { prover } = &verdict.0 {
                self.known.add(keys[at], prover);
            }
            verdicts[at] = Some(verdict);
        }
        Ok(verdicts.into_iter().flatten().collect())
    }

    /// The same without the cache of goals. A prover gets each goal as a whole first: most take it so, and it has as many
    /// parts as paths.
    fn prove_together(&self, slices: &[&Slice]) -> Result<Vec<(Verdict, f64)>, Error> {
        let prove = |(whole, slice): (Option<Task>, &&Slice)| {
            let Some(mut whole) = whole else {
                return Ok((Verdict::NotProved { parts: vec![TOO_MANY.into()] }, SPLIT_SECONDS as f64));
            };
            self.advance(&mut whole, None)?;
            match whole.open() {
                None => Ok((Verdict::Holds { prover: whole.used.join(" + ") }, whole.seconds)),
                Some(_) => self.prove_parts(&slice.goal, whole),
            }
        };
        self.wholes(slices)?.into_iter().zip(slices).map(prove).collect()
    }

    /// The goals as tasks of one part; `None` for those that are too large. What Why3 cannot take together it takes one by
    /// one.
    fn wholes(&self, slices: &[&Slice]) -> Result<Vec<Option<Task>>, Error> {
        let task = |(parts, slice): (Vec<Part>, &&Slice)| match parts.is_empty() {
            true => Err(Error::NoGoal(format!("{}.{}", slice.goal.module, slice.goal.goal))),
            false => Ok(Some(Task::new(parts, WHOLES))),
        };
        let alone = |slice: &&Slice| {
            let only = std::slice::from_ref(&slice.goal);
            match self.split(self.first_prover()?, only, false) {
                Err(Error::TooLarge) => Ok(None),
                parts => task((parts?.concat(), slice)),
            }
        };
        if slices.len() < 2 || slices.iter().any(|slice| slice.is_long()) {
            return slices.iter().map(alone).collect();
        }
        let joint = Joint::new(self.scratch.path(), slices)?;
        match self.split(self.first_prover()?, &joint.goals, false) {
            Err(Error::TooLarge | Error::Rejected(_)) => slices.iter().map(alone).collect(),
            parts => parts?.into_iter().zip(slices).map(task).collect(),
        }
    }

    /// The verdict on a goal that no prover took as a whole, and the time that was spent on it.
    fn prove_parts(&self, goal: &Goal, mut whole: Task) -> Result<(Verdict, f64), Error> {
        let only = std::slice::from_ref(goal);
        let mut task = match self.split(self.first_prover()?, only, true) {
            Err(Error::TooLarge) => {
                whole.attempts = LAST;
                self.advance(&mut whole, None)?;
                let verdict = match whole.open() {
                    Some(_) => Verdict::NotProved { parts: vec![TOO_MANY.into()] },
                    None => Verdict::Holds { prover: whole.used.join(" + ") },
                };
                return Ok((verdict, whole.seconds));
            }
            parts => Task { seconds: whole.seconds, ..Task::new(parts?.concat(), PARTS) },
        };
        self.advance(&mut task, None)?;
        self.ask_cvc4(&mut task, only)?;
        let verdict = match (task.parts.as_slice(), task.open()) {
            ([], _) => Verdict::NotProved { parts: vec!["Why3 alone calls it true".into()] },
            (_, Some(part)) => Verdict::NotProved { parts: vec![part.place(&goal.file)] },
            (_, None) => Verdict::Holds { prover: task.used.join(" + ") },
        };
        Ok((verdict, task.seconds))
    }

    /// The prover in whose language Why3 writes the parts.
    fn first_prover(&self) -> Result<&str, Error> {
        self.z3.as_deref().or(self.cvc4.as_deref()).ok_or(Error::NoProver)
    }

    /// CVC4 reads another dialect, so Why3 splits the goal again if Z3 leaves a part of it open.
    fn ask_cvc4(&self, task: &mut Task, goal: &[Goal]) -> Result<(), Error> {
        let (Some(cvc4), true, Some(_)) = (&self.cvc4, self.z3.is_some(), task.open()) else { return Ok(()) };
        match self.split(cvc4, goal, true) {
            Err(Error::TooLarge) => Ok(()),
            theirs => self.advance(task, Some(&theirs?.concat())),
        }
    }

    /// Proves part by part, until one is not proved. `cvc4`: the parts for CVC4, of a task that stopped without them.
    fn advance(&self, task: &mut Task, cvc4: Option<&[Part]>) -> Result<(), Error> {
        let start = Instant::now();
        let mut tried = cvc4.is_some();
        loop {
            if !tried {
                let provers = self.first_in_a_row(&task.parts[task.at..], task.attempts)?;
                provers.iter().for_each(|prover| task.is_proved_by(prover));
            }
            let Some(part) = task.open() else { break };
            let prover = match cvc4 {
                _ if !tried && self.z3_later(part, task.attempts)? => Some("z3"),
                Some(theirs) if self.cvc4(part, theirs)? => Some("cvc4"),
                _ => None,
            };
            let Some(prover) = prover else { break };
            self.known.add(self.key(part)?, prover);
            task.is_proved_by(prover);
            tried = false;
        }
        task.seconds += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// The parts of all goals of a file.
    pub fn parts(&self, file: &Path, prover: Prover) -> Result<Vec<Part>, Error> {
        let prover = match (prover, &self.cvc4) {
            (Prover::Cvc4, Some(cvc4)) => cvc4,
            _ => self.first_prover()?,
        };
        let (folder, files) = self.write_parts(prover, file, &[], true, THEORY_SECONDS)?;
        Ok(Part::all(&folder, files))
    }

    /// The prover that proves a part, if any does, and the time in seconds. `cvc4`: all parts, for CVC4.
    pub fn part(&self, part: &Part, cvc4: Option<&[Part]>) -> Result<(Option<String>, f64), Error> {
        let mut task = Task::new(vec![part.clone()], PARTS);
        self.advance(&mut task, cvc4)?;
        Ok((task.used.pop(), task.seconds))
    }

    /// Writes the provers' input files for goals of one file: one per part, or one for each whole goal.
    fn split(&self, prover: &str, goals: &[Goal], apart: bool) -> Result<Vec<Vec<Part>>, Error> {
        let Some(Goal { file, .. }) = goals.first() else { return Ok(Vec::new()) };
        let mut selection = Vec::new();
        for goal in goals {
            selection.extend(["-T", &goal.module]);
            if !goal.goal.is_empty() {
                selection.extend(["-G", &goal.goal]);
            }
        }
        let (folder, files) = self.write_parts(prover, file, &selection, apart, SPLIT_SECONDS)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let of = |goal: &Goal| {
            let prefix = format!("{stem}-{}-", goal.module);
            let is_of = |path: &&PathBuf| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
            };
            Part::all(&folder, files.iter().filter(is_of).cloned().collect())
        };
        match goals {
            [_] => Ok(vec![Part::all(&folder, files)]),
            _ => Ok(goals.iter().map(of).collect()),
        }
    }

    /// Runs Why3, and returns its output files in its order, with their folder.
    fn write_parts(
        &self,
        prover: &str,
        file: &Path,
        selection: &[&str],
        apart: bool,
        seconds: u64,
    ) -> Result<(Arc<TempDir>, Vec<PathBuf>), Error> {
        let wrong = |error| Error::Write { path: self.scratch.path().to_owned(), error };
        let folder = tempfile::tempdir_in(self.scratch.path()).map_err(wrong)?;
        let mut command = Command::new("why3");
        command.arg("-C").arg(&self.config).args(["prove", "-P", prover]);
        if apart {
            command.args(["-a", "split_vc"]);
        }
        command.arg("-L").arg(&self.folder).arg("-o").arg(folder.path()).arg(file).args(selection);
        let Some(output) = bounded(command, seconds)? else { return Err(Error::TooLarge) };
        if !output.status.success() {
            return Err(Error::Rejected(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let entries = fs::read_dir(folder.path()).map_err(wrong)?;
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort_by_cached_key(|path| numbered(&path.file_stem().unwrap_or_default().to_string_lossy()));
        Ok((Arc::new(folder), files))
    }

    /// The provers of the first parts, up to one that the first attempt does not prove.
    fn first_in_a_row(&self, parts: &[Part], attempts: Attempts) -> Result<Vec<String>, Error> {
        let keys = parts.iter().map(|part| self.key(part)).collect::<Result<Vec<Key>, Error>>()?;
        let known: Vec<Option<String>> = keys.iter().map(|key| self.known.prover(*key)).collect();
        let new: Vec<&Part> =
            parts.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(part, _)| part).collect();
        let (name, mut proved) = match self.z3 {
            Some(_) => ("z3", self.z3_in_a_row(&new, attempts)?),
            None => ("cvc4", self.cvc4_in_a_row(&new)?),
        };
        let mut provers = Vec::new();
        for (key, known) in keys.into_iter().zip(known) {
            match known {
                Some(prover) => provers.push(prover),
                None if proved > 0 => {
                    proved -= 1;
                    self.known.add(key, name);
                    provers.push(name.into());
                }
                None => break,
            }
        }
        Ok(provers)
    }

    /// How many of the parts Z3 proves, up to the first that it does not prove. It forgets each before the next.
    fn z3_in_a_row(&self, parts: &[&Part], attempts: Attempts) -> Result<usize, Error> {
        let mut text = String::new();
        for part in parts {
            if self.known.fails(self.failure(part, Prover::Z3, attempts[0])?) {
                break;
            }
            text += &(part.text()? + "\n(reset)\n");
        }
        if text.is_empty() {
            return Ok(0);
        }
        let wrong = |error| Error::Write { path: self.scratch.path().to_owned(), error };
        let file =
            tempfile::Builder::new().suffix(".smt2").tempfile_in(self.scratch.path()).map_err(wrong)?;
        fs::write(file.path(), text).map_err(wrong)?;
        let (threshold, thirds) = attempts[0];
        let mut child = limited(z3(file.path(), threshold, self.steps / 3 * thirds), PROVER_SECONDS)?;
        let output = child.stdout.take().map(BufReader::new);
        let mut lines = output.into_iter().flat_map(BufRead::lines).map_while(Result::ok).peekable();
        let unsat = std::iter::from_fn(|| lines.next_if(|line| line == "unsat"));
        let proved = unsat.count().min(parts.len());
        let failed = lines.next();
        // It may be at work on the next part.
        child.kill().and_then(|()| child.wait()).map_err(Error::NoWhy3)?;
        if let (Some(part), Some("unknown" | "sat")) = (parts.get(proved), failed.as_deref()) {
            self.known.add_failure(self.failure(part, Prover::Z3, attempts[0])?);
        }
        Ok(proved)
    }

    fn cvc4_in_a_row(&self, parts: &[&Part]) -> Result<usize, Error> {
        for (at, part) in parts.iter().enumerate() {
            if !self.ask_cvc4_once(part)? {
                return Ok(at);
            }
        }
        Ok(parts.len())
    }

    /// Whether another attempt of Z3 than the first proves the part.
    fn z3_later(&self, part: &Part, attempts: Attempts) -> Result<bool, Error> {
        if self.z3.is_some() {
            for attempt in &attempts[1..] {
                let (threshold, thirds) = *attempt;
                let key = self.failure(part, Prover::Z3, *attempt)?;
                if self.unsat(key, || z3(&part.smt, threshold, self.steps / 3 * thirds))? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn cvc4(&self, part: &Part, theirs: &[Part]) -> Result<bool, Error> {
        match part.among(theirs)? {
            Some(theirs) => self.ask_cvc4_once(theirs),
            None => Ok(false),
        }
    }

    fn ask_cvc4_once(&self, part: &Part) -> Result<bool, Error> {
        self.unsat(self.failure(part, Prover::Cvc4, (0, 0))?, || ask_cvc4(&part.smt, CVC4_LIMIT))
    }

    /// Whether a prover proves a part, unless it is known that it does not within its limit of steps.
    fn unsat(&self, failure: Key, command: impl FnOnce() -> Command) -> Result<bool, Error> {
        if self.known.fails(failure) {
            return Ok(false);
        }
        let answer = answer(command())?;
        // No answer is cached that depends on the machine: the prover ran out of time or memory.
        if answer == Some(false) {
            self.known.add_failure(failure);
        }
        Ok(answer == Some(true))
    }

    fn key(&self, part: &Part) -> Result<Key, Error> {
        Ok(key(&["part", &self.tools, &part.meaning()?]))
    }

    /// The key of the fact that an attempt of a prover leaves a part open. No proof has such a key.
    fn failure(&self, part: &Part, prover: Prover, attempt: (u32, u64)) -> Result<Key, Error> {
        Ok(key(&["open", &self.tools, &format!("{prover:?} {attempt:?}"), &part.meaning()?]))
    }

    /// True if a prover soon finds the assumptions of each part of a goal contradictory. An unreachable path has such
    /// assumptions, but not every path is unreachable.
    pub fn contradicts_itself(&self, prover: Prover, goal: &Goal) -> Result<bool, Error> {
        let name = match prover {
            Prover::Z3 => &self.z3,
            Prover::Cvc4 => &self.cvc4,
        };
        let name = name.as_ref().ok_or(Error::NoProver)?;
        let only = std::slice::from_ref(goal);
        let mut parts = self.split(name, only, true)?.concat();
        if parts.is_empty() {
            parts = self.split(name, only, false)?.concat();
        }
        if parts.is_empty() {
            return Err(Error::NoGoal(format!("{}.{}", goal.module, goal.goal)));
        }
        for part in &parts {
            let assumptions = without_goal(&part.smt)?;
            let command = match prover {
                Prover::Z3 => z3(&assumptions, PARTS[0].0, SOON),
                Prover::Cvc4 => ask_cvc4(&assumptions, CVC4_SOON),
            };
            if answer(command)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Task {
    fn new(parts: Vec<Part>, attempts: Attempts) -> Task {
        Task { parts, attempts, at: 0, used: Vec::new(), seconds: 0.0 }
    }

    /// The part that is next to prove.
    fn open(&self) -> Option<&Part> {
        self.parts.get(self.at)
    }

    fn is_proved_by(&mut self, prover: &str) {
        self.at += 1;
        if !self.used.iter().any(|used| used == prover) {
            self.used.push(prover.into());
        }
    }
}

impl Part {
    /// The parts of a goal, as files in the order of Why3.
    fn all(folder: &Arc<TempDir>, files: Vec<PathBuf>) -> Vec<Part> {
        let of = files.len();
        let part = |(nth, smt)| Part { smt, _folder: folder.clone(), nth, of };
        files.into_iter().enumerate().map(part).collect()
    }

    fn text(&self) -> Result<String, Error> {
        fs::read_to_string(&self.smt).map_err(|error| Error::Write { path: self.smt.clone(), error })
    }

    /// What a prover reads of it: comments have line numbers.
    fn meaning(&self) -> Result<String, Error> {
        let text = self.text()?;
        Ok(text.lines().filter(|line| !line.trim_start().starts_with(";;")).collect::<Vec<_>>().join("\n"))
    }

    /// The same part among those of the same goal for another prover: it has the same position, name and place
    /// in the WhyML. `None` if the goal is split in another way.
    fn among<'p>(&self, parts: &'p [Part]) -> Result<Option<&'p Part>, Error> {
        let Some(part) = parts.get(self.nth).filter(|_| parts.len() == self.of) else { return Ok(None) };
        let name = |part: &Part| {
            let text = part.text()?;
            let goal = text.rsplit_once(";; Goal ").map(|(_, goal)| goal.lines().enumerate());
            let name = goal.map(|goal| goal.take_while(|(i, line)| *i == 0 || line.starts_with(";;")));
            Ok(name.map(|name| name.map(|(_, line)| line.to_owned()).collect::<Vec<_>>()))
        };
        let (ours, theirs) = (name(self)?, name(part)?);
        Ok((ours.is_some() && ours == theirs).then_some(part))
    }

    /// The part's position in a file of WhyML, for messages.
    pub fn place(&self, file: &Path) -> String {
        let text = self.text().unwrap_or_default();
        let line = text.rsplit(";; File \"").next().and_then(|rest| rest.split("line ").nth(1));
        let line = line.and_then(|rest| rest.split(',').next()).unwrap_or("?");
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        format!("part {} of {}, {file}:{line}", self.nth + 1, self.of)
    }
}

/// Limit of processor time for Why3. It writes or splits a goal within seconds, or the goal has too many paths.
const SPLIT_SECONDS: u64 = 3;

/// The same for all goals of a file of the theory.
const THEORY_SECONDS: u64 = 60;

const TOO_MANY: &str = "Why3 cannot take it apart: too many paths";

/// A prover's input without the goal.
fn without_goal(smt: &Path) -> Result<PathBuf, Error> {
    let wrong = |error| Error::Write { path: smt.to_owned(), error };
    let text = fs::read_to_string(smt).map_err(wrong)?;
    let assumed = text.rsplit_once(";; Goal ").map_or(text.as_str(), |(assumed, _)| assumed);
    let file = smt.with_extension("assumed");
    fs::write(&file, format!("{assumed}\n(check-sat)\n")).map_err(wrong)?;
    Ok(file)
}

/// Sort key: name and trailing number. Why3 gives the first file no number.
fn numbered(name: &str) -> (String, u32) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(nth: usize, of: usize, text: &str) -> Part {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let smt = folder.path().join("part.smt2");
        fs::write(&smt, text).expect("a file");
        Part { smt, _folder: folder, nth, of }
    }

    #[test]
    fn a_part_has_the_same_goal_for_each_prover() {
        let goal =
            |nth, goal: &str| part(nth, 2, &format!(";; H\n(assert a)\n\n;; Goal {goal}\n(assert b)\n"));
        let [one, two] = ["vc\n;; File \"a.mlw\", line 1", "vc\n;; File \"a.mlw\", line 2"];
        let ours = goal(0, one);
        let [first, second] = [goal(0, one), goal(1, two)];
        let among = |parts: &[&Part]| {
            let parts: Vec<Part> = parts.iter().copied().cloned().collect();
            ours.among(&parts).expect("files").map(|part| part.smt.clone())
        };
        assert_eq!(among(&[&first, &second]), Some(first.smt.clone()));
        assert_eq!(among(&[&first]), None, "another number of parts");
        assert_eq!(among(&[&second, &first]), None, "another place");
        let other = goal(0, "vd\n;; File \"a.mlw\", line 1");
        assert_eq!(among(&[&other, &second]), None, "another goal");
        let nameless = part(0, 2, "(assert b)");
        assert!(nameless.among(&[nameless.clone(), second]).expect("files").is_none(), "no goal");
    }

    /// Each part of a row is proved by what it says itself.
    #[test]
    fn a_row_ends_at_what_is_not_proved() {
        if !hearth_tests::has(&["why3", "z3"], "provers") {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let why3 = Why3::find(folder.path(), &Options::default()).expect("provers");
        let [holds, open, wrong] = [
            "(declare-fun x () Int)\n(assert (and (< x 1) (> x 0)))\n(check-sat)",
            "(declare-fun x () Int)\n(assert (< x 1))\n(check-sat)",
            "(assert y)\n(check-sat)",
        ]
        .map(|text| part(0, 1, text));
        let row = |parts: &[&Part]| why3.z3_in_a_row(parts, PARTS).expect("z3");
        assert_eq!(row(&[&holds, &holds]), 2);
        assert_eq!(row(&[&holds, &open, &holds]), 1);
        assert_eq!(row(&[&open, &holds]), 0);
        assert_eq!(row(&[&wrong, &holds]), 0);
        assert_eq!(row(&[]), 0);
    }

    /// Why3 leaves quotes out of the names of its files.
    #[test]
    fn goals_of_modules_with_quotes_are_taken_apart_together() {
        if !hearth_tests::has(&["why3", "z3"], "provers") {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let why3 = Why3::find(folder.path(), &Options::default()).expect("provers");
        let slice = |module: &str| Slice {
            goal: Goal { file: folder.path().join("x.mlw"), module: module.into(), goal: "two".into() },
            text: format!(
                "module Base\n  use int.Int\n  constant a: int\nend\n\n\
                 module {module}\n  use Base\n  use int.Int\n  goal two: a + 1 > a /\\ a + 2 > a\nend\n"
            ),
        };
        let slices = [slice("M'_one"), slice("M'_two")];
        let joint = Joint::new(why3.scratch.path(), &slices.each_ref()).expect("a file");
        let parts = why3.split(why3.z3.as_deref().expect("z3"), &joint.goals, true).expect("parts");
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        for (verdict, _) in why3.prove_all(&slices.each_ref()).expect("verdicts") {
            assert!(matches!(&verdict, Verdict::Holds { prover } if prover == "z3"), "{verdict:?}");
        }
    }

    #[test]
    fn parts_are_in_order() {
        let mut names = ["f10", "f", "f2", "f1"];
        names.sort_by_cached_key(|name| numbered(name));
        assert_eq!(names, ["f", "f1", "f2", "f10"]);
    }
}
