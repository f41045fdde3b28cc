use crate::arguments;
use crate::arguments::examples;
use crate::failure::{Failure, Outcome, RECORDER_FAILED};
use crate::output::{self, count};
use crate::recording::{self, RecorderOptions};
use crate::table::number;
use hearth_host::rapl::Meter;
use hearth_recorder::Subject;
use hearth_trace::{Energy, Header, Source, Writer};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Record a trace of a command, or of the whole system
///
/// The trace contains every context switch, wake-up, fork and exit, and the core frequencies. Needs root, or
/// the right to use BPF or tracefs. The exit status is the command's (128 + N if signal N ended it; 126 or
/// 127 if it cannot be run), or 125 if hearth failed. Without a command it is 0.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "sudo hearth record -o configure.trace -- ./configure",
    "sudo hearth record --system --duration 10s",
]))]
pub struct Args {
    /// The trace to write. A trace of this name is kept as NAME.old
    #[arg(short, long, value_name = "TRACE", default_value = "hearth.trace")]
    output: PathBuf,
    /// Record the whole system: while the command runs, for --duration, or until Ctrl-C
    #[arg(short = 'a', long)]
    system: bool,
    /// How long to record the whole system: `10s`, `2min` [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", requires = "system", conflicts_with = "command", value_parser = arguments::time)]
    duration: Option<Duration>,
    #[command(flatten)]
    recorder: RecorderOptions,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let not_ours = |failure: Failure| failure.status(RECORDER_FAILED);
        if self.command.is_empty() && !self.system {
            let help =
                "name a command (hearth record -- make -j8), or record the whole system (hearth record -a)";
            return Err(Failure::usage("nothing to record").help(help));
        }
        output::check_recording(&self.output).map_err(not_ours)?;
        let replaces = self.output.exists();
        let subject = match (self.system, self.command.is_empty()) {
            (false, _) => Subject::Command(&self.command),
            (true, false) => Subject::SystemWhile(&self.command),
            (true, true) => Subject::System(self.duration),
        };
        if subject == Subject::System(None) {
            eprintln!("recording the whole system; Ctrl-C ends it");
        }
        let recorded = recording::record_to(&self.output, subject, &self.recorder)?;
        if replaces {
            eprintln!("note: the trace that was there is now {}", Writer::old_name(&self.output).display());
        }
        let header = &recorded.assembled.header;
        let method = match &header.source {
            Source::Recorded(recording) => recording.method.name(),
            _ => "unknown means",
        };
        eprintln!(
            "{}: {} of {} in {:.2} s, recorded by {}, {:.1} bytes each",
            self.output.display(),
            count(recorded.assembled.events, "event"),
            count(header.threads.iter().filter(|thread| thread.traced).count(), "thread"),
            header.duration as f64 / 1e9,
            method,
            recorded.bytes as f64 / recorded.kernel_events.max(1) as f64,
        );
        eprintln!("{}", energy(header));
        Ok(ExitCode::from(recorded.status.map_or(0, recording::passed_on)))
    }
}

/// The measured energy, or why there is none.
fn energy(header: &Header) -> String {
    let measured = match &header.source {
        Source::Recorded(recording) => recording.energy.as_deref(),
        _ => None,
    };
    match measured {
        Some(energy) => describe(energy, header.duration as f64 / 1e9),
        None => match Meter::open() {
            Err(absent) => format!("energy: not measured: {absent}"),
            Ok(_) => "energy: not measured".into(),
        },
    }
}

/// `energy: 12.3 J in 3.20 s, 3.84 W (packages 11.0 J, of which cores 8.10 J; memory 1.30 J)`
pub fn describe(energy: &Energy, seconds: f64) -> String {
    let joules = |uj: u64| number(uj as f64 / 1e6);
    let cores = energy.cores_uj.map_or_else(String::new, |uj| format!(", of which cores {} J", joules(uj)));
    let memory = energy.dram_uj.map_or_else(String::new, |uj| format!("; memory {} J", joules(uj)));
    let total = energy.total_uj();
    format!(
        "energy: {} J in {seconds:.2} s, {} W (packages {} J{cores}{memory})",
        joules(total),
        number(total as f64 / 1e6 / seconds.max(1e-9)),
        joules(energy.package_uj)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_in_joules_and_watts() {
        let energy = Energy { package_uj: 11_000_000, cores_uj: Some(8_100_000), dram_uj: Some(1_300_000) };
        assert_eq!(
            describe(&energy, 3.0),
            "energy: 12.3 J in 3.00 s, 4.10 W (packages 11.0 J, of which cores 8.10 J; memory 1.30 J)"
        );
        let package = Energy { package_uj: 2_000_000, ..Energy::default() };
        assert_eq!(describe(&package, 1.0), "energy: 2.00 J in 1.00 s, 2.00 W (packages 2.00 J)");
    }
}
