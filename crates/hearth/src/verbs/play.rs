use crate::arguments::{WorkloadFile, examples};
use crate::failure::{Failure, Outcome};
use crate::output::{self, count};
use crate::table::{Column, number, table};
use hearth_play::{Burn, Calibration, Counts, Options, Player};
use hearth_study::{LatencyFacts, Plays, RunFacts, WorkloadFacts};
use hearth_trace::Latency;
use hearth_workload::Workload;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// Run a workload as real threads on this machine
///
/// Each thread of the workload is a kernel thread under the current scheduler; work is a calibrated loop,
/// waiting is a futex. Prints the time of the play, and the latencies between wake-ups or forks and the start
/// of the thread. To trace it: `hearth record -- hearth play ...`.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth play schbench:messages=2,workers=16",
    "hearth play ./workload.json --repeat 10 --json",
]))]
pub struct Args {
    #[command(flatten)]
    source: WorkloadFile,

    /// Frequency of the workload's cycles, in GHz: N cycles become work that takes N/GHZ ns on an undisturbed
    /// core
    #[arg(long, value_name = "GHZ", default_value_t = Options::default().ghz)]
    ghz: f64,

    /// Multiply all work by this factor. Delays stay the same
    #[arg(long, value_name = "FACTOR", default_value_t = Options::default().scale)]
    scale: f64,

    /// Unit of work: `work` runs a number of loop rounds, which take longer on a slow core; `time` spends CPU
    /// time, including time in the kernel, for emulated machines, where the speed of a core has no meaning
    #[arg(long, value_name = "WHAT", default_value_t = Options::default().burn)]
    burn: Burn,

    /// Speed of a core in loop rounds per second. Reuse `calibration.loops_per_s` of an earlier play's JSON
    /// to get the same work [default: measured]
    #[arg(long, value_name = "LOOPS")]
    rate: Option<f64>,

    /// Stop a play after this time, in seconds, and fail
    #[arg(long, value_name = "SECONDS", default_value_t = Options::default().timeout.as_secs_f64())]
    timeout: f64,

    /// Number of plays, in sequence
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
            Failure::usage(format_args!("--timeout must be greater than 0, not {}", self.timeout))
        })?;
        let resolved = Workload::resolve_with_notes(&self.source.workload)?;
        let options = Options { ghz: self.ghz, scale: self.scale, burn: self.burn, timeout };
        options.check()?;
        let calibration = self.rate.map_or_else(Calibration::measure, Calibration::known);
        warn_if_noisy(&calibration);
        let player = Player::new(&resolved.workload, options, calibration)?;
        let mut runs = Vec::new();
        for n in 1..=self.repeat {
            let run = player.play()?;
            // Printed lines, because a progress bar would add a thread that wakes up during the play.
            if self.repeat > 1 && stderr().is_terminal() {
                eprintln!("run {n} of {}: {} s", self.repeat, number(run.time_s));
            }
            runs.push(run);
        }
        let facts = WorkloadFacts::of(&resolved.workload, resolved.notes);
        let plays = Plays::new(facts, &options, calibration, &runs);
        output::print(self.json, &plays, || text(&plays, &self.source.workload))
    }
}

/// Relative noise of the calibration above which even its best sample may be disturbed.
const NOISY: f64 = 0.25;

fn warn_if_noisy(calibration: &Calibration) {
    if calibration.noise > NOISY {
        eprintln!(
            "warning: the median calibration sample took {:.0}% longer than the best: the machine is busy, or its \
             frequency changes",
            calibration.noise * 100.0
        );
        eprintln!("  help: compare plays with the same --rate only (here {:.0})", calibration.loops_per_s);
    }
}

/// `workload` is the name that the user gave.
fn text(plays: &Plays, workload: &str) -> String {
    let Some(first) = plays.runs.first() else { return String::new() };
    let scheduler = match &plays.host.sched_ext {
        Some(name) => format!("{name} (sched_ext)"),
        None => "the kernel's scheduler".into(),
    };
    let mut text = format!(
        "{workload}: {} s of work in {}, on {} under {scheduler}\n{}\n",
        number(first.work_s),
        count(first.counts.threads, "thread"),
        count(plays.host.cores, "core"),
        counts(&first.counts),
    );
    text += &times(plays);
    text += "\n";
    text += &latencies(&plays.overall.latencies);
    text
}

fn times(plays: &Plays) -> String {
    let columns: [Column<(usize, &RunFacts)>; 8] = [
        ("run", |(n, _)| n.to_string()),
        ("time s", |(_, run)| number(run.time_s)),
        ("CPU s", |(_, run)| number(run.cpu_s)),
        ("kernel s", |(_, run)| number(run.system_s)),
        ("cores", |(_, run)| run.cores_used.to_string()),
        ("migrations", |(_, run)| run.migrations.to_string()),
        ("blocked", |(_, run)| run.voluntary_switches.to_string()),
        ("preempted", |(_, run)| run.involuntary_switches.to_string()),
    ];
    let mut text = table(1, &columns, (1..).zip(&plays.runs));
    if plays.runs.len() > 1 {
        let (mean, deviation) = (number(plays.overall.time_s_mean), number(plays.overall.time_s_deviation));
        text += &format!("\nMean time {mean} s, standard deviation {deviation} s.\n");
    }
    text
}

/// The steps as a line, or nothing without steps.
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
    let counts = all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let text = counts.collect::<Vec<_>>().join(", ");
    if text.is_empty() { text } else { text + "\n" }
}

fn latencies(latencies: &LatencyFacts) -> String {
    let columns: [Column<(&str, &Latency)>; 7] = [
        ("latency us", |(what, _)| (*what).to_owned()),
        ("count", |(_, latency)| latency.count.to_string()),
        ("p50", |(_, latency)| number(latency.p50)),
        ("p90", |(_, latency)| number(latency.p90)),
        ("p99", |(_, latency)| number(latency.p99)),
        ("p99.9", |(_, latency)| number(latency.p99_9)),
        ("max", |(_, latency)| number(latency.max)),
    ];
    let rows = [
        ("wake-up", &latencies.wakeup_latency_us),
        ("timer", &latencies.timer_latency_us),
        ("fork", &latencies.fork_latency_us),
        ("request", &latencies.request_latency_us),
    ];
    table(1, &columns, rows.into_iter().filter(|(_, latency)| latency.count > 0))
}
