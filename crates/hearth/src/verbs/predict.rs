use crate::arguments::examples;
use crate::combinations::{Combinations, MatrixChoice};
use crate::failure::{Failure, Outcome};
use crate::recording::{self, RecorderOptions};
use crate::verbs::extract::extract;
use crate::{output, prediction, progress, provenance};
use hearth_recorder::Subject;
use hearth_study::{Matrix, Prediction, RecordedFacts};
use hearth_trace::Store;
use hearth_workload::{Extraction, Workload};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Predict the effect of policies on a command, on any machine
///
/// Takes a trace, or a command, which is recorded first (see `hearth help record`); the recording is kept. Extracts the
/// workload: the work of each thread, its waits for other threads, and its delays. Simulates the workload, prints a
/// table, how sure the best policy's speed-up is, a verdict, and the next command. The first policy under the first
/// governor is the baseline of each machine; verdicts compare policies under the same governor. Memory use is 16 bytes
/// per step of the workload, however long the trace is.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "sudo hearth predict -- make -j8",
    "hearth predict build.trace -m xeon-5218 -p eevdf -p nest --report out.html",
]))]
pub struct Args {
    /// A recorded trace. Several are recordings of the same command
    #[arg(conflicts_with = "command")]
    trace: Vec<PathBuf>,
    /// The command to record, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Record the command N times: the verdict then includes how much its recordings differ
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "trace", value_parser = clap::value_parser!(u16).range(1..=100), help_heading = "Recording")]
    repeat: u16,
    #[command(flatten, next_help_heading = "Recording")]
    recorder: RecorderOptions,
    #[command(flatten)]
    combinations: Combinations,
}

impl Args {
    pub fn run(self) -> Outcome {
        if self.trace.is_empty() && self.command.is_empty() {
            return Err(Failure::usage("nothing to predict").help(
                "name a command, which is recorded (hearth predict -- COMMAND), or a recording (hearth predict TRACE)",
            ));
        }
        // Before anything is said of the machine.
        for trace in &self.trace {
            recording::check_extractable(trace)?;
        }
        let MatrixChoice { matrix, here } =
            self.combinations.choose(self.trace.len().max(self.repeat.into()))?;
        let (traces, status) = if self.command.is_empty() { (self.trace.clone(), 0) } else { self.record()? };
        let mut extractions = Vec::new();
        for trace in &traces {
            extractions.push(extract(trace)?);
        }
        warn_of_different_work(&extractions);
        let mut predictions = Vec::new();
        for Extraction { workload, report, .. } in &extractions {
            predictions.push(self.combinations.simulate(&matrix, workload, report.warnings())?);
        }
        let mut prediction = Prediction::of_recordings(predictions).ok_or_else(Failure::quiet)?;
        if let Some(Extraction { workload, .. }) = extractions.first() {
            weigh(&matrix, &mut prediction, workload)?;
        }
        let names: Vec<String> = traces.iter().map(|trace| trace.display().to_string()).collect();
        prediction.provenance.command = provenance::command_on(&names);
        for (trace, name) in traces.iter().zip(&names) {
            prediction.provenance.recordings.extend(RecordedFacts::of(name, Store::open(trace)?.header()));
        }
        prediction.answer = Some(prediction::answer(&prediction, here.as_deref(), &names));
        self.combinations.print(&prediction, here.as_deref())?;
        Ok(ExitCode::from(status))
    }

    /// Records the command into new traces in this folder. Returns their names, and the first status that is not 0.
    fn record(&self) -> Result<(Vec<PathBuf>, u8), Failure> {
        let (mut traces, mut status) = (Vec::new(), 0);
        for _ in 0..self.repeat {
            let path = free_name(&self.command);
            output::check_trace(&path)?;
            let recorded = recording::record_to(&path, Subject::Command(&self.command), &self.recorder)?;
            let ended = recorded.status.map_or(0, recording::passed_on);
            status = if status == 0 { ended } else { status };
            eprintln!(
                "hearth: {} is the recording, {:.2} s",
                path.display(),
                recorded.assembled.header.duration as f64 / 1e9
            );
            traces.push(path);
        }
        Ok((traces, status))
    }
}

/// `make.trace`, or the first of `make-2.trace`, `make-3.trace` … that does not exist.
fn free_name(command: &[String]) -> PathBuf {
    let program = command.first().and_then(|program| Path::new(program).file_name());
    let program = program.map_or_else(|| "hearth".into(), |name| name.to_string_lossy());
    let name = |number: u32| match number {
        1 => PathBuf::from(format!("{program}.trace")),
        _ => PathBuf::from(format!("{program}-{number}.trace")),
    };
    (1..).map(name).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| name(1))
}

/// A command that finds its results of the run before, as `make` does, has less to do.
fn warn_of_different_work(extractions: &[Extraction]) {
    let work =
        extractions.iter().map(|one| one.workload.stats(hearth_workload::generate::NOMINAL_KHZ).cycles);
    let (least, most) =
        work.fold((u64::MAX, 0), |(least, most), cycles| (least.min(cycles), most.max(cycles)));
    if extractions.len() > 1 && most / 2 > least {
        eprintln!(
            "warning: the recordings differ more than twofold in their work\n  help: a run must not find the results of the one before: record `sh -c 'make clean && make'`"
        );
    }
}

/// Adds to each clear verdict what the machine's assumed parameters do to it.
fn weigh(matrix: &Matrix, prediction: &mut Prediction, workload: &Workload) -> Result<(), Failure> {
    let runs = matrix.sensitivity_runs_of(prediction);
    if runs > 0 {
        progress::during("varying the model", runs, |step| matrix.weigh(prediction, workload, step))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_named_after_the_program() {
        assert_eq!(free_name(&["./no-such/configure-x".into()]), Path::new("configure-x.trace"));
        assert_eq!(free_name(&["..".into()]), Path::new("hearth.trace"));
    }
}
