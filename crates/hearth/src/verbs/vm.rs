mod detached;

use self::detached::Verb;
use crate::arguments::{STDIN, examples, time};
use crate::cli::Cli;
use crate::failure::{Failure, HEARTH_FAILED, Outcome};
use crate::output::{self, Document};
use crate::table::{Column, table};
use clap::{ArgGroup, ValueEnum};
use hearth_machine::Machine;
use hearth_scx::object;
use hearth_vm::detached::{Place, Running};
use hearth_vm::{Acceleration, Architecture, Error, Listed, Options, Progress, Streams, Topology, Wish};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Run a command or a shell in a virtual machine with sched_ext
///
/// The guest sees all programs and files of the host. Its writes are discarded when it ends, except those to
/// the current folder and to the folders of --rw, which are shared. The kernel is Debian's and is downloaded
/// once. Without KVM the guest is emulated, which is slow but allows any number of cores. The exit status is
/// the command's (128 + N if signal N ended it; 126 or 127 if it cannot be run), or 125 if the virtual
/// machine failed or the time was over.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_value_name = "VERB"
)]
#[command(after_help = examples(&[
    "hearth vm -- hearth exec nest -- make -j8",
    "hearth vm --sockets 4 --cores 4 --smt 2 -- make -j32",
    "hearth vm start --cpus 16                   # then: hearth vm shell, hearth vm stop",
    "hearth vm -- start                          # a command that has the name of a verb",
]))]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,

    /// Architecture of the guest's processors [default: the host's]. Another one than the host's is emulated, and a
    /// small Debian of that architecture, downloaded once, hides the host's programs
    #[arg(long, value_enum, value_name = "ARCHITECTURE")]
    arch: Option<Arch>,
    /// List the available kernels, which of them are downloaded, and the machines that run
    #[arg(long, conflicts_with_all = ["command", "topology", "machine"])]
    list: bool,
    /// With --list: print JSON (schema hearth.vm.kernels/1) instead of text
    #[arg(long, requires = "list")]
    json: bool,

    #[command(flatten)]
    guest: Guest,

    /// Set an environment variable of the command. PATH, HOME, TERM, LANG, SHELL and HEARTH_LIB are always
    /// passed on. Repeatable
    #[arg(short, long, value_parser = assignment, value_name = "NAME=VALUE")]
    env: Vec<(OsString, OsString)>,
    /// Connect the command to the terminal, as the shell is
    #[arg(short, long)]
    tty: bool,
    /// Kill the command after this time, in seconds or with a unit: `90`, `5m`, `2h` [default: none]
    #[arg(long, value_parser = time, value_name = "TIME")]
    timeout: Option<Duration>,
    /// Write the kernel's log to this file after the command has ended
    #[arg(long, value_name = "FILE")]
    dmesg: Option<PathBuf>,
    /// The command and its arguments [default: an interactive shell]
    #[arg(trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// The guest: the flags that `vm` and `vm start` share.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("topology").args(["cpus", "sockets", "cores", "smt", "numa"]).multiple(true).conflicts_with("machine"))]
pub struct Guest {
    /// The kernel: a version or the beginning of one (`6.18`), `latest`, or the path of an image
    #[arg(short, long, default_value = "latest")]
    kernel: String,
    /// Look for a newer kernel even if a downloaded one matches --kernel
    #[arg(long)]
    update: bool,

    /// Total number of CPUs (hardware threads) [default: 4]
    #[arg(short, long, value_name = "N", help_heading = "Topology")]
    cpus: Option<u16>,
    /// Number of sockets, each with its own last-level cache [default: one per NUMA node]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    sockets: Option<u16>,
    /// Physical cores per socket [default: derived from --cpus]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    cores: Option<u16>,
    /// Hardware threads per physical core [default: 1]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    smt: Option<u16>,
    /// Number of NUMA nodes [default: one per socket]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    numa: Option<u16>,
    /// Take the topology of a machine, and the exit latencies of its idle states: the name of a built-in one (`hearth list
    /// machines`), or the path of a machine file
    #[arg(short, long, help_heading = "Topology")]
    machine: Option<String>,

