//! The report about plays of a workload on a live kernel.

use crate::WorkloadFacts;
use crate::statistics::Sample;
use hearth_play::{Calibration, Counts, Host, Latencies, Options, Run};
use hearth_trace::Latency;
use serde::Serialize;

/// Plays of one workload. Serializes with schema hearth.play/1, which docs/src/json.md describes.
/// Field names are stable; fields may be added.
#[derive(Serialize)]
pub struct Plays {
    schema: &'static str,
    pub workload: WorkloadFacts,
    pub host: Host,
    settings: Settings,
    calibration: CalibrationFacts,
    pub runs: Vec<RunFacts>,
    pub overall: Overall,
}

#[derive(Serialize)]
struct Settings {
    ghz: f64,
    scale: f64,
    burn: String,
    timeout_s: f64,
}

#[derive(Serialize)]
struct CalibrationFacts {
    measured: bool,
    loops_per_s: f64,
    noise: f64,
}

/// One play.
#[derive(Serialize)]
pub struct RunFacts {
    pub time_s: f64,
    pub cpu_s: f64,
    pub system_s: f64,
    pub work_s: f64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub cores_used: u32,
    pub migrations: u64,
    pub counts: Counts,
    #[serde(flatten)]
    pub latencies: LatencyFacts,
}

/// Statistics of all plays.
#[derive(Serialize)]
pub struct Overall {
    pub time_s_mean: f64,
    pub time_s_deviation: f64,
    #[serde(flatten)]
    pub latencies: LatencyFacts,
}

/// Latencies in microseconds.
#[derive(Serialize)]
pub struct LatencyFacts {
    pub wakeup_latency_us: Latency,
    pub timer_latency_us: Latency,
    pub fork_latency_us: Latency,
    pub request_latency_us: Latency,
}

impl LatencyFacts {
    fn of(latencies: &Latencies) -> Self {
        LatencyFacts {
            wakeup_latency_us: latencies.wakeup.summary(),
            timer_latency_us: latencies.timer.summary(),
            fork_latency_us: latencies.fork.summary(),
            request_latency_us: latencies.request.summary(),
        }
    }
}

impl RunFacts {
    fn of(run: &Run) -> Self {
        RunFacts {
            time_s: run.time_s,
            cpu_s: run.cpu_s,
            system_s: run.system_s,
            work_s: run.work_s,
            voluntary_switches: run.voluntary_switches,
            involuntary_switches: run.involuntary_switches,
            cores_used: run.cores_used,
            migrations: run.migrations,
            counts: run.counts,
            latencies: LatencyFacts::of(&run.latencies),
        }
    }
}

impl Plays {
    /// The report of `runs` with these options. Detects the host.
    pub fn new(workload: WorkloadFacts, options: &Options, calibration: Calibration, runs: &[Run]) -> Self {
        let mut latencies = Latencies::default();
        runs.iter().for_each(|run| latencies.add(&run.latencies));
        let time = Sample::of(runs.iter().map(|run| run.time_s));
        Plays {
            schema: "hearth.play/1",
            workload,
            host: Host::detect(),
            settings: Settings {
                ghz: options.ghz,
                scale: options.scale,
                burn: options.burn.to_string(),
                timeout_s: options.timeout.as_secs_f64(),
            },
            calibration: CalibrationFacts {
                measured: calibration.measured,
                loops_per_s: calibration.loops_per_s,
                noise: calibration.noise,
            },
            overall: Overall {
                time_s_mean: time.map_or(0.0, |time| time.mean),
                time_s_deviation: time.map_or(0.0, |time| time.deviation),
                latencies: LatencyFacts::of(&latencies),
            },
            runs: runs.iter().map(RunFacts::of).collect(),
        }
    }
}
