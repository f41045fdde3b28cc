use crate::arguments::examples;
use crate::combinations::{Combinations, MatrixChoice};
use crate::failure::{Failure, Outcome};
use crate::recording::{self, RecorderOptions};
use crate::table::Plain;
use crate::verbs::extract::extract;
use crate::{output, prediction, progress, provenance};
use hearth_recorder::Subject;
use hearth_report::analysis::Request;
use hearth_study::measure::Measures;
use hearth_study::{Fleet, Matrix, NoVerdict, Prediction, RecordedFacts, WorkloadFacts};
use hearth_trace::{Reader, Store};
use hearth_workload::extract::Report;
use hearth_workload::{Extraction, Workload};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Predict the effect of policies on a command, on any machine
///
/// Takes a trace, or a command, which is recorded first (see `hearth help record`); the recording is kept. Extracts the
/// workload: the work of each thread, its waits for other threads, and its delays. Simulates it, and prints the answer for
/// each machine: what to do, the gain, its range over seeds, recordings and assumptions, and what dominates that range. The
/// first policy under the first governor is the baseline of each machine. A command that fails, and recordings that are too
/// short or too noisy, get no verdict. The exit status is the command's, or 0. Memory use is 16 bytes per step of the
/// workload, however long the trace is.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "sudo hearth predict -- make -j8",
    "hearth predict build.trace -m xeon-5218 -p eevdf -p nest --report out.html",
    "hearth predict a.trace b.trace -m xeon-5218 -m xeon-6130-4s --per-month 3000 --csv",
]))]
pub struct Args {
    /// A recorded trace. Several are recordings of the same command; with --per-month also of several commands
    #[arg(conflicts_with = "command")]
    trace: Vec<PathBuf>,
    /// The command to record, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Record the command N times: the verdict then includes how much its recordings differ
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "trace", value_parser = clap::value_parser!(u16).range(1..=100), help_heading = "Recording")]
    repeat: u16,
    /// Print every policy and governor, and where the numbers come from
    #[arg(long, conflicts_with = "per_month", help_heading = "Results")]
    all: bool,
    /// Print one table of all commands and machines: the hours and kWh that N runs of each command save in a month
    #[arg(long, value_name = "N", conflicts_with_all = ["report", "output"], value_parser = positive, help_heading = "Results")]
    per_month: Option<f64>,
    /// With --per-month: print CSV
    #[arg(long, requires = "per_month", conflicts_with = "json", help_heading = "Results")]
    csv: bool,
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
            self.combinations.choose(self.trace.len().max(self.repeat.into()), true)?;
        let (traces, status) = match self.command.is_empty() {
            true => (self.trace.clone(), None),
            false => self.record().map(|(traces, status)| (traces, Some(status)))?,
        };
        let Some(per_month) = self.per_month else {
            let prediction = self.predict(&matrix, &traces, status, here.as_deref())?;
            self.combinations.print(&prediction, here.as_deref(), self.all)?;
            return Ok(ExitCode::from(status.unwrap_or(0)));
        };
        let predictions: Vec<Prediction> = by_command(&traces)?
            .iter()
            .map(|traces| self.predict(&matrix, traces, status, here.as_deref()))
            .collect::<Result<_, _>>()?;
        let fleet = Fleet::new(per_month, &predictions);
        output::print(self.combinations.json, &fleet, || if self.csv { fleet.csv() } else { table(&fleet) })?;
        Ok(ExitCode::from(status.unwrap_or(0)))
    }

    /// The prediction for recordings of one command, which ended with `status`.
    fn predict(
        &self,
        matrix: &Matrix,
        traces: &[PathBuf],
        status: Option<u8>,
        here: Option<&str>,
    ) -> Result<Prediction, Failure> {
        let names: Vec<String> = traces.iter().map(|trace| trace.display().to_string()).collect();
        let mut recordings = Vec::new();
        for (trace, name) in traces.iter().zip(&names) {
            recordings.extend(RecordedFacts::of(name, Store::open(trace)?.header()));
        }
        let extractions = traces.iter().map(|trace| extract(trace)).collect::<Result<Vec<_>, _>>()?;
        let seconds: Vec<f64> = recordings.iter().map(|recording| recording.recorded_s).collect();
        let nominal = hearth_workload::generate::NOMINAL_KHZ;
        let work: Vec<u64> = extractions.iter().map(|one| one.workload.stats(nominal).cycles).collect();
        let first = extractions.first().ok_or_else(Failure::quiet)?;
        let no_verdict = NoVerdict::of(status, &seconds, &work);
        let mut notes = Vec::new();
        for (name, one) in names.iter().zip(&extractions) {
            let mut of_one = one.report.warnings();
            if let Some(note) = others(name, &one.report)? {
                eprintln!("note: {note}");
                of_one.push(note);
            }
            notes.push(of_one);
        }
        let mut prediction = if no_verdict.is_some() {
            let facts = WorkloadFacts::of(&first.workload, notes.swap_remove(0));
            let mut prediction = Prediction::new(facts, Vec::new(), Vec::new());
            prediction.no_verdict = no_verdict;
            prediction
        } else {
            let predictions = extractions.iter().zip(notes).map(|(Extraction { workload, .. }, notes)| {
                self.combinations.simulate(matrix, workload, notes)
            });
            let predictions = predictions.collect::<Result<_, _>>()?;
            let mut prediction = Prediction::of_recordings(predictions).ok_or_else(Failure::quiet)?;
            weigh(matrix, &mut prediction, &first.workload)?;
            prediction
        };
        prediction.provenance.command = provenance::command_on(&names);
        prediction.provenance.recordings = recordings;
        prediction.answer = Some(prediction::answer(&prediction, here, &names));
        Ok(prediction)
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

/// Who else used the cores during a recording, if that is more than a twentieth of all CPU time.
fn others(trace: &str, report: &Report) -> Result<Option<String>, Failure> {
    const BUSY: u64 = 20;
    if report.cpu_outside.saturating_mul(BUSY) <= report.cpu.saturating_add(report.cpu_outside) {
        return Ok(None);
    }
    let measures =
        Measures { request: Request { others: Some(3), ..Request::default() }, ..Measures::default() };
    let measured = measures.of(Reader::open(trace)?, trace)?;
    let unknown = measured.unknown().waiting;
    let Some(others) = measured.others.filter(|others| others.cpu_s > 0.0) else { return Ok(None) };
    let names = others.processes.iter().map(|one| {
        let pid = one.pid.map_or_else(String::new, |pid| format!(" {pid}"));
        format!("{}{pid} {:.2}", one.process, one.cpu_s)
    });
    let waited = match unknown {
        true => String::new(),
        false => format!(", and its threads waited {:.2} s for them", others.waiting_ms / 1e3),
    };
    Ok(Some(format!(
        "during {trace}, processes outside the command took {:.2} core·s ({}){waited}; the prediction is of a machine without them",
        others.cpu_s,
        names.collect::<Vec<_>>().join(", ")
    )))
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

/// The recordings of each command, in order of appearance. A trace that was not recorded is alone.
fn by_command(traces: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let mut groups: Vec<(Option<Vec<String>>, Vec<PathBuf>)> = Vec::new();
    for trace in traces {
        let facts = RecordedFacts::of("", Store::open(trace)?.header());
        let command = facts.map(|facts| facts.command).filter(|command| !command.is_empty());
        match groups.iter_mut().find(|(known, _)| command.is_some() && *known == command) {
            Some((_, traces)) => traces.push(trace.clone()),
            None => groups.push((command, vec![trace.clone()])),
        }
    }
    Ok(groups.into_iter().map(|(_, traces)| traces).collect())
}

fn table(fleet: &Fleet) -> String {
    let mut table = Plain::new(5);
    table.head(&Fleet::TITLES);
    fleet.cells().iter().for_each(|row| table.row(row));
    format!("{}\nHours and kWh of the model that {} runs a month save.\n", table.render(), fleet.per_month)
}

fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    (number > 0.0 && number.is_finite()).then_some(number).ok_or_else(|| "must be greater than 0".into())
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
