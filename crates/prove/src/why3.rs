//! Why3 as a program: finding it and its provers, and reading its results.

use crate::report::Verdict;
use crate::run::Options;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot run why3: {0}")]
    NoWhy3(io::Error),
    #[error("why3 knows no prover")]
    NoProver,
    #[error("why3 does not understand what was emitted: {0}")]
    Rejected(String),
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::NoWhy3(_) => Some("install why3 and z3 (on Debian: apt-get install why3 z3)"),
            Error::NoProver => {
                Some("install z3 (on Debian: apt-get install z3); a second prover, cvc4 or cvc5, is of use")
            }
            Error::Write { .. } => None,
            Error::Rejected(_) => Some("please report this, with the policy: it is a bug of hearth's"),
        }
    }
}

/// A goal of a module.
pub struct Goal<'a> {
    pub module: &'a str,
    pub goal: &'a str,
}

pub struct Why3 {
    folder: PathBuf,
    config: PathBuf,
    /// As `why3 prove -P` wants them, the first one first.
    provers: Vec<String>,
    steps: u64,
    seconds: u64,
    /// For an obligation with all its parts: then Why3 is stopped.
    whole: Duration,
}

impl Why3 {
    /// Looks for provers, and makes a configuration of Why3 in `folder`: the user's own is not used,
    /// so that results are the same for all.
    pub fn find(folder: &Path, options: &Options) -> Result<Self, Error> {
        version("why3", "version ").map_err(Error::NoWhy3)?;
        let mut text = "[main]\nmagic = 14\n".to_owned();
        let mut provers = Vec::new();
        if let Ok(version) = version("z3", "Z3 version ") {
            text += &z3(&version);
            provers.extend(Z3_VARIANTS.map(|(name, _)| format!("Z3,{version},{name}")));
        }
        if let Ok(version) = version("cvc4", "CVC4 version ") {
            text +=
                &format!("\n[partial_prover]\nname = \"CVC4\"\npath = \"cvc4\"\nversion = \"{version}\"\n");
            // Not one of its variants for counterexamples or strings.
            provers.push(format!("CVC4,{version},"));
        }
        if provers.is_empty() {
            return Err(Error::NoProver);
        }
        let config = folder.join("why3.conf");
        std::fs::write(&config, text).map_err(|error| Error::Write { path: config.clone(), error })?;
        let seconds = options.time.as_secs().max(1);
        Ok(Why3 {
            folder: folder.to_owned(),
            config,
            provers,
            steps: options.steps,
            seconds,
            whole: options.whole,
        })
    }

    /// Proves a goal, or all of a file.
    pub fn prove(&self, file: &Path, goal: Option<&Goal>) -> Result<(Verdict, f64), Error> {
        let mut seconds = 0.0;
        let mut left: Option<Vec<Part>> = None;
        let mut used = Vec::new();
        for prover in &self.provers {
            let parts = self.run(prover, file, goal)?;
            seconds += parts.iter().map(|part| part.time).sum::<f64>();
            let name = prover.split(',').next().unwrap_or_default();
            if !used.contains(&name) {
                used.push(name);
            }
            let open: Vec<Part> = parts.into_iter().filter(|part| !part.valid).collect();
            // What one prover has shown is done, whatever the next one says.
            let still = match left {
                None => open,
                Some(before) => before.into_iter().filter(|part| open.contains(part)).collect(),
            };
            if still.is_empty() {
                return Ok((Verdict::Holds { prover: used.join(" + ").to_lowercase() }, seconds));
            }
            left = Some(still);
        }
        let parts = left.unwrap_or_default().into_iter().map(|part| part.name).collect();
        Ok((Verdict::NotProved { parts }, seconds))
    }

    fn run(&self, prover: &str, file: &Path, goal: Option<&Goal>) -> Result<Vec<Part>, Error> {
        let mut command = Command::new("why3");
        command.arg("-C").arg(&self.config).args(["prove", "--json", "-a", "split_vc", "-P", prover]);
        command.arg("-L").arg(&self.folder);
        if prover.starts_with("Z3") {
            command.args(["-s", &self.steps.to_string(), "-t", &self.seconds.to_string()]);
        } else {
            // Its steps are others: a short time is all that it gets.
            command.args(["-t", "2"]);
        }
        command.arg(file);
        if let Some(Goal { module, goal }) = goal {
            command.args(["-T", module, "-G", goal]);
        }
        let output = bounded(command, self.whole)?;
        let Some(output) = output else {
            let name = format!("why3 was not done after {} s", self.whole.as_secs());
            return Ok(vec![Part { name, at: (0, 0, 0), nth: 0, valid: false, time: 0.0 }]);
        };
        let parts = parse(&output.stdout);
        if parts.is_empty() {
            return Err(Error::Rejected(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(parts)
    }
}

/// The output of a command; `None` if it takes too long, and is stopped.
fn bounded(mut command: Command, limit: Duration) -> Result<Option<Output>, Error> {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    let mut child = piped.spawn().map_err(Error::NoWhy3)?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read = |pipe: Option<Box<dyn io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut text));
            text
        })
    };
    let out = read(out.map(|pipe| Box::new(pipe) as _));
    let err = read(err.map(|pipe| Box::new(pipe) as _));
    let start = Instant::now();
    let status = loop {
        match child.try_wait().map_err(Error::NoWhy3)? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let stdout = out.join().unwrap_or_default();
    let stderr = err.join().unwrap_or_default();
    Ok(Some(Output { status, stdout, stderr }))
}

