mod picture;
mod sections;
mod sheet;
mod summary;

use crate::failure::{Failure, Outcome};
use crate::{output, recording};
use hearth_analysis::Wanted;
use hearth_study::By;
use hearth_study::measure::{Measures, Report};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure a trace: underload, overload, inversions, latencies, frequencies, energy
///
/// Two traces are put side by side, with the ratio of each number. Each metric is defined in the book's chapter on
/// metrics.
#[derive(clap::Args)]
pub struct Args {
    /// A trace that `hearth record`, `hearth predict` or `hearth sim` wrote
    trace: PathBuf,
    /// A second one, to compare with the first
    other: Option<PathBuf>,
    /// Of recordings of `hearth play`, measure the play alone: the workload's threads, from the first one's fork
    /// to the last one's exit, without the player's own thread
    #[arg(long)]
    played: bool,

    /// The numbers of each `second`, or of each interval of another length (`100ms`); of each `process` (threads of one
    /// name), or of each `thread`. Repeatable
    #[arg(long, value_name = "WHAT", help_heading = "What to look into")]
    by: Vec<By>,
    /// Who woke whom: pairs of processes, how often, how long the woken one then waited, and how far away it was put
    #[arg(long, help_heading = "What to look into")]
    wakers: bool,
    /// The N longest frequency inversions: which thread ran on a slow core while which core was faster and idle
    #[arg(long, value_name = "N", help_heading = "What to look into")]
    inversions: Option<u16>,
    /// The N longest overloads: which threads waited on which cores while which cores were idle
    #[arg(long, value_name = "N", help_heading = "What to look into")]
    overloads: Option<u16>,
    /// Rows of processes, threads and wakers that are printed (JSON and CSV have all of them)
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "What to look into")]
    top: usize,

    /// Draw underload over time, underload per second and the time at each frequency. (PNG needs rsvg-convert, resvg,
    /// Inkscape or ImageMagick)
    #[arg(long, value_name = "FILE.svg|FILE.png", help_heading = "Output")]
    plot: Option<PathBuf>,
    /// Print JSON (schema hearth.report/1) instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Print one table as CSV: what is looked into, or the metrics of the whole
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    csv: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        let measures = Measures { played: self.played, wanted: self.wanted()?, by: self.by.clone() };
        if let Some(plot) = &self.plot {
            picture::check(plot)?;
        }
        let mut traces = Vec::new();
        for path in [Some(&self.trace), self.other.as_ref()].into_iter().flatten() {
            traces.push(measures.of(recording::open(path)?, &path.display().to_string())?);
        }
        let report = Report::new(traces)?;
        if let Some(plot) = &self.plot {
            picture::draw(plot, &report.traces)?;
        }
        if self.csv {
            output::text(&report.csv()?)?;
        } else if self.json {
            output::json(&report)?;
        } else {
            let mut text = summary::text(&report.traces);
            text += &sections::text(&report.traces, self.top);
            output::text(&text)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn wanted(&self) -> Result<Wanted, Failure> {
        let mut lengths = self.by.iter().filter_map(|by| by.interval());
        let interval = lengths.next();
        if lengths.next().is_some() {
            return Err(Failure::usage("--by takes one length of interval, not several"));
        }
        let sections = self.by.len() + usize::from(self.wakers);
        let sections =
            sections + usize::from(self.inversions.is_some()) + usize::from(self.overloads.is_some());
        if self.csv && sections > 1 {
            let message = format!("--csv prints one table, but {sections} are asked for");
            return Err(Failure::usage(message).help("ask for one at a time, or use --json"));
        }
        Ok(Wanted {
            interval,
            threads: self.by.iter().any(|by| matches!(by, By::Process | By::Thread)),
            wakers: self.wakers,
            inversions: self.inversions.map(usize::from),
            overloads: self.overloads.map(usize::from),
            underload: self.plot.is_some(),
        })
    }
}
