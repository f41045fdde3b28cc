//! Why3 and its provers, as programs: Why3 splits a goal into parts and writes them down in the
//! provers' language; which prover looks at which part, for how long, is decided here.

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
    /// For what provers read.
    scratch: tempfile::TempDir,
    /// As `why3 prove -P` wants them.
    z3: Option<String>,
    cvc4: Option<String>,
    steps: u64,
    known: ProofCache,
}

/// One of the pieces into which Why3 splits a goal.
pub struct Part {
    smt: PathBuf,
    file: PathBuf,
    goal: Option<(String, String)>,
    nth: usize,
}

impl Why3 {
    /// Looks for provers, and makes a configuration of Why3 in `folder`: the user's own is not used,
    /// so that results are the same for all.
    pub fn find(folder: &Path, options: &Options) -> Result<Self, Error> {
        version("why3", "version ").map_err(Error::NoWhy3)?;
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
        Ok(Why3 {
            folder: folder.to_owned(),
            config,
            scratch,
            z3,
            cvc4,
            steps: options.steps,
            known: options.known.clone(),
        })
    }

    /// Proves a goal of a file with this text, unless that was done before.
    pub fn prove(&self, file: &Path, text: &str, goal: &Goal) -> Result<(Verdict, f64), Error> {
        let theory = theory::FILES.map(|(_, text)| text).concat();
        let key = key(&[&self.provers(), &theory, text, goal.module, goal.goal]);
        if let Some(prover) = self.known.prover(key) {
            return Ok((Verdict::Holds { prover }, 0.0));
        }
        let proved = self.prove_parts(file, goal)?;
        if let Verdict::Holds { prover } = &proved.0 {
            self.known.add(key, prover);
        }
        Ok(proved)
    }

    /// With their versions.
    fn provers(&self) -> String {
        format!("{:?} {:?}", self.z3, self.cvc4)
    }

