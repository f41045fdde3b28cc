use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document, count};
use crate::progress;
use hearth_formats::{ExportFormat, export};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Convert a trace to Perfetto, CSV, Parquet or JSON lines
///
/// ui.perfetto.dev opens the Perfetto format, and `hearth import` restores the whole trace from it. Memory
/// use does not depend on the length of the trace.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth export build.trace -o build.pftrace          # opens in ui.perfetto.dev",
    "hearth export build.trace -o build.parquet",
]))]
pub struct Args {
    /// The trace to convert
    trace: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The format [default: by the file's extension: .pftrace, .csv, .parquet or .jsonl]
    #[arg(long)]
    format: Option<Format>,
    /// Print a summary as JSON (schema hearth.export/1), with notes on lost information
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Perfetto,
    Csv,
    Parquet,
    Jsonl,
}

#[derive(Serialize)]
struct Report {
    file: String,
    events: u64,
    bytes: u64,
    notes: Vec<String>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let format = match self.format {
            Some(Format::Perfetto) => ExportFormat::Perfetto,
            Some(Format::Csv) => ExportFormat::Csv,
            Some(Format::Parquet) => ExportFormat::Parquet,
            Some(Format::Jsonl) => ExportFormat::JsonLines,
            None => ExportFormat::of(&self.output).ok_or_else(|| {
                let message = format!("cannot tell the format from the name {}", self.output.display());
                Failure::usage(message)
                    .help("use the extension .pftrace, .csv, .parquet or .jsonl, or give --format")
            })?,
        };
        output::check_writable(&self.output)?;
        let exported = progress::meanwhile("exporting", || export(&self.trace, &self.output, format))?;
        let file = self.output.display().to_string();
        exported.notes.iter().for_each(|note| eprintln!("note: {note}"));
        if self.json {
            let (events, bytes, notes) = (exported.events, exported.bytes, exported.notes);
            let content = Report { file, events, bytes, notes };
            return output::json(&Document { schema: "hearth.export/1", content });
        }
        eprintln!("{file}: {}, {}", count(exported.events, "event"), count(exported.bytes, "byte"));
        Ok(ExitCode::SUCCESS)
    }
}
