use crate::failure::{Failure, Outcome};
use crate::table::{Plain, number};
use crate::{output, progress};
use hearth_probe::ftl::{self, Options};
use hearth_probe::plot;
use hearth_probe::report::{Direction, Phase, Quantiles, Report, Unit, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Measure frequency transition latency: how long a core takes to run fast, and to fall back
///
/// A core idles, works in a loop, and idles again, many times. It needs no privilege; with root it can run
/// undisturbed and read the processor's own counters. The book's chapter on transition latency defines what is
/// measured.
#[derive(clap::Args)]
pub struct Args {
    /// The core to measure, by the kernel's number [default: the last one]
    #[arg(long, value_name = "N")]
    core: Option<u32>,
    /// How often
    #[arg(long, value_name = "N", default_value_t = 20)]
    rounds: u32,
    /// Length of the busy loop
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    busy: humantime::Duration,
    /// How long the idle core is looked at after it
    #[arg(long, value_name = "TIME", default_value = "150ms")]
    idle: humantime::Duration,
    /// From one look at the idle core to the next; each wakes it for 50 us
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    gap: humantime::Duration,
    /// Undisturbed idle time before the next busy loop
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    quiet: humantime::Duration,
    /// Print JSON (schema hearth.ftl/1) instead of text
    #[arg(long)]
    json: bool,
    /// Draw the curves into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl From<hearth_probe::Error> for Failure {
    fn from(error: hearth_probe::Error) -> Self {
        Failure::new(error)
    }
}

impl Args {
    pub fn run(self) -> Outcome {
        if let Some(path) = &self.plot {
            output::check_writable(path)?;
        }
        let options = Options {
            core: self.core,
            rounds: self.rounds,
            busy: self.busy.into(),
            idle: self.idle.into(),
            quiet: self.quiet.into(),
            gap: self.gap.into(),
        };
        let report = measure(&options)?;
        if let Some(path) = &self.plot {
            output::file(path, plot::svg(&report)?.as_bytes())?;
        }
        for warning in &report.warnings {
            eprintln!("warning: {warning}");
        }
        if self.json {
            output::json(&report)?;
        } else {
            output::text(&text(&report))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Measures, and shows how far it is.
pub fn measure(options: &Options) -> Result<Report, Failure> {
    let bar = progress::bar("rounds", options.rounds as usize);
    let report = ftl::measure(options, || bar.inc(1));
    bar.finish_and_clear();
    Ok(report?)
}

fn text(report: &Report) -> String {
    let unit = report.source.unit;
    let mut table = Plain::new(2);
    table.head(&["", "", "from", "to", "reached (ms)", "settled (ms)", "10 %", "90 %", "rounds"]);
    for (name, phase) in [("up", &report.up), ("down", &report.down)] {
        let median = |time: Option<Quantiles>| time.map_or_else(|| "-".into(), |time| ms(time.median));
        let settled = phase.settled_ms;
        table.row(&[
            name.into(),
            said(phase).to_owned(),
            phase.from.map_or_else(|| "-".into(), |from| speed(from, unit)),
            phase.to.map_or_else(|| "-".into(), |to| speed(to, unit)),
            median(phase.reached_ms),
            median(settled),
            settled.map_or_else(|| "-".into(), |time| ms(time.q10)),
            settled.map_or_else(|| "-".into(), |time| ms(time.q90)),
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

/// Where the speeds come from, and how exact they are.
fn source(report: &Report) -> String {
    let resolution = format!(
        "every {} us while busy, every {} ms while idle",
        report.times.window * 1000.0,
        report.times.gap
    );
    match (report.source.kind, report.source.cycles) {
        ("rate", Some(cycles)) => format!(
            "the rate of a loop of multiplications, {cycles} cycles each; {resolution}\n       (APERF/MPERF cannot be \
             read: {})",
            report.source.why_not.join("; ")
        ),
        ("rate", None) => format!(
            "the rate of a loop whose cycles are not known: relative to its calibration; {resolution}\n       (APERF/MPERF \
             cannot be read: {})",
            report.source.why_not.join("; ")
        ),
        (kind, _) => format!("APERF/MPERF, read through {kind}; {resolution}"),
    }
}

fn said(phase: &Phase) -> &'static str {
    match (phase.verdict, phase.direction) {
        (Verdict::Seen, Some(Direction::Falls)) => "falls",
        (Verdict::Seen, _) => "rises",
        (Verdict::NotSeen, _) => "no transition seen",
        (Verdict::Unsettled, _) => "not settled in time",
        (Verdict::Unclear, _) => "unclear",
        (Verdict::TooLittle, _) => "too little is known",
    }
}

fn speed(speed: f64, unit: Unit) -> String {
    match unit {
        Unit::Khz => format!("{:.2} GHz", speed / 1e6),
        Unit::Relative => number(speed),
    }
}

fn ms(ms: f64) -> String {
    format!("{ms:.1}")
}

/// What the numbers do not say by themselves.
fn remarks(report: &Report) -> String {
    let mut remarks = Vec::new();
    if report.source.virtual_machine {
        remarks.push(
            "This is a virtual machine. The host decides the frequency, and shows it only as the rate at which work gets \
             done; other guests on the same hardware change that, too."
                .to_owned(),
        );
    }
    for (name, phase) in [("busy loop", &report.up), ("idle time after it", &report.down)] {
        match phase.verdict {
            Verdict::NotSeen => remarks.push(format!(
                "No transition was seen in the {name}: the speed stays within {} of {}, or changed in less than {}.",
                phase.band.map_or_else(|| "-".into(), |band| speed(2.0 * band, report.source.unit)),
                phase.to.map_or_else(|| "-".into(), |to| speed(to, report.source.unit)),
                humantime::format_duration(Duration::from_secs_f64(2.0 * phase.resolution_ms / 1e3)),
            )),
            Verdict::Unclear => remarks.push(format!(
                "In the {name}, {} of {} rounds moved, not all the same way: a disturbed core gives no answer.",
                phase.moved, phase.usable
            )),
            Verdict::Unsettled => {
                remarks.push(format!("The {name} was too short: give more with --busy or --idle."));
            }
            Verdict::Seen | Verdict::TooLittle => {}
        }
    }
    if remarks.is_empty() { String::new() } else { format!("\n{}\n", remarks.join("\n")) }
}