    /// Part after part, until one is not proved.
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
                None => return Ok((Verdict::NotProved { parts: vec![part.place(parts.len())] }, seconds)),
            }
        }
        // Why3 itself sees that a part is true by its form.
        let prover = if used.is_empty() { "why3".into() } else { used.join(" + ") };
        Ok((Verdict::Holds { prover }, seconds))
    }

    /// The parts of a goal, or of all goals of a file.
    pub fn parts(&self, file: &Path, goal: Option<&Goal>) -> Result<Vec<Part>, Error> {
        let prover = self.z3.as_ref().or(self.cvc4.as_ref()).ok_or(Error::NoProver)?;
        let goal = goal.map(|goal| (goal.module.to_owned(), goal.goal.to_owned()));
        let files = self.split(prover, file, goal.as_ref())?;
        let part = |(nth, smt)| Part { smt, file: file.to_owned(), goal: goal.clone(), nth };
        Ok(files.into_iter().enumerate().map(part).collect())
    }

    /// What a prover is to read, in Why3's order.
    fn split(
        &self,
        prover: &str,
        file: &Path,
        goal: Option<&(String, String)>,
    ) -> Result<Vec<PathBuf>, Error> {
        let (module, name) = goal.map_or(("", ""), |(module, goal)| (module, goal));
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let folder = self.scratch.path().join(format!("{stem}-{module}-{name}-{prover}"));
        fs::create_dir_all(&folder).map_err(|error| Error::Write { path: folder.clone(), error })?;
        let mut command = Command::new("why3");
        command.arg("-C").arg(&self.config).args(["prove", "-a", "split_vc", "-P", prover]);
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

    /// Who proves a part, and after how long.
    pub fn part(&self, part: &Part) -> Result<(Option<String>, f64), Error> {
        let start = Instant::now();
        let key = key(&[&self.provers(), &part.meaning()?]);
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

    /// Are a part's assumptions alone refuted, and soon?
    pub fn contradicts_itself(&self, part: &Part) -> Result<bool, Error> {
        let wrong = |error| Error::Write { path: part.smt.clone(), error };
        let text = fs::read_to_string(&part.smt).map_err(wrong)?;
        let assumed = text.rsplit_once(";; Goal ").map_or(text.as_str(), |(assumed, _)| assumed);
        let file = part.smt.with_extension("assumed");
        fs::write(&file, format!("{assumed}\n(check-sat)\n")).map_err(wrong)?;
        unsat(z3(&file, ATTEMPTS[0].0, SOON))
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
        // Its dialect is another. It splits alike.
        let smt = match self.z3 {
            Some(_) => self.split(cvc4, &part.file, part.goal.as_ref())?.into_iter().nth(part.nth),
            None => Some(part.smt.clone()),
        };
        let Some(smt) = smt else { return Ok(None) };
        let mut command = Command::new("cvc4");
        command.args(["--lang=smt2", CVC4_LIMIT]).arg(smt);
        Ok(unsat(command)?.then_some("cvc4"))
    }
}

impl Part {
    /// What the prover reads, without Why3's comments: they say where it comes from.
    fn meaning(&self) -> Result<String, Error> {
        let wrong = |error| Error::Write { path: self.smt.clone(), error };
        let text = fs::read_to_string(&self.smt).map_err(wrong)?;
        Ok(text.lines().filter(|line| !line.trim_start().starts_with(";;")).collect::<Vec<_>>().join("\n"))
    }

    /// Where it comes from, for who looks at the WhyML.
    pub fn place(&self, of: usize) -> String {
        let text = fs::read_to_string(&self.smt).unwrap_or_default();
        let line = text.rsplit(";; File \"").next().and_then(|rest| rest.split("line ").nth(1));
        let line = line.and_then(|rest| rest.split(',').next()).unwrap_or("?");
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        format!("part {} of {of}, {file}:{line}", self.nth + 1)
    }
}

/// A prover or Why3 that does not come to an end is stopped. No verdict should hang on it: provers
/// are bounded by steps, so that the same holds on each machine, and this is the processor's time, not
/// the clock's, so that it holds however busy the machine is.
const PROVER_SECONDS: u64 = 600;

/// Why3 takes a goal apart in a few seconds, or never comes to an end: it has too many paths.
const SPLIT_SECONDS: u64 = 120;

/// Nor more memory than this: such a goal makes Why3 take all that there is.
const MOST_BYTES: u64 = 4 << 30;

/// Z3 by triggers alone: with model-based instantiation it searches long for models that are of no
/// use here. How eagerly it should make instances is a matter of luck: the cost from which on an
/// instance has to wait, and which part of all steps it gets.
const ATTEMPTS: [(u32, u64); 3] = [(5, 3), (10, 3), (5, 1)];

/// Steps in which a contradiction between assumptions would be found.
const SOON: u64 = 200_000;

const CVC4_LIMIT: &str = "--rlimit=20000";

fn z3(smt: &Path, threshold: u32, steps: u64) -> Command {
    let mut command = Command::new("z3");
    command.args(["-smt2", "smt.mbqi=false", "smt.random_seed=42", "sat.random_seed=42"]);
    command.arg("nlsat.randomize=false").arg(format!("smt.qi.eager_threshold={threshold}"));
    command.arg(format!("rlimit={steps}")).arg(smt);
    command
}

fn unsat(command: Command) -> Result<bool, Error> {
    let output = bounded(command, PROVER_SECONDS)?;
    Ok(output.is_some_and(|output| output.stdout.starts_with(b"unsat")))
}

/// By the number at its end; Why3 gives the first one none.
fn numbered(name: &str) -> (String, u32) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}

/// The output of a command; `None` if it takes more seconds of a processor, or more memory than [`MOST_BYTES`].
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
    // SAFETY: the closure makes two system calls, and allocates nothing.
    unsafe { command.pre_exec(limits) };
    let output = command.stdin(Stdio::null()).output().map_err(Error::NoWhy3)?;
    let stopped = matches!(output.status.signal(), Some(libc::SIGXCPU | libc::SIGKILL | libc::SIGABRT));
    // Why3 is written in OCaml.
    let full =
        || String::from_utf8_lossy(&output.stderr).to_lowercase().replace('_', " ").contains("out of memory");
    Ok((!stopped && (output.status.success() || !full())).then_some(output))
}

/// What a program says of itself.
fn version(program: &str, before: &str) -> io::Result<String> {
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
    fn parts_are_in_order() {
        let mut names = ["f10", "f", "f2", "f1"];
        names.sort_by_cached_key(|name| numbered(name));
        assert_eq!(names, ["f", "f1", "f2", "f10"]);
    }
}
