//! Runs Why3 and its provers. Why3 splits a goal into parts and writes them in the provers' language; this module
//! decides which prover tries which part, and for how long.

use crate::error::Error;
use crate::options::Options;
use crate::proof_cache::{ProofCache, key};
use crate::report::Verdict;
use crate::theory;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// A goal of a module; without a name, all of them.
pub struct Goal<'a> {
    pub module: &'a str,
    pub goal: &'a str,
}

pub struct Why3 {
    folder: PathBuf,
    config: PathBuf,
    /// Folder for the provers' input.
    scratch: tempfile::TempDir,
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

/// A part of a goal, as split by Why3.
pub struct Part {
    smt: PathBuf,
    file: PathBuf,
    goal: Option<(String, String)>,
    nth: usize,
    /// Number of parts of the goal.
    of: usize,
    /// False for a goal that is not split.
    apart: bool,
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
        let tools = format!("{hearth} {why3} {z3:?} {cvc4:?} {} {ATTEMPTS:?} {CVC4_LIMIT:?}", options.steps);
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

    /// Proves a goal of a file with this text, unless the cache has it.
    pub fn prove(&self, file: &Path, text: &str, goal: &Goal) -> Result<(Verdict, f64), Error> {
        let theory = theory::FILES.map(|(_, text)| text).concat();
        let key = key(&["goal", &self.tools, &theory, text, goal.module, goal.goal]);
        if let Some(prover) = self.known.prover(key) {
            return Ok((Verdict::Holds { prover }, 0.0));
        }
        let proved = self.prove_parts(file, goal)?;
        if let Verdict::Holds { prover } = &proved.0 {
            self.known.add(key, prover);
        }
        Ok(proved)
    }

    /// Proves part by part, until one is not proved.
    fn prove_parts(&self, file: &Path, goal: &Goal) -> Result<(Verdict, f64), Error> {
        let start = Instant::now();
        let parts = match self.parts(file, Some(goal)) {
            Err(Error::TooLarge) => {
                let why = "Why3 cannot take it apart: too many paths";
                return Ok((Verdict::NotProved { parts: vec![why.into()] }, start.elapsed().as_secs_f64()));
            }
            parts => parts?,
        };
        let (mut seconds, mut used) = (0.0, Vec::<String>::new());
        for part in &parts {
            let (prover, time) = self.part(part)?;
            seconds += time;
            match prover {
                Some(prover) if used.contains(&prover) => {}
                Some(prover) => used.push(prover),
                None => return Ok((Verdict::NotProved { parts: vec![part.place()] }, seconds)),
            }
        }
        if used.is_empty() {
            return self.prove_whole(file, goal);
        }
        Ok((Verdict::Holds { prover: used.join(" + ") }, seconds))
    }

    /// For a goal of which splitting leaves no part: Why3 simplified all of it to true. The unsplit goal goes to a
    /// prover, so that no goal holds unseen.
    fn prove_whole(&self, file: &Path, goal: &Goal) -> Result<(Verdict, f64), Error> {
        let start = Instant::now();
        let name = Some((goal.module.to_owned(), goal.goal.to_owned()));
        let prover = self.z3.as_ref().or(self.cvc4.as_ref()).ok_or(Error::NoProver)?;
        let whole = self.split(prover, file, name.as_ref(), false)?;
        if whole.is_empty() {
            return Err(Error::NoGoal(format!("{}.{}", goal.module, goal.goal)));
        }
        let of = whole.len();
        for (nth, smt) in whole.into_iter().enumerate() {
            let part = Part { smt, file: file.to_owned(), goal: name.clone(), nth, of, apart: false };
            if self.part(&part)?.0.is_none() {
                let parts = vec![part.place()];
                return Ok((Verdict::NotProved { parts }, start.elapsed().as_secs_f64()));
            }
        }
        Ok((Verdict::Holds { prover: "why3".into() }, start.elapsed().as_secs_f64()))
    }

