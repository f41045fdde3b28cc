use crate::failure::{Failure, Outcome};
use crate::output;
use crate::prediction::WorkloadFacts;
use crate::statistics::Sample;
use crate::table::{Plain, number};
use hearth_play::{Burn, Calibration, Counts, Host, Latencies, Options, Player, Run};
use hearth_trace::Latency;
use hearth_workload::Workload;
use serde::Serialize;
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::time::Duration;

/// Play a workload: as real threads on this machine, under the scheduler that it has
///
/// Each thread of the workload is a thread of the kernel; work is a calibrated loop, waiting is a futex. Prints
/// how long it took, and how long threads waited for a core after they were woken or forked. To see where they
/// ran: `hearth record -- hearth play ...`.
#[derive(clap::Args)]
pub struct Args {
    /// A generator (`hearth list workloads`), with `:NAME=VALUE,...` appended under these parameters; or the
    /// path of a workload file or of an rt-app document (what ends in .json or has a `/` is a path)
    #[arg(value_name = "SPEC|FILE")]
    workload: String,

    /// The frequency of the workload's cycles in GHz: N cycles are work that takes N/GHZ ns on an undisturbed
    /// core of this machine
    #[arg(long, value_name = "GHZ", default_value_t = Options::default().ghz)]
    ghz: f64,

    /// Factor on all work; delays stay
    #[arg(long, value_name = "FACTOR", default_value_t = Options::default().scale)]
    scale: f64,

    /// What work is: `work`, rounds of a loop, which take longer on a slow core; or `time`, CPU time of the
    /// thread, the kernel's part included, for emulated machines, where the speed of a core means nothing
    #[arg(long, value_name = "WHAT", default_value_t = Options::default().burn)]
    burn: Burn,

    /// The speed of a core in rounds of the loop per second, so that several plays get the same work
    /// (`calibration.loops_per_s` in the JSON of an earlier one) [default: measured]
    #[arg(long, value_name = "LOOPS")]
    rate: Option<f64>,

    /// Seconds after which a play is stopped, and fails
    #[arg(long, value_name = "SECONDS", default_value_t = Options::default().timeout.as_secs_f64())]
    timeout: f64,

    /// Plays, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: u32,

