//! Single runs, and batches of runs in parallel.

use crate::engine::Engine;
use crate::error::SimError;
use crate::native::Native;
use crate::thread::for_each_child;
use crate::world::{WARM_UP_NS, World, background};
use hearth_machine::{Driver, Governor, Machine};
use hearth_policy::Settings;
use hearth_trace::{CoreInfo, Header, Metrics, Sink, Source, Summary, ThreadInfo, TraceHash};
use hearth_workload::{Thread, Workload};
use rayon::prelude::*;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Default simulated time after which a run fails.
pub const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Default number of events after which a run fails: several minutes of computing, and gigabytes of a trace.
pub const MOST_EVENTS: u64 = 1 << 30;

/// Default noise: each `Run` takes its cycles plus or minus at most this fraction, depending on the seed.
pub const NOISE: f64 = 0.02;

/// The inputs of one run. [`Job::new`] has defaults for the options.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub workload: &'a Workload,
    pub machine: &'a Machine,
    pub policy: &'a Native,
    /// Default: `schedutil`.
    pub governor: Governor,
    /// Default: the first of the machine's that offers the governor.
    pub driver: Option<Driver>,
    /// Default: the initial values.
    pub params: &'a Settings,
    /// Default: 1.
    pub seed: u64,
    /// Each `Run` takes `1 - noise` to `1 + noise` of its cycles, depending on the seed. Default: [`NOISE`].
    pub noise: f64,
    /// Default: [`World::default`].
    pub world: World,
    /// Simulated time after which the run fails. Default: [`LIMIT`].
    pub limit: Duration,
    /// Events after which the run fails, soon. Default: `MOST_EVENTS`.
    pub most_events: u64,
    /// The run stops soon after it becomes true.
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> Job<'a> {
    pub fn new(workload: &'a Workload, machine: &'a Machine, policy: &'a Native) -> Job<'a> {
        static INITIAL: LazyLock<Settings> = LazyLock::new(Settings::default);
        Job {
            workload,
            machine,
            policy,
            governor: Governor::Schedutil,
            driver: None,
            params: &INITIAL,
            seed: 1,
            noise: NOISE,
            world: World::default(),
            limit: LIMIT,
            most_events: MOST_EVENTS,
            stop: None,
        }
    }
}

/// The result of one run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub summary: Summary,
    /// From the start of the workload to its last exit, in seconds.
    pub time_s: f64,
    /// Energy of the whole machine, in joules. Not a number: the machine's power is unknown.
    pub energy_j: f64,
    /// Number of events of the trace.
    pub events: u64,
    /// Wall-clock time of the simulation, in seconds.
    pub wall_s: f64,
    pub trace_hash: String,
    /// Cycles of the workload's `Run` steps, noise included.
    pub demanded_cycles: f64,
    /// Cycles that cores executed for them.
    pub executed_cycles: f64,
    /// The complete header of the trace.
    pub header: Header,
}

/// Runs one job. `sink` receives every event.
///
/// # Errors
/// If a parameter, affinity or thread graph is invalid, the policy violates a rule of SaaKM, all threads wait, the
/// simulated time or the number of events exceeds its limit, or `stop` becomes true.
pub fn run(job: &Job, sink: &mut dyn Sink) -> Result<Outcome, SimError> {
    let begin = Instant::now();
    let mut header = header(job);
    let mut hash = TraceHash::new();
    let mut metrics = Metrics::new(&header);
    let params = job.params.values(job.policy.policy())?;
    let background = background_of(job);
    let before = match job.world.warm {
        true => Some(Engine::warm_up(job, &params, &background, WARM_UP_NS)?),
        false => None,
    };
    let mut sinks = ((&mut hash, &mut metrics), sink);
    let raw = Engine::new(job, &params, &background, &mut sinks)?.run(before)?;
    header.duration = raw.duration_ns;
    header.energy_uj = raw.energy_uj.unwrap_or(0);
    header.energy_by_time = raw.energy_by_time;
    Ok(Outcome {
        summary: metrics.finish(raw.duration_ns),
        time_s: raw.duration_ns as f64 / 1e9,
        energy_j: raw.energy_uj.map_or(f64::NAN, |uj| uj as f64 / 1e6),
        events: raw.events,
        wall_s: begin.elapsed().as_secs_f64(),
        trace_hash: hash.hex(),
        demanded_cycles: raw.demanded as f64 / 1e6,
        executed_cycles: raw.executed as f64 / 1e6,
        header,
    })
}

/// Runs all jobs on `threads` threads (0 means one per core of the host) and calls `done` after each. Outcomes are
/// in the order of the jobs and do not depend on the number of threads.
pub fn run_all(jobs: &[Job], threads: usize, done: impl Fn() + Sync) -> Vec<Result<Outcome, SimError>> {
    map_jobs(jobs, threads, |_, job| {
        let outcome = run(job, &mut ());
        done();
        outcome
    })
}

/// Calls `work` with the index and the job of each run, in parallel as [`run_all`] does. Use it to give each run its
/// own sink.
pub fn map_jobs<R: Send>(jobs: &[Job], threads: usize, work: impl Fn(usize, &Job) -> R + Sync) -> Vec<R> {
    let all = || jobs.par_iter().enumerate().with_max_len(1).map(|(number, job)| work(number, job)).collect();
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(all),
        // Without worker threads, the calling thread runs the jobs.
        Err(_) => jobs.iter().enumerate().map(|(number, job)| work(number, job)).collect(),
    }
}

/// The threads of the job's world that are not in its workload.
fn background_of(job: &Job) -> Vec<Thread> {
    if job.world.daemons { background(job.machine.frequency.nominal_khz, job.seed) } else { Vec::new() }
}

/// The governor's name, or `no governor` on a machine whose kernel has none.
pub fn governor_name(machine: &Machine, governor: Governor) -> &'static str {
    if machine.has_governor() { governor.name() } else { "no governor" }
}

/// The trace header of a run, without what is only known at its end (duration and energy).
pub fn header(job: &Job) -> Header {
    let topology = &job.machine.topology;
    let policy = job.policy.policy();
    let workload = job.workload.threads.len();
    let background = background_of(job);
    let mut parents = vec![0; workload + background.len()];
    for (idx, thread) in job.workload.threads.iter().enumerate() {
        for_each_child(&thread.ops, &mut |child| parents[child as usize] = idx as u32 + 1);
    }
    Header {
        source: Source::Simulated {
            policy: policy.name().to_owned(),
            params: job.params.shown(policy).collect(),
            workload: job.workload.name.clone(),
            governor: governor_name(job.machine, job.governor).to_owned(),
            seed: job.seed,
        },
        machine: job.machine.name.clone(),
        sync: true,
        cores: topology
            .cores
            .iter()
            .map(|c| CoreInfo { physical: c.physical, llc: c.llc, numa: c.numa, socket: c.socket })
            .collect(),
        threads: job
            .workload
            .threads
            .iter()
            .chain(&background)
            .zip(&parents)
            .enumerate()
            .map(|(idx, (thread, parent))| ThreadInfo {
                tid: idx as u32 + 1,
                name: thread.name.clone(),
                parent: *parent,
                traced: idx < workload,
                ..ThreadInfo::default()
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
