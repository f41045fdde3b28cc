//! `hearth vm start`, `shell` and `stop`: a machine that keeps running.

use super::{Guest, ProgressDisplay, assignment, failure, offer, shell};
use crate::arguments::examples;
use crate::failure::{Failure, HEARTH_FAILED, Outcome};
use hearth_vm::detached::{self, Call, Lock, Place};
use hearth_vm::{Error, Streams, may_read};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

/// The verbs that users type.
pub const VERBS: [&str; 3] = ["start", "shell", "stop"];
const SUPERVISE: &str = "__supervise";

#[derive(clap::Subcommand)]
pub enum Verb {
    /// Start a machine that keeps running, for several commands
    ///
    /// Returns when the machine has booted. The current folder and those of --rw are shared until it is stopped.
    #[command(after_help = examples(&[
        "hearth vm start",
        "hearth vm start --name big --sockets 2 --cores 8 --rw ~/results",
    ]))]
    Start(Box<Start>),
    /// Run a command or a shell in a machine that was started
    ///
    /// The command has the current folder and the environment of `hearth vm`. On a terminal it gets one; otherwise
    /// its streams are separate. Ctrl-C and SIGTERM go to the command; if this process is killed, the command ends.
    /// The exit status is the command's, or 125 if the machine ended.
    #[command(after_help = examples(&[
        "hearth vm shell",
        "hearth vm shell hearth run nest &           # then: hearth vm shell hearth status",
    ]))]
    Shell(Shell),
    /// Stop a machine that was started
    ///
    /// Commands that still run are ended first.
    #[command(after_help = examples(&["hearth vm stop", "hearth vm stop --name big"]))]
    Stop(Stop),
    /// The process behind a machine, which `start` starts.
    #[command(name = SUPERVISE, hide = true)]
    Supervise(Box<Start>),
    /// The process in the guest that starts commands.
    #[command(name = "__agent", hide = true)]
    Agent,
}

#[derive(clap::Args)]
pub struct Start {
    #[command(flatten)]
    machine: Name,
    #[command(flatten)]
    guest: Guest,
}

#[derive(clap::Args)]
pub struct Name {
    /// Name of the machine
    #[arg(long, default_value = detached::DEFAULT_NAME)]
    name: String,
}

#[derive(clap::Args)]
pub struct Shell {
    #[command(flatten)]
    machine: Name,
    /// Set an environment variable of the command. Repeatable
    #[arg(short, long, value_parser = assignment, value_name = "NAME=VALUE")]
    env: Vec<(OsString, OsString)>,
    /// Print errors only
    #[arg(short, long)]
    quiet: bool,
    /// The command and its arguments [default: an interactive shell]
    #[arg(trailing_var_arg = true)]
    command: Vec<OsString>,
}

#[derive(clap::Args)]
pub struct Stop {
    #[command(flatten)]
    machine: Name,
}

impl Verb {
    pub fn run(self) -> Outcome {
        match self {
            Verb::Start(start) => start.run(),
            Verb::Shell(shell) => shell.run(),
            Verb::Stop(stop) => stop.run(),
            Verb::Supervise(start) => start.supervise(),
            Verb::Agent => detached::agent()
                .map(|()| ExitCode::SUCCESS)
                .map_err(|error| Failure::new(format_args!("the agent failed: {error}"))),
        }
    }
}

impl Name {
    fn place(&self) -> Result<Place, Failure> {
        Place::of_user(&self.name).map_err(|error| match error {
            Error::MachineName(_) => Failure::usage(error),
            error => failure(error),
        })
    }
}

impl Start {
    fn run(self) -> Outcome {
        let (place, quiet, flag) =
            (self.machine.place()?, self.guest.quiet, detached::name_flag(&self.machine.name));
        // What is wrong with the options is said before the machine's process starts.
        self.guest.options()?;
        let program = std::env::current_exe().map_err(|error| {
            Failure::new(format_args!("hearth does not find itself: {error}")).status(HEARTH_FAILED)
        })?;
        let mut arguments = vec!["vm".into(), SUPERVISE.into()];
        arguments.extend(detached::arguments_behind("start"));
        let mut tell = |text: &[u8]| eprint!("{}", String::from_utf8_lossy(text));
        detached::start(&place, &program, &arguments, &mut tell).map_err(|error| match error {
            // The machine's process has said why.
            Error::NotStarted { .. } if place.last_error().is_some() => {
                Failure::quiet().status(HEARTH_FAILED)
            }
            error => failure(error),
        })?;
        if !quiet {
            eprintln!("vm: `hearth vm shell{flag}` runs commands in it, `hearth vm stop{flag}` ends it");
        }
        Ok(ExitCode::SUCCESS)
    }

    fn supervise(self) -> Outcome {
        let place = self.machine.place()?;
        let mut progress = ProgressDisplay::new(self.guest.quiet);
        let options = self.guest.options()?;
        let lock = Lock::from_stdin()
            .map_err(|error| Failure::new(format_args!("`{SUPERVISE}` is for `hearth vm start`: {error}")))?;
        let mut watch = |step: hearth_vm::Progress| progress.tell(step);
        // If nobody waits for the machine any more, it stays for the next `shell`.
        let ready = |_: &detached::Running| drop(detached::detach());
        detached::supervise(&options, &place, &lock, &mut watch, ready).map_err(failure)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Shell {
    fn run(self) -> Outcome {
        let place = self.machine.place()?;
        let may_read = may_read();
        let is_terminal = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        let directory = std::env::current_dir().map_err(|error| {
            Failure::new(format_args!("cannot find the current folder: {error}")).status(HEARTH_FAILED)
        })?;
        let call = Call {
            command: if self.command.is_empty() { vec![shell()] } else { self.command },
            directory,
            env: self.env,
            terminal: is_terminal && may_read,
        };
        let shared = place.running().map(|machine| machine.shared);
        let is_shared =
            |shared: Vec<std::path::PathBuf>| shared.iter().any(|folder| call.directory.starts_with(folder));
        if !self.quiet && shared.is_some_and(|shared| !is_shared(shared)) {
            eprintln!(
                "vm: {} is not shared: what is written there ends with the machine (`hearth vm start --rw FOLDER`)",
                call.directory.display()
            );
        }
        if place.is_taken() {
            let mut progress = ProgressDisplay::new(self.quiet);
            offer(&call.command, &place.objects().map_err(failure)?, &mut progress)?;
            progress.bar.finish_and_clear();
        }
        let mut streams = Streams::inherited();
        if !may_read {
            streams.stdin = Box::new(std::io::empty());
        }
        let waiting = || {
            if !self.quiet {
                eprintln!("vm: waiting until the machine has booted");
            }
        };
        let status = detached::shell(&place, &call, streams, waiting).map_err(failure)?;
        Ok(ExitCode::from(status))
    }
}

impl Stop {
    fn run(self) -> Outcome {
        let place = self.machine.place()?;
        detached::stop(&place).map_err(failure)?;
        eprintln!("vm: machine `{}` stopped", place.name());
        Ok(ExitCode::SUCCESS)
    }
}
