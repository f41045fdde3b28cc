use crate::failure::{Failure, Outcome};
use crate::output;
use crate::table::{Plain, number};
use hearth_play::{Burn, Calibration, Counts, Options, Player};
use hearth_study::{LatencyFacts, Overall, Plays, WorkloadFacts};
use hearth_workload::Workload;
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
        let plays = Plays::new(facts, &options, calibration, &runs);
        if self.json {
            output::json(&plays)?
        } else {
            output::text(&text(&plays, &self.workload))?
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

/// The tables for people. The workload is called what the user called it.
fn text(plays: &Plays, workload: &str) -> String {
    let Some(first) = plays.runs.first() else { return String::new() };
    let scheduler = match &plays.host.sched_ext {
        Some(name) => format!("{name} (sched_ext)"),
        None => "the kernel's scheduler".into(),
    };
    let mut text = format!(
        "{workload}: {} s of work in {} threads, on {} cores under {scheduler}\n{}\n",
        number(first.work_s),
        first.counts.threads,
        plays.host.cores,
        counts(&first.counts),
    );
    text += &times(plays);
    text += "\n";
    text += &latencies(&plays.overall.latencies);
    text
}

fn times(plays: &Plays) -> String {
    let mut table = Plain::new(1);
    table.head(&["run", "time s", "CPU s", "kernel s", "cores", "migrations", "blocked", "preempted"]);
    for (n, run) in (1..).zip(&plays.runs) {
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
    if plays.runs.len() > 1 {
        let Overall { time_s_mean, time_s_deviation, .. } = plays.overall;
        text += &format!(
            "\nMean time {} s, standard deviation {} s.\n",
            number(time_s_mean),
            number(time_s_deviation)
        );
    }
    text
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
