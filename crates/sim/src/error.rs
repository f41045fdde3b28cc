//! Errors of simulations and of native builds.

use hearth_policy::ParamError;
use std::time::Duration;

/// Why a simulation stopped early.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("policy `{policy}` violated the SaaKM rules at {time_ns} ns: {what}")]
    Illegal { policy: String, time_ns: u64, what: String },

    #[error(
        "workload `{workload}` is deadlocked: at {time_ns} ns all remaining threads wait: {threads}; \
         each `wait` needs a `post`, each barrier all of its threads, each `join` an exit"
    )]
    Stuck { workload: String, time_ns: u64, threads: String },

    #[error(
        "the simulation exceeded {limit:?} of simulated time; is the workload too large, or does the policy starve a thread?"
    )]
    TimeLimit { limit: Duration },

    #[error(
        "the simulation made more than {most} events in {} s of simulated time; is the workload too large, or does the \
         policy move or preempt threads without end?",
        *time_ns as f64 / 1e9
    )]
    Events { most: u64, time_ns: u64 },

    #[error("the simulation was stopped before its end")]
    Stopped,

    #[error(
        "thread `{thread}` cannot run on machine `{machine}`: its affinity is {named}, the machine has cores 0 to {last}"
    )]
    Affinity { thread: String, machine: String, named: String, last: usize },

    #[error("workload `{workload}` is not valid: {what}")]
    Workload { workload: String, what: String },

    #[error(transparent)]
    Param(#[from] ParamError),
}

/// Why a policy has no native code.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(
        "cannot compile policy `{name}`: the C compiler `{compiler}` does not start ({source}); \
         install one (Debian: apt-get install gcc) or name one in the environment variable CC"
    )]
    NoCompiler { name: String, compiler: String, source: std::io::Error },

    #[error(
        "the C compiler rejected the code generated from policy `{name}`; this is a bug in hearth, please report it:\n{output}"
    )]
    Compiler { name: String, output: String },

    #[error("cannot load compiled policy `{name}`: {what}")]
    Load { name: String, what: String },
}