/// What a program says of itself.
fn version(program: &str, before: &str) -> io::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split(before).nth(1).and_then(|rest| rest.split_whitespace().next());
    version.map(str::to_owned).ok_or_else(|| io::Error::other(format!("{program} does not say its version")))
}

/// Z3 by triggers alone: with model-based instantiation it searches long for models that are of no
/// use here. Twice: how eagerly it makes instances is a matter of luck. Bounded by steps, so that the
/// same holds on each machine, however busy.
fn z3(version: &str) -> String {
    let variant = |(name, threshold): &(&str, u32)| {
        let options = format!(
            "smt.mbqi=false smt.qi.eager_threshold={threshold} sat.random_seed=42 nlsat.randomize=false \
             smt.random_seed=42 -st"
        );
        format!(
            "\n[prover]\nname = \"Z3\"\nversion = \"{version}\"\nalternative = \"{name}\"\n\
             driver = \"z3_471\"\ncommand = \"z3 -smt2 -T:%t {options} %f\"\n\
             command_steps = \"z3 -smt2 {options} rlimit=%S %f\"\neditor = \"\"\n\
             in_place = false\ninteractive = false\n"
        )
    };
    Z3_VARIANTS.iter().map(variant).collect()
}

/// Names, and from which cost on an instance has to wait.
const Z3_VARIANTS: [(&str, u32); 2] = [("eager", 10), ("patient", 5)];

/// Why3 splits a goal into parts.
#[derive(Debug)]
struct Part {
    name: String,
    at: (u32, u32, u32),
    /// How many parts before it have this name and place.
    nth: usize,
    valid: bool,
    time: f64,
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        (&self.name, self.at, self.nth) == (&other.name, other.at, other.nth)
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "prover-result")]
    result: ProverResult,
    term: Term,
}

#[derive(Deserialize)]
struct ProverResult {
    answer: String,
    time: f64,
}

#[derive(Deserialize)]
struct Term {
    goal_name: String,
    explanations: Vec<String>,
    loc: Option<Location>,
}

#[derive(Deserialize)]
struct Location {
    line: u32,
    #[serde(rename = "start-char")]
    start: u32,
    #[serde(rename = "end-char")]
    end: u32,
}

/// One answer after the other.
fn parse(output: &[u8]) -> Vec<Part> {
    let answers = serde_json::Deserializer::from_slice(output).into_iter::<Answer>();
    let mut parts: Vec<Part> = Vec::new();
    for answer in answers.map_while(Result::ok) {
        let name = match answer.term.explanations.first() {
            Some(explanation) => explanation.clone(),
            None => answer.term.goal_name,
        };
        let at = answer.term.loc.map_or((0, 0, 0), |loc| (loc.line, loc.start, loc.end));
        let nth = parts.iter().filter(|part| part.name == name && part.at == at).count();
        let valid = answer.result.answer == "Valid";
        parts.push(Part { name, at, nth, valid, time: answer.result.time });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let text = br#"{"prover-result": {"answer": "Valid", "ce-models": [], "status": "", "step": 3, "time": 0.5},
            "term": {"explanations": ["postcondition"], "goal_name": "f'vc", "loc": null}}
            {"prover-result": {"answer": "Unknown\n(unknown)", "ce-models": [], "status": "", "step": 3, "time": 1},
            "term": {"explanations": [], "goal_name": "g",
                     "loc": {"end-char": 14, "filename": "x", "line": 5, "start-char": 9}}}"#;
        let parts = parse(text);
        assert_eq!(parts.len(), 2);
        assert!(parts[0].valid && parts[0].name == "postcondition");
        assert!(!parts[1].valid && parts[1].name == "g" && parts[1].at == (5, 9, 14));
    }
}