    /// Memory of the guest, in MiB or with a unit: `8G` [default: 4G, or half of the host's if that is less]
    #[arg(long, value_parser = mebibytes, value_name = "SIZE")]
    memory: Option<u64>,
    /// How the guest's code is executed
    #[arg(long, value_enum, default_value = "auto")]
    accel: Accel,
    /// Add a parameter to the guest's kernel command line. Repeatable
    #[arg(long, value_name = "PARAMETER")]
    append: Vec<String>,

    /// Share another folder for writing. Repeatable
    #[arg(long, value_name = "FOLDER")]
    rw: Vec<PathBuf>,
    /// Write the output of the kernel's console to this file
    #[arg(long, value_name = "FILE")]
    console: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Arch {
    /// x86-64
    Amd64,
    /// 64-bit Arm (`make arm64` in the sources builds hearth for it)
    Arm64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Accel {
    /// KVM if it works on this host, otherwise emulation
    Auto,
    /// Hardware virtualisation
    Kvm,
    /// Emulation
    Tcg,
    /// Emulation in which the clock counts executed instructions: independent of the host's load, and slower
    Icount,
}

#[derive(Serialize)]
struct List {
    kernels: Vec<Listed>,
    /// Those of `hearth vm start`.
    machines: Vec<Running>,
}

impl Args {
    pub fn run(self) -> Outcome {
        if let Some(verb) = self.verb {
            return verb.run();
        }
        refuse_late_verb(&self.command, std::env::args_os())?;
        let mut progress = ProgressDisplay::new(self.guest.quiet);
        let architecture = match self.arch {
            None => Architecture::HOST,
            Some(Arch::Amd64) => Architecture::X86_64,
            Some(Arch::Arm64) => Architecture::Arm64,
        };
        if self.list {
            return list(architecture, self.json, &mut progress);
        }
        let interactive = self.command.is_empty();
        let on_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if self.tty && !on_terminal {
            let failure = Failure::usage("--tty: standard input and output are not a terminal");
            return Err(failure.help("omit --tty: standard input and output are connected without it, too"));
        }
        let objects = tempfile::tempdir().map_err(|error| {
            Failure::new(format_args!("no temporary folder: {error}")).status(HEARTH_FAILED)
        })?;
        offer(&self.command, objects.path(), &mut progress)?;
        let options = Options {
            architecture,
            objects: Some(objects.path().into()),
            env: self.env,
            timeout: self.timeout,
            dmesg: self.dmesg,
            terminal: self.tty || interactive && on_terminal,
            signals: true,
            ..self.guest.options()?
        };
        if let Some(file) = &options.dmesg {
            output::check_writable(file).map_err(|failure| failure.status(HEARTH_FAILED))?;
        }
        let command = match interactive {
            true if architecture.is_foreign() => vec!["/bin/bash".into()],
            true => vec![shell()],
            false => self.command,
        };
        progress.on_terminal = options.terminal;
        let exit = hearth_vm::run(&options, &command, Streams::inherited(), &mut |step| progress.tell(step));
        progress.bar.finish_and_clear();
        Ok(ExitCode::from(exit.map_err(failure)?.status))
    }
}

impl Guest {
    /// # Errors
    /// The topology is impossible, or the file of --console cannot be written.
    fn options(self) -> Result<Options, Failure> {
        let topology = self.topology()?;
        if let Some(file) = &self.console {
            output::check_writable(file).map_err(|failure| failure.status(HEARTH_FAILED))?;
        }
        Ok(Options {
            kernel: self.kernel,
            update: self.update,
            topology,
            memory_mib: self.memory,
            acceleration: match self.accel {
                Accel::Auto => Acceleration::Auto,
                Accel::Kvm => Acceleration::Kvm,
                Accel::Tcg => Acceleration::Tcg,
                Accel::Icount => Acceleration::Counted,
            },
            rw: self.rw,
            console: self.console,
            append: self.append.join(" "),
            hearth: std::env::current_exe().ok(),
            ..Options::default()
        })
    }

    fn topology(&self) -> Result<Topology, Failure> {
        let topology = match &self.machine {
            Some(machine) => Topology::of_machine(&Machine::load(machine)?),
            None => Topology::new(Wish {
                cpus: self.cpus,
                sockets: self.sockets,
                cores: self.cores,
                smt: self.smt,
                numa: self.numa,
            }),
        };
        topology.map_err(Failure::usage)
    }
}

/// Compiles the policy that a command of hearth loads into the kernel, because an emulated guest takes minutes for that. The
/// guest finds the object in `folder`.
///
/// # Errors
/// The policy cannot be compiled here; then it cannot be in the guest, either, which has the same files.
fn offer(command: &[OsString], folder: &Path, progress: &mut ProgressDisplay) -> Result<(), Failure> {
    let cli = Cli::within(command);
    let loads = cli.as_ref().and_then(Cli::loads);
    // Standard input is the guest's.
    let Some((source, purpose)) = loads.filter(|(source, _)| *source != STDIN) else { return Ok(()) };
    let offered = hearth_policy::load(source).map_err(Failure::from).and_then(|policy| {
        let what = format!("compiling {} for the kernel", policy.name());
        let compiling = || progress.tell(Progress::Doing(&what));
        Ok(object::offer(&policy, purpose, folder, compiling)?)
    });
    offered.map_err(|failure| failure.status(HEARTH_FAILED))
}

/// The user's shell.
fn shell() -> OsString {
    std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())
}

/// Fails if the command is a verb that stands behind options: `vm --cpus 4 start`. Behind `--` it is a command.
fn refuse_late_verb(command: &[OsString], mut line: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let first = command.first().and_then(|word| word.to_str());
    match first.filter(|word| detached::VERBS.contains(word)) {
        Some(verb) if !line.any(|word| word == "--") => {
            let failure = Failure::usage(format_args!("`{verb}` is a verb, and its options stand behind it"));
            Err(failure.help(format_args!(
                "hearth vm {verb} [OPTIONS]; to run a command of this name: hearth vm [OPTIONS] -- {verb}"
            )))
        }
        _ => Ok(()),
    }
}

fn failure(error: Error) -> Failure {
    match error {
        // The exit status of a shell. The user sent the signal and needs no message.
        Error::Interrupted(signal) => Failure::quiet().status(128u8.saturating_add(signal as u8)),
        Error::Unread(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Failure::quiet().status(128 + 13)
        }
        Error::Topology(_) => Failure::usage(error),
        error => Failure::new(error).status(HEARTH_FAILED),
    }
}

fn list(architecture: Architecture, json: bool, progress: &mut ProgressDisplay) -> Outcome {
    let (kernels, problem) =
        hearth_vm::kernels(architecture, &mut |step| progress.tell(step)).map_err(failure)?;
    progress.bar.finish_and_clear();
    if let Some(problem) = problem {
        if kernels.is_empty() {
            return Err(failure(problem));
        }
        eprintln!("warning: only downloaded kernels are listed: {problem}");
    }
    let columns: [Column<&Listed>; 3] = [
        ("version", |kernel| kernel.version.clone()),
        ("kernel", |kernel| kernel.release.clone()),
        ("downloaded", |kernel| if kernel.cached { "yes" } else { "-" }.into()),
    ];
    let machines = Place::all().map_err(failure)?;
    let document = Document { schema: "hearth.vm.kernels/1", content: List { kernels, machines } };
    output::print(json, &document, || {
        let List { kernels, machines } = &document.content;
        let running = machines.iter().map(|machine| format!("\nmachine `{}` runs: {machine}", machine.name));
        let mut text = table(3, &columns, kernels) + &running.collect::<String>();
        text.push_str(if machines.is_empty() { "" } else { "\n" });
        text
    })
}

/// Shows progress: a spinner on a terminal, otherwise lines.
struct ProgressDisplay {
    quiet: bool,
    bar: ProgressBar,
    /// The command is connected to the terminal; then the message names the keys that end the guest.
    on_terminal: bool,
    /// The current activity.
    activity: String,
}

impl ProgressDisplay {
    fn new(quiet: bool) -> Self {
        let bar = if quiet || output::is_dumb_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner()
        };
        ProgressDisplay { quiet, bar, on_terminal: false, activity: String::new() }
    }

