//! What can go wrong in a simulation.

use hearth_policy::ParamError;

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("policy `{policy}` broke the rules of SaaKM at {time_ns} ns: {what}")]
    Illegal { policy: String, time_ns: u64, what: String },

    #[error(
        "workload `{workload}` is stuck: at {time_ns} ns every thread that is left waits: {threads}; \
         each `wait` needs a `post`, each barrier all of its threads, each `join` an exit"
    )]
    Stuck { workload: String, time_ns: u64, threads: String },

    #[error(
        "the simulated time passed the limit of {limit_s} s; is the workload too large, or does the policy starve a thread?"
    )]
    TimeLimit { limit_s: u64 },

    #[error(
        "thread `{thread}` may run on no core of machine `{machine}`: its affinity names {named}, the machine has cores 0 to {last}"
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
        "policy `{name}` must be compiled, and the C compiler `{compiler}` cannot be started ({source}); \
         install one (Debian: apt-get install gcc) or name it in the variable CC"
    )]
    NoCompiler { name: String, compiler: String, source: std::io::Error },

    #[error(
        "the C compiler rejected what was made of policy `{name}`; this is a defect of hearth, please report it:\n{output}"
    )]
    Compiler { name: String, output: String },

    #[error("cannot load compiled policy `{name}`: {what}")]
    Load { name: String, what: String },
}