    /// The parts of a goal, or of all goals of a file.
    pub fn parts(&self, file: &Path, goal: Option<&Goal>) -> Result<Vec<Part>, Error> {
        let prover = self.z3.as_ref().or(self.cvc4.as_ref()).ok_or(Error::NoProver)?;
        let goal = goal.map(|goal| (goal.module.to_owned(), goal.goal.to_owned()));
        let files = self.split(prover, file, goal.as_ref(), true)?;
        let of = files.len();
        let part = |(nth, smt)| Part { smt, file: file.to_owned(), goal: goal.clone(), nth, of, apart: true };
        Ok(files.into_iter().enumerate().map(part).collect())
    }

    /// The provers' input files for a goal, in Why3's order: one per part, or one for the whole goal.
    fn split(
        &self,
        prover: &str,
        file: &Path,
        goal: Option<&(String, String)>,
        apart: bool,
    ) -> Result<Vec<PathBuf>, Error> {
        let (module, name) = goal.map_or(("", ""), |(module, goal)| (module, goal));
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let how = if apart { "split" } else { "whole" };
        let folder = self.scratch.path().join(format!("{stem}-{module}-{name}-{prover}-{how}"));
        fs::create_dir_all(&folder).map_err(|error| Error::Write { path: folder.clone(), error })?;
        let mut command = Command::new("why3");
        command.arg("-C").arg(&self.config).args(["prove", "-P", prover]);
        if apart {
            command.args(["-a", "split_vc"]);
        }
        command.arg("-L").arg(&self.folder).arg("-o").arg(&folder).arg(file);
        if goal.is_some() {
            command.args(["-T", module]);
        }
        if !name.is_empty() {
            command.args(["-G", name]);
        }
        let Some(output) = bounded(command, SPLIT_SECONDS)? else { return Err(Error::TooLarge) };
        if !output.status.success() {
            return Err(Error::Rejected(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let entries = fs::read_dir(&folder).map_err(|error| Error::Write { path: folder.clone(), error })?;
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort_by_cached_key(|path| numbered(&path.file_stem().unwrap_or_default().to_string_lossy()));
        Ok(files)
    }

    /// The prover that proves a part, if any does, and the time in seconds.
    pub fn part(&self, part: &Part) -> Result<(Option<String>, f64), Error> {
        let start = Instant::now();
        let key = key(&["part", &self.tools, &part.meaning()?]);
        let known = self.known.prover(key);
        let prover = match known {
            Some(prover) => Some(prover),
            None => self.proved_by(part)?.map(str::to_owned),
        };
        if let Some(prover) = &prover {
            self.known.add(key, prover);
        }
        Ok((prover, start.elapsed().as_secs_f64()))
    }

    /// True if a prover soon finds the assumptions of each part of a goal contradictory. An unreachable path has such
    /// assumptions, but not every path is unreachable.
    pub fn contradicts_itself(&self, prover: Prover, file: &Path, goal: &Goal) -> Result<bool, Error> {
        let name = match prover {
            Prover::Z3 => &self.z3,
            Prover::Cvc4 => &self.cvc4,
        };
        let name = name.as_ref().ok_or(Error::NoProver)?;
        let split = Some((goal.module.to_owned(), goal.goal.to_owned()));
        let mut parts = self.split(name, file, split.as_ref(), true)?;
        if parts.is_empty() {
            parts = self.split(name, file, split.as_ref(), false)?;
        }
        if parts.is_empty() {
            return Err(Error::NoGoal(format!("{}.{}", goal.module, goal.goal)));
        }
        for part in parts {
            let assumptions = without_goal(&part)?;
            let command = match prover {
                Prover::Z3 => z3(&assumptions, ATTEMPTS[0].0, SOON),
                Prover::Cvc4 => ask_cvc4(&assumptions, CVC4_SOON),
            };
            if !unsat(command)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn proved_by(&self, part: &Part) -> Result<Option<&'static str>, Error> {
        if self.z3.is_some() {
            for (threshold, share) in ATTEMPTS {
                if unsat(z3(&part.smt, threshold, self.steps / share))? {
                    return Ok(Some("z3"));
                }
            }
        }
        let Some(cvc4) = &self.cvc4 else { return Ok(None) };
        // CVC4 reads another dialect.
        let smt = match self.z3 {
            Some(_) => part.among(&self.split(cvc4, &part.file, part.goal.as_ref(), part.apart)?)?,
            None => Some(part.smt.clone()),
        };
        let Some(smt) = smt else { return Ok(None) };
        Ok(unsat(ask_cvc4(&smt, CVC4_LIMIT))?.then_some("cvc4"))
    }
}

impl Part {
    /// The prover's input without comments, which have line numbers.
    fn meaning(&self) -> Result<String, Error> {
        let wrong = |error| Error::Write { path: self.smt.clone(), error };
        let text = fs::read_to_string(&self.smt).map_err(wrong)?;
        Ok(text.lines().filter(|line| !line.trim_start().starts_with(";;")).collect::<Vec<_>>().join("\n"))
    }

    /// The same part among the files of the same goal for another prover: it has the same position, name and place
    /// in the WhyML. `None` if the goal is split in another way.
    fn among(&self, files: &[PathBuf]) -> Result<Option<PathBuf>, Error> {
        let Some(file) = files.get(self.nth).filter(|_| files.len() == self.of) else { return Ok(None) };
        let name = |path: &Path| {
            let wrong = |error| Error::Write { path: path.to_owned(), error };
            let text = fs::read_to_string(path).map_err(wrong)?;
            let goal = text.rsplit_once(";; Goal ").map(|(_, goal)| goal.lines().enumerate());
            let name = goal.map(|goal| goal.take_while(|(i, line)| *i == 0 || line.starts_with(";;")));
            Ok(name.map(|name| name.map(|(_, line)| line.to_owned()).collect::<Vec<_>>()))
        };
        let (ours, theirs) = (name(&self.smt)?, name(file)?);
        Ok((ours.is_some() && ours == theirs).then(|| file.clone()))
    }

    /// The part's position in the WhyML, for messages.
    pub fn place(&self) -> String {
        let text = fs::read_to_string(&self.smt).unwrap_or_default();
        let line = text.rsplit(";; File \"").next().and_then(|rest| rest.split("line ").nth(1));
        let line = line.and_then(|rest| rest.split(',').next()).unwrap_or("?");
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        format!("part {} of {}, {file}:{line}", self.nth + 1, self.of)
    }
}

/// Limit of processor time for a prover. It is a backstop: provers are bounded by steps, so that verdicts do not depend
/// on the machine or its load.
const PROVER_SECONDS: u64 = 600;

/// Limit of processor time for Why3. It splits a goal within seconds, or the goal has too many paths.
const SPLIT_SECONDS: u64 = 30;

/// Limit of address space in bytes. Without it, a goal with too many paths exhausts memory.
const MOST_BYTES: u64 = 4 << 30;

/// Attempts with Z3: the threshold of eager instantiation, and the divisor of the step limit. No threshold is best for
/// all goals. Model-based instantiation is off: it spends its time on models, which are not used.
const ATTEMPTS: [(u32, u64); 3] = [(5, 3), (10, 3), (5, 1)];

const CVC4_LIMIT: &[&str] = &["--rlimit=20000"];

/// Step limits of the search for a contradiction between assumptions.
const SOON: u64 = 200_000;
const CVC4_SOON: &[&str] = &["--full-saturate-quant", "--rlimit=50000"];

fn z3(smt: &Path, threshold: u32, steps: u64) -> Command {
    let mut command = Command::new("z3");
    command.args(["-smt2", "smt.mbqi=false", "smt.random_seed=42", "sat.random_seed=42"]);
    command.arg("nlsat.randomize=false").arg(format!("smt.qi.eager_threshold={threshold}"));
    command.arg(format!("rlimit={steps}")).arg(smt);
    command
}

fn ask_cvc4(smt: &Path, limits: &[&str]) -> Command {
    let mut command = Command::new("cvc4");
    command.arg("--lang=smt2").args(limits).arg(smt);
    command
}

/// A prover's input without the goal.
fn without_goal(smt: &Path) -> Result<PathBuf, Error> {
    let wrong = |error| Error::Write { path: smt.to_owned(), error };
    let text = fs::read_to_string(smt).map_err(wrong)?;
    let assumed = text.rsplit_once(";; Goal ").map_or(text.as_str(), |(assumed, _)| assumed);
    let file = smt.with_extension("assumed");
    fs::write(&file, format!("{assumed}\n(check-sat)\n")).map_err(wrong)?;
    Ok(file)
}

fn unsat(command: Command) -> Result<bool, Error> {
    let output = bounded(command, PROVER_SECONDS)?;
    Ok(output.is_some_and(|output| output.stdout.starts_with(b"unsat")))
}

/// Sort key: name and trailing number. Why3 gives the first file no number.
fn numbered(name: &str) -> (String, u32) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}

/// The output of a command; `None` if it exceeds the limit of processor time or of memory ([`MOST_BYTES`]).
fn bounded(mut command: Command, seconds: u64) -> Result<Option<Output>, Error> {
    let limit = |what, most| {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: a valid structure; the call is allowed between fork and exec.
        match unsafe { libc::setrlimit(what, &limit) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let limits = move || limit(libc::RLIMIT_CPU, seconds).and_then(|()| limit(libc::RLIMIT_AS, MOST_BYTES));
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(limits) };
    let output = command.stdin(Stdio::null()).output().map_err(Error::NoWhy3)?;
    let stopped = matches!(output.status.signal(), Some(libc::SIGXCPU | libc::SIGKILL | libc::SIGABRT));
    // OCaml reports memory exhaustion on stderr.
    let full =
        || String::from_utf8_lossy(&output.stderr).to_lowercase().replace('_', " ").contains("out of memory");
    Ok((!stopped && (output.status.success() || !full())).then_some(output))
}

/// The version that a program prints.
pub fn version(program: &str, before: &str) -> io::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split(before).nth(1).and_then(|rest| rest.split_whitespace().next());
    version.map(str::to_owned).ok_or_else(|| io::Error::other(format!("{program} does not say its version")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_stopped() {
        let mut command = Command::new("sh");
        command.args(["-c", "kill -s XCPU $$"]);
        assert!(bounded(command, 5).expect("a shell").is_none());
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -t"]);
        let output = bounded(command, 5).expect("a shell").expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "5");
    }

    #[test]
    fn a_part_has_the_same_goal_for_each_prover() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, goal: &str| {
            let path = folder.path().join(name);
            fs::write(&path, format!(";; H\n(assert a)\n\n;; Goal {goal}\n(assert b)\n")).expect("a file");
            path
        };
        let [one, two] = ["vc\n;; File \"a.mlw\", line 1", "vc\n;; File \"a.mlw\", line 2"];
        let part =
            Part { smt: write("z3", one), file: PathBuf::new(), goal: None, nth: 0, of: 2, apart: true };
        let [first, second] = [write("first", one), write("second", two)];
        let among = |files: &[&PathBuf]| {
            part.among(&files.iter().copied().cloned().collect::<Vec<_>>()).expect("files")
        };
        assert_eq!(among(&[&first, &second]), Some(first.clone()));
        assert_eq!(among(&[&first]), None, "another number of parts");
        assert_eq!(among(&[&second, &first]), None, "another place");
        let other = write("other", "vd\n;; File \"a.mlw\", line 1");
        assert_eq!(among(&[&other, &second]), None, "another goal");
        let nameless = Part { smt: write("nameless", "").with_extension("none"), ..part };
        fs::write(&nameless.smt, "(assert b)").expect("a file");
        assert_eq!(nameless.among(&[nameless.smt.clone(), second]).expect("files"), None, "no goal");
    }

    #[test]
    fn parts_are_in_order() {
        let mut names = ["f10", "f", "f2", "f1"];
        names.sort_by_cached_key(|name| numbered(name));
        assert_eq!(names, ["f", "f1", "f2", "f10"]);
    }
}
