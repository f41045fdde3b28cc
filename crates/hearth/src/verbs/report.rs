mod picture;
mod sections;
mod sheet;
mod summary;

use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::{output, progress, recording};
use hearth_report::analysis::Request;
use hearth_study::By;
use hearth_study::measure::{Measures, Report};
use std::path::PathBuf;

/// Measure a trace, or compare two
///
/// Prints a table of the metrics; two traces are compared side by side, with the ratio of each number. The
/// book's page on metrics defines them.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth report configure.trace",
    "hearth report before.trace after.trace --by program",
]))]
pub struct Args {
    /// A trace that `hearth record`, `hearth predict` or `hearth sim` wrote
    trace: PathBuf,
    /// A second trace, to compare with the first
    other: Option<PathBuf>,
    /// In recordings of `hearth play`, measure the threads of the workload only, from the first fork to the
    /// last exit
    #[arg(long)]
    played: bool,

    /// Break the metrics down by time (`second`, or a length such as `100ms`), by `process`, by `program` (all
    /// threads of one name) or by `thread`. Where the processes are unknown, and when two traces are compared,
    /// a process is a program. Repeatable
    #[arg(long, value_name = "WHAT", help_heading = "Breakdown")]
    by: Vec<By>,
    /// Show who woke whom: number of wake-ups, latency and distance for each pair of processes (of programs
    /// with `--by program`)
    #[arg(long, help_heading = "Breakdown")]
    wakers: bool,
    /// Show the N longest frequency inversions: a thread on a slow core while a faster core is idle
    #[arg(long, value_name = "N", help_heading = "Breakdown")]
    inversions: Option<u16>,
    /// Show the N longest overloads: threads waiting on some cores while other cores are idle
    #[arg(long, value_name = "N", help_heading = "Breakdown")]
    overloads: Option<u16>,
    /// Show where the time goes: the critical path, and its N longest waits; 0: leave it out
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Breakdown")]
    waits: u16,
    /// Show the N processes outside the command that took most of the cores, and how long the command waited for
    /// them; 0: leave them out
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Breakdown")]
    others: u16,
    /// Print at most N rows of processes, threads and wakers (JSON and CSV contain all)
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Breakdown")]
    top: usize,

    /// Draw underload over time, underload per second and the time at each frequency. PNG needs rsvg-convert,
    /// resvg, Inkscape or ImageMagick
    #[arg(long, value_name = "FILE.svg|FILE.png", help_heading = "Output")]
    plot: Option<PathBuf>,
    /// Print JSON (schema hearth.report/1) instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Print one table as CSV: the breakdown that another flag selects, or the metrics
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        let measures = Measures { played: self.played, request: self.request()?, by: self.by.clone() };
        self.plot.as_deref().map_or(Ok(()), picture::check)?;
        let mut traces = Vec::new();
        for path in [Some(&self.trace), self.other.as_ref()].into_iter().flatten() {
            let reader = recording::open(path)?;
            let name = path.display().to_string();
            traces.push(progress::meanwhile("measuring", || measures.of(reader, &name))?);
        }
        let report = Report::new(traces)?;
        if let Some(plot) = &self.plot {
            for trace in &report.traces {
                recording::check_underload(&trace.source, &trace.path)?;
            }
            picture::draw(plot, &report.traces)?;
        }
        if self.csv {
            return output::text(&report.csv()?);
        }
        output::print(self.json, &report, || {
            summary::text(&report.traces) + &sections::text(&report.traces, self.top)
        })
    }

    fn request(&self) -> Result<Request, Failure> {
        if self.by.contains(&By::Process) && self.by.contains(&By::Program) {
            return Err(Failure::usage("--by process and --by program exclude each other"));
        }
        let mut lengths = self.by.iter().filter_map(|by| by.interval());
        let interval = lengths.next();
        if lengths.next().is_some() {
            return Err(Failure::usage("--by accepts one length of interval only"));
        }
        let flags = [self.wakers, self.inversions.is_some(), self.overloads.is_some()];
        let tables = self.by.len() + flags.into_iter().filter(|flag| *flag).count();
        if self.csv && tables > 1 {
            let message = format!("--csv prints one table, but {tables} are selected");
            return Err(Failure::usage(message).help("select one table, or use --json"));
        }
        Ok(Request {
            interval,
            threads: self.by.iter().any(|by| matches!(by, By::Process | By::Program | By::Thread)),
            by_name: self.other.is_some() || self.by.contains(&By::Program),
            wakers: self.wakers,
            inversions: self.inversions.map(usize::from),
            overloads: self.overloads.map(usize::from),
            underload: self.plot.is_some(),
            others: (self.others > 0 && !self.csv).then_some(self.others.into()),
            path: (self.waits > 0 && !self.csv).then_some(self.waits.into()),
        })
    }
}