    /// Print JSON (schema hearth.play/1) instead of a table
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        let timeout = Duration::try_from_secs_f64(self.timeout).ok().filter(|time| !time.is_zero());
        let timeout = timeout.ok_or_else(|| {
            let message = format!("--timeout {} is no time to wait", self.timeout);
            Failure::usage(message).help("give seconds, more than 0")
        })?;
        let resolved = Workload::resolve_with_notes(&self.workload)?;
        let options = Options { ghz: self.ghz, scale: self.scale, burn: self.burn, timeout };
        options.check()?;
        let calibration = self.rate.map_or_else(Calibration::measure, Calibration::known);
        warn_if_noisy(&calibration);
        let player = Player::new(&resolved.workload, options, calibration)?;
        let mut runs = Vec::new();
        for n in 1..=self.repeat {
            let run = player.play()?;
            // A bar that moves by itself would be one more thread that wakes up.
            if self.repeat > 1 && stderr().is_terminal() {
                eprintln!("run {n} of {}: {} s", self.repeat, number(run.time_s));
            }
            runs.push(run);
        }
        let facts = WorkloadFacts::of(&resolved.workload, resolved.notes);
        let document = Document::new(facts, &self, calibration, &runs);
        if self.json {
            output::json(&document)?
        } else {
            output::text(&document.text(&self.workload))?
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// From here on the best sample is no longer trusted to be undisturbed.
const NOISY: f64 = 0.25;

fn warn_if_noisy(calibration: &Calibration) {
    if calibration.noise > NOISY {
        eprintln!(
            "warning: the same piece of work took {:.0}% longer in the median than at best: the machine has other \
             work, or its frequency changes",
            calibration.noise * 100.0
        );
        eprintln!("  help: compare only plays with the same --rate (here {:.0})", calibration.loops_per_s);
    }
}

/// The document of `--json`, documented in docs/src/json.md. Field names stay; new ones may come.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    workload: WorkloadFacts,
    host: Host,
    settings: Settings,
    calibration: CalibrationFacts,
    runs: Vec<RunFacts>,
    overall: Overall,
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

#[derive(Serialize)]
struct RunFacts {
    time_s: f64,
    cpu_s: f64,
    system_s: f64,
    work_s: f64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    cores_used: u32,
    migrations: u64,
    counts: Counts,
    #[serde(flatten)]
    latencies: LatencyFacts,
}

#[derive(Serialize)]
struct Overall {
    time_s_mean: f64,
    time_s_deviation: f64,
    #[serde(flatten)]
    latencies: LatencyFacts,
}

/// In microseconds.
#[derive(Serialize)]
struct LatencyFacts {
    wakeup_latency_us: Latency,
    timer_latency_us: Latency,
    fork_latency_us: Latency,
    request_latency_us: Latency,
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

impl Document {
    fn new(workload: WorkloadFacts, args: &Args, calibration: Calibration, runs: &[Run]) -> Self {
        let mut latencies = Latencies::default();
        runs.iter().for_each(|run| latencies.add(&run.latencies));
        let time = Sample::of(runs.iter().map(|run| run.time_s));
        Document {
            schema: "hearth.play/1",
            workload,
            host: Host::detect(),
            settings: Settings {
                ghz: args.ghz,
                scale: args.scale,
                burn: args.burn.to_string(),
                timeout_s: args.timeout,
            },
            calibration: CalibrationFacts {
                measured: args.rate.is_none(),
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

    /// The tables for people. The workload is called what the user called it.
    fn text(&self, workload: &str) -> String {
        let Some(first) = self.runs.first() else { return String::new() };
        let scheduler = match &self.host.sched_ext {
            Some(name) => format!("{name} (sched_ext)"),
            None => "the kernel's scheduler".into(),
        };
        let mut text = format!(
            "{workload}: {} s of work in {} threads, on {} cores under {scheduler}\n{}\n",
            number(first.work_s),
            first.counts.threads,
            self.host.cores,
            counts(&first.counts),
        );
        text += &self.times();
        text += "\n";
        text += &latencies(&self.overall.latencies);
        text
    }

    fn times(&self) -> String {
        let mut table = Plain::new(1);
        table.head(&["run", "time s", "CPU s", "kernel s", "cores", "migrations", "blocked", "preempted"]);
        for (n, run) in (1..).zip(&self.runs) {
            table.row(&[
                n.to_string(),
                number(run.time_s),
                number(run.cpu_s),
                number(run.system_s),
                run.cores_used.to_string(),
                run.migrations.to_string(),
                run.voluntary_switches.to_string(),
                run.involuntary_switches.to_string(),
            ]);
        }
        let mut text = table.render();
        if self.runs.len() > 1 {
            let Overall { time_s_mean, time_s_deviation, .. } = self.overall;
            text += &format!(
                "\nMean time {} s, standard deviation {} s.\n",
                number(time_s_mean),
                number(time_s_deviation)
            );
        }
        text
    }
}

/// The steps in words, as a line, if there are any.
fn counts(counts: &Counts) -> String {
    let all = [
        (counts.forks, "forks"),
        (counts.joins, "joins"),
        (counts.posts, "posts"),
        (counts.waits, "waits"),
        (counts.barriers, "barrier arrivals"),
        (counts.sleeps, "sleeps"),
        (counts.ios, "device waits"),
        (counts.yields, "yields"),
    ];
    let said: Vec<String> =
        all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if said.is_empty() { String::new() } else { said.join(", ") + "\n" }
}

fn latencies(latencies: &LatencyFacts) -> String {
    let mut table = Plain::new(1);
    table.head(&["latency us", "count", "p50", "p90", "p99", "p99.9", "max"]);
    for (what, latency) in [
        ("wake-up", &latencies.wakeup_latency_us),
        ("timer", &latencies.timer_latency_us),
        ("fork", &latencies.fork_latency_us),
        ("request", &latencies.request_latency_us),
    ] {
        if latency.count > 0 {
            let mut row = vec![what.to_owned(), latency.count.to_string()];
            row.extend(
                [latency.p50, latency.p90, latency.p99, latency.p99_9, latency.max].into_iter().map(number),
            );
            table.row(&row);
        }
    }
    table.render()
}
