//! Scenarios: a small machine, threads, and their programs.

use hearth_base::constants::NICE_0_WEIGHT;
use serde::{Deserialize, Serialize};

use crate::cores::Cores;
use crate::topology::Topology;
use crate::world::MAX_THREADS;

/// An operation of a thread's program. Between two operations the thread runs for a while, and other cores
/// can do anything. After its last operation the thread exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Creates a thread that starts as [`Start::Forked`]. No effect if it exists.
    Fork(u8),
    /// Wakes a blocked thread. A thread that is awake skips its next [`Op::Block`]. No effect on a thread that was not
    /// created or has exited.
    Wake(u8),
    /// Blocks until another thread wakes it.
    Block,
    /// Blocks until an interrupt on its core wakes it, at any later time.
    Sleep,
    Yield,
    /// Runs until the end of the exploration.
    Forever,
}

/// The initial state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// On this core. The first one there runs, the others are ready.
    Awake(u8),
    /// Blocked after running on this core. Another thread wakes it.
    Blocked(u8),
    /// Not created yet. Another thread forks it.
    Forked,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSpec {
    pub start: Start,
    pub program: Vec<Op>,
    /// Cores that it may run on. Empty means all.
    #[serde(default)]
    pub affinity: Cores,
    /// As in Linux: [`NICE_0_WEIGHT`] at nice 0.
    #[serde(default = "nice_0")]
    pub weight: u32,
    /// Execution time before it is created, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runtime: i64,
}

/// An attribute's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Global,
    Core(u8),
    Thread(u8),
}

/// The value of an attribute of the policy in the initial state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    pub of: Owner,
    pub name: String,
    pub value: i64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn nice_0() -> u32 {
    NICE_0_WEIGHT
}

impl ThreadSpec {
    pub fn new(start: Start, program: &[Op]) -> ThreadSpec {
        ThreadSpec { start, program: program.to_vec(), affinity: Cores::EMPTY, weight: nice_0(), runtime: 0 }
    }

    pub fn on(mut self, affinity: &[u8]) -> ThreadSpec {
        self.affinity = affinity.iter().copied().collect();
        self
    }
}

/// The atomicity of the third phase of a steal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stealing {
    /// The third phase on one victim is atomic: it holds the queues of both cores from its first check to
    /// its last move.
    #[default]
    Locked,
    /// Lock-free, as in `runtime/bpf`: the first core that moves a ready thread gets it. The steal skips a thread
    /// that is no longer ready.
    CompareAndSwap,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    pub name: String,
    /// What it tests, in a sentence.
    pub doc: String,
    pub topology: Topology,
    pub threads: Vec<ThreadSpec>,
    /// How often the clock advances by a tick of 4 ms.
    pub ticks: u8,
    /// Cores that the policy sees above their minimum frequency.
    #[serde(default)]
    pub fast: Cores,
    /// Cores that are off line. A hot-plug ends the policy, and it starts again with the other cores.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offline: Cores,
    /// Attributes of the policy, set when all threads exist. So a counter begins near its limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub values: Vec<Value>,
    #[serde(default)]
    pub stealing: Stealing,
}

/// Why a scenario cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    #[error("there is no scenario `{0}`; expected one of: {1}")]
    Unknown(String, String),
    #[error("a scenario has 1 to {max} cores; this one has {0}", max = Cores::MAX)]
    Cores(usize),
    #[error("a scenario has at most {MAX_THREADS} threads; this one has {0}")]
    Threads(usize),
    #[error("thread {thread} refers to {what}, which does not exist or is off line")]
    Dangling { thread: usize, what: String },
    #[error("number the {0} of the cores from 0, in the order of the cores and without gaps")]
    Numbering(&'static str),
    #[error("thread {0} has more than 255 operations")]
    Program(usize),
    #[error("all cores are off line; leave out one of them")]
    Offline,
    #[error("`{policy}` declares no attribute `{name}` of {owner}")]
    Attribute { policy: String, owner: String, name: String },
    #[error("the policy has {0} ready queues on a core; at most {max} can be explored", max = crate::world::MAX_QUEUES)]
    Queues(usize),
}

impl Scenario {
    /// The cores that are on line.
    pub fn online(&self) -> Cores {
        (0..self.topology.nr_cores() as u8).collect::<Cores>() - self.offline
    }

    /// Checks sizes, numbering and references.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let cores = self.topology.nr_cores();
        if cores == 0 || cores > Cores::MAX || self.topology.physical.len() != cores {
            return Err(ScenarioError::Cores(cores));
        }
        for (what, numbers) in [("physical cores", &self.topology.physical), ("LLCs", &self.topology.llc)] {
            let steps =
                numbers.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0].saturating_add(1));
            if numbers[0] != 0 || !steps {
                return Err(ScenarioError::Numbering(what));
            }
        }
        if self.online().is_empty() {
            return Err(ScenarioError::Offline);
        }
        if self.threads.len() > MAX_THREADS {
            return Err(ScenarioError::Threads(self.threads.len()));
        }
        for (thread, spec) in self.threads.iter().enumerate() {
            if spec.program.len() > usize::from(u8::MAX) {
                return Err(ScenarioError::Program(thread));
            }
            let dangling = |what: String| Err(ScenarioError::Dangling { thread, what });
            if let Start::Awake(core) | Start::Blocked(core) = spec.start
                && !self.online().contains(core)
            {
                return dangling(format!("core {core}"));
            }
            if let Some(core) = spec.affinity.iter().find(|core| usize::from(*core) >= cores) {
                return dangling(format!("core {core}"));
            }
            for op in &spec.program {
                if let Op::Fork(other) | Op::Wake(other) = op
                    && usize::from(*other) >= self.threads.len()
                {
                    return dangling(format!("thread {other}"));
                }
            }
        }
        Ok(())
    }
}
