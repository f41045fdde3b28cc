use crate::failure::{Failure, Outcome};
use crate::output;
use hearth_formats::{ExportFormat, export};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a trace for others: Perfetto, CSV, Parquet, JSON lines
///
/// A Perfetto trace opens in ui.perfetto.dev, and comes back whole with `hearth import`. Traces of any length are
/// written with little memory.
#[derive(clap::Args)]
pub struct Args {
    /// The trace
    trace: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What to write; by default what the file's name ends in: .pftrace, .csv, .parquet or .jsonl
    #[arg(long)]
    format: Option<Format>,
    /// Print JSON (schema hearth.export/1): what was written, and what could not be carried over
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
    schema: &'static str,
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
                let message = format!("{} does not say which format it is to have", self.output.display());
                Failure::usage(message)
                    .help("let its name end in .pftrace, .csv, .parquet or .jsonl, or give --format")
            })?,
        };
        output::check_writable(&self.output)?;
        let exported = export(&self.trace, &self.output, format).map_err(Failure::new)?;
        let file = self.output.display().to_string();
        exported.notes.iter().for_each(|note| eprintln!("note: {note}"));
        if self.json {
            let (events, bytes, notes) = (exported.events, exported.bytes, exported.notes);
            output::json(&Report { schema: "hearth.export/1", file, events, bytes, notes })?;
        } else {
            eprintln!("{file}: {} events, {} bytes", exported.events, exported.bytes);
        }
        Ok(ExitCode::SUCCESS)
    }
}