    fn tell(&mut self, step: Progress) {
        match step {
            Progress::Doing(what) => self.spin(what, ""),
            Progress::Fetching { what, bytes, total } => {
                let size = format!("{} of {} MB", bytes / 1_000_000, total.div_ceil(1_000_000));
                self.spin(&format!("fetching {what}"), &size);
            }
            Progress::Booting { guest, since } => {
                self.spin(&format!("booting {guest}"), &format!("{} s", since.as_secs()))
            }
            Progress::Running { booted_in } => {
                let exit = if self.on_terminal { " (press Ctrl-] three times to end it)" } else { "" };
                self.bar.finish_and_clear();
                self.line(&format!("booted in {:.1} s{exit}", booted_in.as_secs_f64()));
            }
            Progress::Note(note) => self.line(note),
        }
    }

    /// Shows an activity; `more` is its progress.
    fn spin(&mut self, what: &str, more: &str) {
        if self.activity != what {
            self.activity = what.into();
            if self.bar.is_hidden() {
                self.line(what);
            } else if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {prefix}") {
                self.bar.set_style(style);
                self.bar.enable_steady_tick(Duration::from_millis(100));
            }
            self.bar.set_message(what.to_owned());
        }
        self.bar.set_prefix(more.to_owned());
    }

    fn line(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| eprintln!("vm: {text}"));
        }
    }
}

