use crate::arguments::{self, examples};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::progress;
use crate::recording::{self, RecorderOptions};
use hearth_recorder::Subject;
use hearth_trace::Store;
use hearth_workload::{Extraction, Workload};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

/// Write the workload of a recorded command to a file
///
/// The workload is the work of each thread, its waits for other threads, and its delays; `hearth predict` finds the same. Prints
/// what was found, and what the recording cannot explain.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth extract make.trace -o make.json.zst",
    "hearth extract make.trace -o start.json --until 2s",
]))]
pub struct Args {
    /// The recorded trace
    trace: PathBuf,
    /// The file to write; `-` is standard output. If its name ends in .zst, it is compressed
    #[arg(short, long, value_name = "FILE.json|FILE.json.zst")]
    output: PathBuf,
    /// Leave out what comes after this time of the recording: `2s`, `500ms`
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    until: Option<Duration>,
    /// Print the summary as JSON (schema hearth.extract/1)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Content<'a> {
    file: String,
    /// Share of the wake-ups whose cause is in the workload.
    explained: f64,
    #[serde(flatten)]
    report: &'a hearth_workload::extract::Report,
}

impl Args {
    pub fn run(self) -> Outcome {
        if !output::is_dash(&self.output) && !is_workload(&self.output) {
            return Err(Failure::usage(format_args!("{}: a workload is a JSON file", self.output.display()))
                .help("use the extension .json or .json.zst"));
        }
        output::check_writable(&self.output)?;
        let Extraction { workload, report, .. } = extract_until(&self.trace, self.until)?;
        if output::is_dash(&self.output) {
            workload.write(&mut io::stdout().lock())?;
            eprint!("{report}");
            return Ok(ExitCode::SUCCESS);
        }
        workload.save(&self.output)?;
        let file = self.output.display().to_string();
        let content = Content { file, explained: report.explained(), report: &report };
        let document = Document { schema: "hearth.extract/1", content };
        output::print(self.json, &document, || format!("{}:\n{report}", self.output.display()))
    }
}

fn is_workload(path: &Path) -> bool {
    let name = path.as_os_str().to_string_lossy();
    name.ends_with(".json") || name.ends_with(".json.zst")
}

/// The workload of a stored recording.
pub fn extract(path: &Path) -> Result<Extraction, Failure> {
    extract_until(path, None)
}

/// Records a command into a temporary trace. Returns its workload, and the command's exit status.
pub fn record_and_extract(
    command: &[String],
    options: &RecorderOptions,
) -> Result<(Extraction, Option<ExitStatus>), Failure> {
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::new(format_args!("cannot create a temporary folder: {error}"))
            .help("set TMPDIR to a writable folder")
    })?;
    let path = folder.path().join("trace");
    let recorded = recording::record_to(&path, Subject::Command(command), options)?;
    Ok((extract(&path)?, recorded.status))
}

fn extract_until(path: &Path, until: Option<Duration>) -> Result<Extraction, Failure> {
    recording::check_extractable(path)?;
    recording::check(path)?;
    let store = Store::open(path)?;
    let end = until.map_or(u64::MAX, |until| until.as_nanos() as u64);
    Ok(progress::meanwhile("extracting", || Workload::extract_until(&Arc::new(store), end))?)
}
