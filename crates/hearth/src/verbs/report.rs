mod by;
mod csv;
mod measure;
mod picture;
mod sections;
mod sheet;
mod summary;

use crate::failure::{Failure, Outcome};
use crate::output;
use by::By;
use hearth_analysis::{Wanted, ratios};
use measure::{Measured, measure};
use serde::Serialize;
use serde_json::Value;
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

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    traces: Vec<Measured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

/// The second trace against the first.
#[derive(Serialize)]
struct Comparison {
    speedup: Option<f64>,
    energy_saving: Option<f64>,
    /// Of each number: the second's, divided by the first's.
    ratios: Value,
}

impl Args {
    pub fn run(self) -> Outcome {
        let wanted = self.wanted()?;
        if let Some(plot) = &self.plot {
            picture::check(plot)?;
        }
        let mut traces = Vec::new();
        for path in [Some(&self.trace), self.other.as_ref()].into_iter().flatten() {
            traces.push(measure(path, self.played, wanted, &self.by)?);
        }
        if let Some(plot) = &self.plot {
            picture::draw(plot, &traces)?;
        }
        let comparison = match &traces[..] {
            [a, b] => Some(compare(a, b)?),
            _ => None,
        };
        if self.csv {
            output::text(&csv::csv(&traces)?)?;
        } else if self.json {
            output::json(&Report { schema: "hearth.report/1", traces, comparison })?;
        } else {
            let mut text = summary::text(&traces);
            text += &sections::text(&traces, self.top);
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

fn compare(a: &Measured, b: &Measured) -> Result<Comparison, Failure> {
    let json = |trace: &Measured| serde_json::to_value(trace.compared()).map_err(Failure::new);
    let energy = a.summary.energy_j.zip(b.summary.energy_j).filter(|(a, b)| *a > 0.0 && *b > 0.0);
    let (first, second) = (a.summary.duration_s, b.summary.duration_s);
    Ok(Comparison {
        speedup: (first > 0.0 && second > 0.0).then(|| first / second - 1.0),
        energy_saving: energy.map(|(a, b)| 1.0 - b / a),
        ratios: ratios(&json(a)?, &json(b)?),
    })
}
