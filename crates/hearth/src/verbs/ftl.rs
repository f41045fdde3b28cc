use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::table::{Plain, number};
use crate::{arguments, output, progress};
use hearth_host::ftl::{self, Options};
use hearth_host::plot;
use hearth_host::report::{Direction, Phase, Quantiles, Report, Unit, Verdict};
use std::path::PathBuf;
use std::time::Duration;

/// Measure how long a core takes to speed up and to slow down
///
/// Measures frequency transition latency. A core alternates between a busy loop and idleness for a number of rounds. Prints the medians of the
/// rounds, in milliseconds. Needs no privileges; as root it runs undisturbed and reads the processor's
/// counters. The book's page on transition latency defines the measurement.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth ftl",
    "hearth ftl --core 3 --plot ftl.svg",
]))]
pub struct Args {
    /// The core to measure, by its number in the kernel [default: the last core]
    #[arg(long, value_name = "N")]
    core: Option<u32>,
    /// Number of rounds: 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 20)]
    rounds: u32,
    /// Length of the busy loop of a round
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = arguments::duration)]
    busy: Duration,
    /// Time after the busy loop during which the speed of the idle core is sampled
    #[arg(long, value_name = "TIME", default_value = "150ms", value_parser = arguments::duration)]
    idle: Duration,
    /// Time between samples of the idle core. Each sample wakes the core for 50 us
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = arguments::duration)]
    gap: Duration,
    /// Idle time without samples before the next busy loop
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = arguments::duration)]
    quiet: Duration,
    /// Print JSON (schema hearth.ftl/1) instead of text
    #[arg(long)]
    json: bool,
    /// Draw the speed over time into an SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

impl Args {
    pub fn run(self) -> Outcome {
        if let Some(path) = &self.plot {
            output::check_writable(path)?;
        }
        let options = Options {
            core: self.core,
            rounds: self.rounds,
            busy: self.busy,
            idle: self.idle,
            quiet: self.quiet,
            gap: self.gap,
        };
        let report = measure(&options)?;
        if let Some(path) = &self.plot {
            output::file(path, plot::svg(&report).as_bytes())?;
        }
        for warning in &report.warnings {
            eprintln!("warning: {warning}");
        }
        output::print(self.json, &report, || text(&report))
    }
}

/// Measures with a progress bar.
pub fn measure(options: &Options) -> Result<Report, Failure> {
    Ok(progress::during("rounds", options.rounds as usize, |step| ftl::measure(options, step))?)
}

fn text(report: &Report) -> String {
    let unit = report.source.unit;
    let mut table = Plain::new(2);
    table.head(&["", "", "from", "to", "reached (ms)", "settled (ms)", "10 %", "90 %", "rounds"]);
    for (name, phase) in [("up", &report.up), ("down", &report.down)] {
        let known = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let time = |time: Option<Quantiles>, part: fn(Quantiles) -> f64| {
            known(time.map(|time| format!("{:.1}", part(time))))
        };
        table.row(&[
            name.into(),
            verdict(phase).to_owned(),
            known(phase.from.map(|from| speed(from, unit))),
            known(phase.to.map(|to| speed(to, unit))),
            time(phase.reached_ms, |time| time.median),
            time(phase.settled_ms, |time| time.median),
            time(phase.settled_ms, |time| time.q10),
            time(phase.settled_ms, |time| time.q90),
            format!("{}/{}", phase.moved, phase.usable),
        ]);
    }
    format!("{}\n\n{}{}", heading(report), table.render(), remarks(report))
}

fn heading(report: &Report) -> String {
    let class = if report.real_time { "SCHED_FIFO" } else { "normal priority" };
    let governor =
        report.governor.as_deref().map_or_else(|| "no cpufreq".into(), |g| format!("governor {g}"));
    format!(
        "{}, core {}: {} rounds of {} ms busy and {} ms idle; {class}, {governor}\nspeed: {}",
        report.model,
        report.core,
        report.up.rounds,
        report.times.busy,
        report.times.idle + report.times.quiet,
        source(report)
    )
}

/// The source of the speeds and its resolution.
fn source(report: &Report) -> String {
    let resolution = format!(
        "every {} us while busy, every {} ms while idle",
        report.times.window * 1000.0,
        report.times.gap
    );
    let rate = match (report.source.kind, report.source.cycles) {
        ("rate", Some(cycles)) => format!("the rate of a loop of multiplications of {cycles} cycles each"),
        ("rate", None) => "the rate of a loop, relative to its calibration (its cycles are unknown)".into(),
        (kind, _) => return format!("APERF/MPERF, read through {kind}; {resolution}"),
    };
    let why = report.source.why_not.join("; ");
    format!("{rate}; {resolution}\n       (APERF/MPERF cannot be read: {why})")
}

fn verdict(phase: &Phase) -> &'static str {
    match (phase.verdict, phase.direction) {
        (Verdict::Seen, Some(Direction::Falls)) => "falls",
        (Verdict::Seen, _) => "rises",
        (Verdict::NotSeen, _) => "no transition seen",
        (Verdict::Unsettled, _) => "not settled in time",
        (Verdict::Unclear, _) => "unclear",
        (Verdict::TooLittle, _) => "too few usable rounds",
    }
}

fn speed(speed: f64, unit: Unit) -> String {
    match unit {
        Unit::Khz => format!("{:.2} GHz", speed / 1e6),
        Unit::Relative => number(speed),
    }
}

/// Explanations of the verdicts.
fn remarks(report: &Report) -> String {
    let mut remarks = Vec::new();
    if report.source.virtual_machine {
        remarks.push(
            "This is a virtual machine. The host controls the frequency; the rate of work shows it, but also depends on \
             other guests on the same hardware."
                .to_owned(),
        );
    }
    for (name, phase) in [("busy loop", &report.up), ("idle time after it", &report.down)] {
        match phase.verdict {
            Verdict::NotSeen => remarks.push(format!(
                "No transition was seen in the {name}: the speed stays within {} of {}, or changes in less than {}.",
                phase.band.map_or_else(|| "-".into(), |band| speed(2.0 * band, report.source.unit)),
                phase.to.map_or_else(|| "-".into(), |to| speed(to, report.source.unit)),
                humantime::format_duration(Duration::from_secs_f64(2.0 * phase.resolution_ms / 1e3)),
            )),
            Verdict::Unclear => remarks.push(format!(
                "In the {name}, the speed changed in {} of {} rounds, not always in the same direction: the core is disturbed.",
                phase.moved, phase.usable
            )),
            Verdict::Unsettled => {
                remarks.push(format!("The speed did not settle in the {name}: increase --busy or --idle."));
            }
            Verdict::Seen | Verdict::TooLittle => {}
        }
    }
    if remarks.is_empty() { String::new() } else { format!("\n{}\n", remarks.join("\n")) }
}
