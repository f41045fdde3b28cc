//! Scenarios in TOML files.

use std::collections::BTreeMap;

use hearth_base::constants::{MAX_WEIGHT, NICE_0_WEIGHT};
use serde::Deserialize;
use toml::Spanned;

use crate::scenario::{Op, Owner, Scenario, ScenarioError, Start, Stealing, ThreadSpec, Value};
use crate::topology::Topology;

/// Why a text is not a scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioFileError {
    #[error(transparent)]
    Syntax(#[from] toml::de::Error),
    #[error("line {line}: {what}")]
    At { line: usize, what: String },
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    doc: String,
    /// The number of cores, or of pairs of hyperthreads, by LLC.
    cores: Vec<u8>,
    #[serde(default)]
    hyperthreads: bool,
    #[serde(default)]
    offline: Vec<Spanned<u8>>,
    #[serde(default)]
    fast: Vec<Spanned<u8>>,
    #[serde(default)]
    ticks: u8,
    #[serde(default)]
    steals: Stealing,
    thread: Vec<Spanned<Thread>>,
    #[serde(default)]
    set: Vec<Set>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Thread {
    on: Option<u8>,
    blocked_on: Option<u8>,
    #[serde(default)]
    does: Vec<Spanned<String>>,
    times: Option<u8>,
    #[serde(default)]
    allowed: Vec<Spanned<u8>>,
    weight: Option<Spanned<u32>>,
    #[serde(default)]
    runtime: i64,
}

/// Initial values of attributes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    core: Option<u8>,
    thread: Option<u8>,
    to: BTreeMap<String, i64>,
}

/// The line of a place in the text.
fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

impl Scenario {
    /// A scenario file with the usual keys.
    pub const EXAMPLE: &str = r#"doc = "a thread exits while another waits behind it"
cores = [2]               # by last-level cache
ticks = 3

[[thread]]                # thread 0 runs on core 0, and exits
on = 0

[[thread]]                # thread 1 is ready behind it
on = 0
does = ["sleep"]          # or "forever", "fork N", ..."#;

    /// Reads a scenario. The book's chapter on the model checker describes the format.
    ///
    /// # Errors
    /// If the text is not TOML, has an unknown field or operation, or describes what cannot be explored.
    pub fn from_toml(name: &str, text: &str) -> Result<Scenario, ScenarioFileError> {
        let file: File = toml::from_str(text)?;
        let at = |span: std::ops::Range<usize>, what: String| ScenarioFileError::At {
            line: line(text, span.start),
            what,
        };
        let topology = if file.hyperthreads { Topology::smt_llcs } else { Topology::llcs };
        let cores: usize = file.cores.iter().map(|cores| usize::from(*cores)).sum();
        let cores = if file.hyperthreads { 2 * cores } else { cores };
        if cores == 0 || cores > crate::cores::Cores::MAX {
            return Err(ScenarioError::Cores(cores).into());
        }
        let set = |of: &[Spanned<u8>]| {
            let missing = of.iter().find(|core| usize::from(*core.get_ref()) >= cores);
            missing.map_or(Ok(()), |core| {
                Err(at(
                    core.span(),
                    format!("there is no core {}; the last is {}", core.get_ref(), cores - 1),
                ))
            })?;
            Ok::<_, ScenarioFileError>(of.iter().map(|core| *core.get_ref()).collect())
        };
        let thread = |spanned: &Spanned<Thread>| {
            let thread = spanned.get_ref();
            let start = match (thread.on, thread.blocked_on) {
                (Some(core), None) => Start::Awake(core),
                (None, Some(core)) => Start::Blocked(core),
                (None, None) => Start::Forked,
                _ => return Err(at(spanned.span(), "a thread has `on` or `blocked_on`, not both".into())),
            };
            let weight = thread.weight.as_ref();
            if let Some(weight) = weight.filter(|weight| !(1..=MAX_WEIGHT).contains(weight.get_ref())) {
                return Err(at(weight.span(), format!("a weight is 1 to {MAX_WEIGHT}")));
            }
            let once = |op: &Spanned<String>| parse(op.get_ref()).map_err(|what| at(op.span(), what));
            let program = thread.does.iter().map(once).collect::<Result<Vec<Op>, _>>()?;
            Ok(ThreadSpec {
                affinity: set(&thread.allowed)?,
                weight: weight.map_or(NICE_0_WEIGHT, |weight| *weight.get_ref()),
                runtime: thread.runtime,
                ..ThreadSpec::new(start, &program.repeat(thread.times.unwrap_or(1).into()))
            })
        };
        let values = file.set.iter().flat_map(|set| {
            let of = match (set.core, set.thread) {
                (Some(core), _) => Owner::Core(core),
                (None, Some(thread)) => Owner::Thread(thread),
                (None, None) => Owner::Global,
            };
            set.to.iter().map(move |(name, value)| Value { of, name: name.clone(), value: *value })
        });
        let scenario = Scenario {
            name: name.to_owned(),
            doc: file.doc,
            topology: topology(&file.cores),
            threads: file.thread.iter().map(thread).collect::<Result<_, _>>()?,
            ticks: file.ticks,
            fast: set(&file.fast)?,
            offline: set(&file.offline)?,
            values: values.collect(),
            stealing: file.steals,
        };
        scenario.check()?;
        Ok(scenario)
    }
}

/// An operation of a program.
fn parse(text: &str) -> Result<Op, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| {
        word.parse::<u8>()
            .map_err(|_| format!("in `{text}`, `{word}` is not the number of a thread; the first is 0"))
    };
    match words.as_slice() {
        ["block"] => Ok(Op::Block),
        ["sleep"] => Ok(Op::Sleep),
        ["yield"] => Ok(Op::Yield),
        ["forever"] => Ok(Op::Forever),
        ["wake", thread] => number(thread).map(Op::Wake),
        ["fork", thread] => number(thread).map(Op::Fork),
        _ => Err(format!(
            "`{text}` is not an operation; expected `block`, `sleep`, `yield`, `forever`, `wake THREAD` or `fork THREAD`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_sound() {
        let scenario = Scenario::from_toml("example", Scenario::EXAMPLE);
        assert!(scenario.as_ref().is_ok_and(|scenario| scenario.check().is_ok()), "{:?}", scenario.err());
    }
}