fn mebibytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" | "M" | "MiB" => 1,
        "G" | "GiB" => 1024,
        _ => return Err("give MiB (`2048`) or GiB (`2G`)".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "give MiB (`2048`) or GiB (`2G`)")?;
    number.checked_mul(unit).filter(|mib| *mib > 0).ok_or_else(|| "the size is out of range".into())
}

fn assignment(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_scx::object::Purpose;

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!((mebibytes("2048"), mebibytes("512M"), mebibytes("8G")), (Ok(2048), Ok(512), Ok(8192)));
        for wrong in ["", "0", "G", "1T", "-1", "1.5G", "99999999999999999999"] {
            assert!(mebibytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(time("5m"), Ok(Duration::from_secs(300)));
        assert!(time("0").is_err() && time("soon").is_err());
    }

    #[test]
    fn verbs_stand_before_their_options() {
        let refused = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let command = [words.last().unwrap().clone()];
            refuse_late_verb(&command, words.into_iter()).is_err()
        };
        assert!(refused("hearth vm --cpus 4 start"));
        assert!(!refused("hearth vm --cpus 4 -- start"));
        assert!(!refused("hearth vm --cpus 4 make"));
    }

    #[test]
    fn the_policy_of_a_command_is_found() {
        let loads = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let cli = Cli::within(&words)?;
            cli.loads().map(|(source, purpose)| (source.to_owned(), purpose))
        };
        for line in [
            "hearth run nest",
            "sudo target/debug/hearth exec nest:s_max=0 -- make",
            "timeout 9 hearth try nest -- make",
            "hearth build nest --verify",
        ] {
            assert_eq!(loads(line), Some(("nest".into(), Purpose::Run)), "{line}");
        }
        assert_eq!(loads("hearth run a.ipa --log a.log"), Some(("a.ipa".into(), Purpose::Log)));
        for line in ["hearth build nest", "hearth run", "hearth status", "make hearth", "sh -c hearth"] {
            assert_eq!(loads(line), None, "{line}");
        }
    }

    #[test]
    fn a_policy_is_offered_unless_it_is_read_from_standard_input() {
        let offered = |source: &str| {
            let folder = tempfile::tempdir().unwrap();
            let words = ["hearth", "run", source].map(OsString::from);
            offer(&words, folder.path(), &mut ProgressDisplay::new(true))?;
            Ok::<_, Failure>(std::fs::read_dir(folder.path()).unwrap().count())
        };
        assert_eq!(offered("-").unwrap(), 0);
        assert!(offered("no-such-policy").unwrap_err().message().contains("no-such-policy"));
    }

    #[test]
    fn variables_are_assigned() {
        assert_eq!(assignment("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(assignment("A="), Ok(("A".into(), "".into())));
        assert!(assignment("A").is_err() && assignment("=b").is_err());
    }
}
