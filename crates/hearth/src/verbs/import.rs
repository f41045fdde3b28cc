use crate::arguments::examples;
use crate::failure::Outcome;
use crate::output::{self, count};
use crate::progress;
use hearth_formats::{ImportFormat, import};
use hearth_trace::Writer;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Convert a trace of Perfetto, trace-cmd, perf or another tool
///
/// Reads files of Perfetto, trace-cmd, perf, ftrace, systrace, SchedViz and scxsim. Detects the format from the content.
/// Unpacks gzip and zstd. Prints notes on information that could not be converted.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth import perf.data -o theirs.trace",
    "hearth import trace.dat",
]))]
pub struct Args {
    /// The file to convert
    file: PathBuf,
    /// The trace to write
    #[arg(short, long, value_name = "TRACE", default_value = "hearth.trace")]
    output: PathBuf,
    /// The format [default: detected]
    #[arg(long)]
    format: Option<Format>,
    /// Print a summary as JSON (schema hearth.import/1), with notes on lost information
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Text of `/sys/kernel/tracing/trace`, `trace-cmd report` or `perf script`
    Text,
    /// `trace.dat` of trace-cmd, version 6 or 7
    TraceDat,
    /// `perf.data` of `perf sched record`
    PerfData,
    /// Perfetto protobuf of Hearth, Perfetto or scxsim
    Perfetto,
    /// JSON trace events of scxsim, or with `systemTraceEvents` of Chrome
    Json,
    /// The tar archive of SchedViz
    #[value(name = "schedviz")]
    SchedViz,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    trace: String,
    format: &'static str,
    events: u64,
    threads: usize,
    cores: usize,
    duration_s: f64,
    lost: u64,
    inferred: u64,
    notes: Vec<String>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let format = self.format.map(|format| match format {
            Format::Text => ImportFormat::Text,
            Format::TraceDat => ImportFormat::TraceDat,
            Format::PerfData => ImportFormat::PerfData,
            Format::Perfetto => ImportFormat::Perfetto,
            Format::Json => ImportFormat::Json,
            Format::SchedViz => ImportFormat::SchedViz,
        });
        Writer::check(&self.output)?;
        let imported = progress::meanwhile("importing", || import(&self.file, format, &self.output))?;
        imported.notes.iter().for_each(|note| eprintln!("note: {note}"));
        let header = &imported.header;
        let trace = self.output.display().to_string();
        if self.json {
            output::json(&Report {
                schema: "hearth.import/1",
                trace,
                format: imported.format.name(),
                events: imported.events,
                threads: header.threads.len(),
                cores: header.cores.len(),
                duration_s: header.duration as f64 / 1e9,
                lost: header.lost.iter().sum(),
                inferred: imported.inferred,
                notes: imported.notes,
            })?;
        } else {
            eprintln!(
                "{trace}: {} of {} on {} in {:.2} s, from {}",
                count(imported.events, "event"),
                count(header.threads.len(), "thread"),
                count(header.cores.len(), "core"),
                header.duration as f64 / 1e9,
                imported.format.name(),
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}
