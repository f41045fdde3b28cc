//! Many runs at once: every core of the host simulates one.

use crate::engine::{Config, Engine};
use crate::error::SimError;
use crate::native::Native;
use hearth_machine::Machine;
use hearth_machine::frequency::Governor;
use hearth_policy::Settings;
use hearth_trace::{CoreInfo, Header, Metrics, Sink, Source, Summary, ThreadInfo, TraceHash};
use hearth_workload::{Op, Workload};
use rayon::prelude::*;
use std::time::Instant;

/// Simulated time after which a run is given up.
pub const LIMIT_S: u64 = 24 * 3600;

/// Each `Run` takes its cycles plus or minus so much, by the seed.
pub const NOISE: f64 = 0.02;

/// One run.
pub struct Job<'a> {
    pub workload: &'a Workload,
    pub machine: &'a Machine,
    pub governor: Governor,
    pub policy: &'a Native,
    pub params: &'a Settings,
    pub seed: u64,
    /// See [`NOISE`].
    pub noise: f64,
}

/// What one run gave.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub summary: Summary,
    /// From the start of the workload to its last exit, in seconds.
    pub time_s: f64,
    /// Of the whole machine, in joules.
    pub energy_j: f64,
    /// Events of the trace.
    pub events: u64,
    /// Time that the simulation took.
    pub wall_s: f64,
    pub trace_hash: String,
    /// Cycles that the workload asked for (with noise), and that were executed.
    pub demanded_cycles: f64,
    pub executed_cycles: f64,
    /// The header of the trace, complete.
    pub header: Header,
}

/// Runs one job. `sink` is given every event, for who wants the trace.
pub fn run(job: &Job, sink: &mut dyn Sink) -> Result<Outcome, SimError> {
    let begin = Instant::now();
    let mut header = header(job);
    let mut hash = TraceHash::new();
    let mut metrics = Metrics::new(&header);
    let params = job.params.values(job.policy.policy())?;
    let config = Config {
        workload: job.workload,
        machine: job.machine,
        governor: job.governor,
        policy: job.policy,
        params: &params,
        seed: job.seed,
        noise: job.noise,
        limit_s: LIMIT_S,
    };
    let mut sinks = ((&mut hash, &mut metrics), sink);
    let raw = Engine::new(config, &mut sinks)?.run()?;
    header.duration = raw.duration_ns;
    header.energy_uj = raw.energy_uj;
    Ok(Outcome {
        summary: metrics.finish(raw.duration_ns),
        time_s: raw.duration_ns as f64 / 1e9,
        energy_j: raw.energy_uj as f64 / 1e6,
        events: raw.events,
        wall_s: begin.elapsed().as_secs_f64(),
        trace_hash: hash.hex(),
        demanded_cycles: raw.demanded as f64 / 1e6,
        executed_cycles: raw.executed as f64 / 1e6,
        header,
    })
}

/// Runs all jobs on `threads` threads (0: as many as the host has cores). Outcomes are in the
/// order of the jobs, whatever the number of threads; `done` is called after each.
pub fn run_all(jobs: &[Job], threads: usize, done: impl Fn() + Sync) -> Vec<Result<Outcome, SimError>> {
    map_jobs(jobs, threads, |_, job| {
        let outcome = run(job, &mut ());
        done();
        outcome
    })
}

/// Calls `work` with the number and the job of each, as [`run_all`] does: for who gives runs their own sinks.
pub fn map_jobs<R: Send>(jobs: &[Job], threads: usize, work: impl Fn(usize, &Job) -> R + Sync) -> Vec<R> {
    let all = || jobs.par_iter().enumerate().with_max_len(1).map(|(number, job)| work(number, job)).collect();
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(all),
        // No threads to be had: the caller's own does it.
        Err(_) => jobs.iter().enumerate().map(|(number, job)| work(number, job)).collect(),
    }
}

/// All of a trace's header that is known before the run.
pub fn header(job: &Job) -> Header {
    let topology = &job.machine.topology;
    let policy = job.policy.policy();
    let mut parents = vec![0; job.workload.threads.len()];
    fn find(ops: &[Op], parent: u32, parents: &mut [u32]) {
        for op in ops {
            match op {
                Op::Fork(child) => parents[*child as usize] = parent,
                Op::Repeat(_, ops) => find(ops, parent, parents),
                _ => {}
            }
        }
    }
    for (idx, thread) in job.workload.threads.iter().enumerate() {
        find(&thread.ops, idx as u32 + 1, &mut parents);
    }
    Header {
        source: Source::Simulated {
            policy: policy.name().to_owned(),
            params: job.params.shown(policy).collect(),
            workload: job.workload.name.clone(),
            governor: job.governor.name().to_owned(),
            seed: job.seed,
        },
        machine: job.machine.name.clone(),
        cores: topology
            .cores
            .iter()
            .map(|c| CoreInfo { physical: c.physical, llc: c.llc, numa: c.numa, socket: c.socket })
            .collect(),
        threads: job
            .workload
            .threads
            .iter()
            .zip(&parents)
            .enumerate()
            .map(|(idx, (thread, parent))| ThreadInfo {
                tid: idx as u32 + 1,
                name: thread.name.clone(),
                parent: *parent,
                traced: true,
            })
            .collect(),
        names: job.workload.program_names(),
        reasons: policy.reasons().to_vec(),
        sets: policy.set_names(),
        idle_states: job.machine.idle.iter().map(|s| s.name.clone()).collect(),
        assumed_khz: job.machine.frequency.nominal_khz,
        khz_range: (job.machine.frequency.min_khz, job.machine.frequency.max_khz()),
        lost: vec![0; topology.core_count()],
        ..Header::default()
    }
}
