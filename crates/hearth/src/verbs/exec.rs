use crate::arguments::examples;
use crate::failure::{Failure, HEARTH_FAILED, Outcome};
use crate::policy::PolicyArgs;
use crate::verbs::record::describe;
use crate::verbs::run::{Common, tell, warn};
use hearth_host::rapl::Meter;
use hearth_scx::object::Purpose;
use hearth_scx::{Options, Partial, Session};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Run a command and its children under a policy
///
/// All other threads stay under the kernel's own scheduler. If the policy ends before the command, the
/// command continues under the kernel's scheduler, and hearth prints a warning. The exit status is the
/// command's (128 + N if signal N ended it; 126 or 127 if it cannot be run), or 125 if hearth failed. Needs
/// root and a kernel with sched_ext.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "sudo hearth exec nest -- make -j8",
    "sudo hearth exec ./mine.ipa --param r_max=3 -- ./configure",
]))]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    #[command(flatten)]
    common: Common,

    /// Measure the energy of the machine while the command runs (RAPL)
    #[arg(long)]
    energy: bool,

    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

impl Args {
    /// The policy that it loads, and the variant of its object.
    pub fn loads(&self) -> (&str, Purpose) {
        (self.policy.source(), self.common.purpose())
    }

    pub fn run(self) -> Outcome {
        let failed = |failure: Failure| failure.status(HEARTH_FAILED);
        let (policy, params) = self.policy.load()?;
        let name = policy.name().to_owned();
        let options = Options {
            partial: Some(Partial::Command),
            command: self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            ..self.common.options(params).map_err(failed)?
        };
        let mut meter =
            self.energy.then(Meter::open).transpose().map_err(|absent| failed(Failure::new(absent)))?;
        let mut session = Session::start(policy, options).map_err(|error| failed(error.into()))?;
        warn(&session, &name);
        let (program, arguments) = self.command.split_first().ok_or_else(Failure::quiet)?;
        let mut command = Command::new(program);
        command.args(arguments);
        meter.iter_mut().for_each(Meter::reset);
        let start = Instant::now();
        let (status, ended) = session.command(command).map_err(|error| {
            let status = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
            Failure::new(format_args!("cannot run {}: {error}", program.to_string_lossy())).status(status)
        })?;
        if let Some(meter) = &mut meter {
            eprintln!("hearth: {}", describe(&meter.energy(), start.elapsed().as_secs_f64()));
        }
        let summary = session.finish().map_err(|error| failed(error.into()))?;
        if let Some(error) = ended {
            eprintln!(
                "warning: {name} ended before the command, which the kernel's scheduler then ran: {error}"
            );
        }
        tell(&summary);
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(ExitCode::from(code as u8))
    }
}
