//! A small world: a machine, threads, and what these may do.

use serde::{Deserialize, Serialize};

use crate::cores::Cores;
use crate::topology::Topology;
use crate::world::MAX_THREADS;

/// What a thread does, one after the other. Between two operations it runs for a while, in which
/// anything can happen elsewhere. After the last one it exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Makes a thread that starts as [`Start::Forked`]; nothing if it has been made.
    Fork(u8),
    /// Wakes a blocked thread. One that is awake does not block the next time; one that is not made
    /// yet, or has exited, does not notice.
    Wake(u8),
    /// Blocks until another thread wakes it.
    Block,
    /// Blocks until an interrupt on its core wakes it, sooner or later.
    Sleep,
    Yield,
    /// Runs as long as it is watched.
    Forever,
}

/// How a thread comes into the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It was made on this core before. The first one there runs, the others are ready.
    Awake(u8),
    /// The same, but it has run and blocked since: another thread wakes it.
    Blocked(u8),
    /// Another thread makes it.
    Forked,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSpec {
    pub start: Start,
    pub program: Vec<Op>,
    /// Cores that it may use; empty: all.
    #[serde(default)]
    pub affinity: Cores,
    /// 1024 at nice 0, as in Linux.
    #[serde(default = "nice_0")]
    pub weight: u32,
}

fn nice_0() -> u32 {
    1024
}

impl ThreadSpec {
    pub fn new(start: Start, program: &[Op]) -> ThreadSpec {
        ThreadSpec { start, program: program.to_vec(), affinity: Cores::EMPTY, weight: nice_0() }
    }

    pub fn on(mut self, affinity: &[u8]) -> ThreadSpec {
        self.affinity = affinity.iter().copied().collect();
        self
    }
}

/// How a steal takes a thread that it has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stealing {
    /// The third phase has the queues of both cores locked from its first check to its last move,
    /// for one victim. Other cores see all of it or nothing.
    #[default]
    Locked,
    /// As `runtime/bpf` does it: nothing is locked, and whoever first takes a ready thread has it.
    /// A thread that is no longer ready is left alone.
    CompareAndSwap,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    pub name: String,
    /// What it is for, in a sentence.
    pub doc: String,
    pub topology: Topology,
    pub threads: Vec<ThreadSpec>,
    /// How often the clock goes on by a tick of 4 ms.
    pub ticks: u8,
    /// Cores that the policy sees above their lowest frequency.
    #[serde(default)]
    pub fast: Cores,
    #[serde(default)]
    pub stealing: Stealing,
}

/// Why a scenario cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    #[error("no scenario is called `{0}`; there are: {1}")]
    Unknown(String, String),
    #[error("a machine has 1 to {max} cores, this one has {0}", max = Cores::MAX)]
    Cores(usize),
    #[error("at most {MAX_THREADS} threads can be explored, these are {0}")]
    Threads(usize),
    #[error("thread {thread} speaks of {what}, which does not exist")]
    Dangling { thread: usize, what: String },
    #[error("the {0} of the cores are not numbered from 0 in their order")]
    Numbering(&'static str),
    #[error("thread {0} has more than 255 operations")]
    Program(usize),
    #[error("the policy has {0} ready queues on a core; at most {max} can be explored", max = crate::world::MAX_QUEUES)]
    Queues(usize),
}

impl Scenario {
    /// Is everything that it speaks of there?
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
        if self.threads.len() > MAX_THREADS {
            return Err(ScenarioError::Threads(self.threads.len()));
        }
        for (thread, spec) in self.threads.iter().enumerate() {
            if spec.program.len() > usize::from(u8::MAX) {
                return Err(ScenarioError::Program(thread));
            }
            let dangling = |what: String| Err(ScenarioError::Dangling { thread, what });
            if let Start::Awake(core) | Start::Blocked(core) = spec.start
                && usize::from(core) >= cores
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
