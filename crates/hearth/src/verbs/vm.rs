use crate::failure::{Failure, Outcome};
use crate::output;
use crate::table::Plain;
use clap::{ArgGroup, ValueEnum};
use hearth_machine::Machine;
use hearth_vm::{Acceleration, Error, Listed, Options, Progress, Streams, Topology, Wish};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Exit status when it is hearth, or the virtual machine, that failed, and not the command in it.
const VM_FAILED: u8 = 125;

/// Run a command in a virtual machine whose kernel has sched_ext, of any number of cores
///
/// Without a command: an interactive shell. The machine has all programs and files of this one; what it
/// writes is gone afterwards, except in the current folder (and those of `--rw`), which are shared. The kernel
/// is Debian's, fetched once. Where KVM does not work, the machine is emulated: any number of cores, but slow.
/// The exit status is the command's (128 + N if signal N ended it; 126 or 127 if it cannot be run), or 125 if
/// there is none, because the machine failed or the command's time was over.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("topology").args(["cpus", "sockets", "cores", "smt", "numa"]).multiple(true).conflicts_with("machine"))]
pub struct Args {
    /// The kernel: a version or its beginning (`6.18`), `latest`, or the path of an image
    #[arg(short, long, default_value = "latest")]
    kernel: String,
    /// List the kernels that can be had, and those that are there already
    #[arg(long, conflicts_with_all = ["command", "topology", "machine"])]
    list: bool,
    /// With --list: print JSON (schema hearth.vm.kernels/1) instead of text
    #[arg(long, requires = "list")]
    json: bool,
    /// Ask for a newer kernel even if one that fits is there already
    #[arg(long)]
    update: bool,

    /// CPUs (hardware threads) in all [default: 4]
    #[arg(short, long, value_name = "N", help_heading = "Topology")]
    cpus: Option<u16>,
    /// Sockets, each with a last-level cache of its own [default: one for each NUMA node]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    sockets: Option<u16>,
    /// Physical cores of each socket [default: what --cpus leaves]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    cores: Option<u16>,
    /// Hardware threads of each physical core [default: 1]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    smt: Option<u16>,
    /// NUMA nodes [default: one for each socket]
    #[arg(long, value_name = "N", help_heading = "Topology")]
    numa: Option<u16>,
    /// All of the above from a machine: a built-in one, or the path of a file
    #[arg(short, long, help_heading = "Topology")]
    machine: Option<String>,

    /// Memory, in MiB, or with a unit: 8G [default: 4G, or half of this machine's]
    #[arg(long, value_parser = mebibytes, value_name = "SIZE")]
    memory: Option<u64>,
    /// What runs the guest's code
    #[arg(long, value_enum, default_value = "auto")]
    accel: Accel,
    /// A parameter for the guest's kernel
    #[arg(long, value_name = "PARAMETER")]
    append: Vec<String>,

    /// Another folder that the guest may write into
    #[arg(long, value_name = "FOLDER")]
    rw: Vec<PathBuf>,
    /// A variable for the command's environment, which has PATH, HOME, TERM, LANG, SHELL and HEARTH_LIB anyway
    #[arg(short, long, value_parser = assignment, value_name = "NAME=VALUE")]
    env: Vec<(OsString, OsString)>,
    /// Give the command the terminal, as the interactive shell has it
    #[arg(short, long)]
    tty: bool,
    /// End the command if it takes longer: 90, 90s, 5m, 2h
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
    /// Where to keep what the kernel prints on its console
    #[arg(long, value_name = "FILE")]
    console: Option<PathBuf>,
    /// Where to write the kernel's log when the command has ended
    #[arg(long, value_name = "FILE")]
    dmesg: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,

    /// The command and its arguments
    #[arg(last = true)]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Accel {
    /// KVM if it works here, else emulation
    Auto,
    /// The processor itself
    Kvm,
    /// Emulation
    Tcg,
    /// Emulation in which time is the number of executed instructions: reproducible, whatever else the
    /// host does, and slower
    Icount,
}

#[derive(Serialize)]
struct List {
    schema: &'static str,
    kernels: Vec<Listed>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let mut progress = ProgressDisplay::new(self.quiet);
        if self.list {
            return list(self.json, &mut progress);
        }
        let topology = self.topology()?;
        let interactive = self.command.is_empty();
        let on_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if self.tty && !on_terminal {
            let failure = Failure::usage("--tty: standard input and output are not a terminal");
            return Err(failure.help("leave --tty out: input and output are passed on without it too"));
        }
        let options = Options {
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
            env: self.env,
            timeout: self.timeout,
            console: self.console,
            dmesg: self.dmesg,
            append: self.append.join(" "),
            terminal: self.tty || interactive && on_terminal,
            signals: true,
            ..Options::default()
        };
        for file in options.console.iter().chain(&options.dmesg) {
            output::check_writable(file).map_err(|failure| failure.status(VM_FAILED))?;
        }
        let command = match interactive {
            true => vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())],
            false => self.command,
        };
        progress.on_terminal = options.terminal;
        let exit = hearth_vm::run(&options, &command, Streams::inherited(), &mut |step| progress.tell(step));
        progress.bar.finish_and_clear();
        Ok(ExitCode::from(exit.map_err(failure)?.status))
    }

    fn topology(&self) -> Result<Topology, Failure> {
        let topology = match &self.machine {
            Some(machine) => Topology::of_machine(&Machine::load(machine)?.topology),
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

fn failure(error: Error) -> Failure {
    match error {
        // As a shell would put it. The user knows that he ended it.
        Error::Interrupted(signal) => Failure::quiet().status(128u8.saturating_add(signal as u8)),
        Error::Unread(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Failure::quiet().status(128 + 13)
        }
        Error::Topology(_) => Failure::usage(error),
        error => Failure::new(error).status(VM_FAILED),
    }
}

fn list(json: bool, progress: &mut ProgressDisplay) -> Outcome {
    let (kernels, problem) = hearth_vm::kernels(&mut |step| progress.tell(step)).map_err(failure)?;
    progress.bar.finish_and_clear();
    if let Some(problem) = problem {
        if kernels.is_empty() {
            return Err(failure(problem));
        }
        eprintln!("warning: only what is in the cache is listed: {problem}");
    }
    if json {
        output::json(&List { schema: "hearth.vm.kernels/1", kernels })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Plain::new(3);
    table.head(&["version", "kernel", "here"]);
    for kernel in kernels {
        let here = if kernel.cached { "yes" } else { "-" };
        table.row(&[kernel.version, kernel.release, here.into()]);
    }
    output::text(&table.render())?;
    Ok(ExitCode::SUCCESS)
}

/// Shows progress: in place on a terminal, else in lines.
struct ProgressDisplay {
    quiet: bool,
    bar: ProgressBar,
    /// The command gets the terminal: say how a guest that does not listen is ended.
    on_terminal: bool,
    /// What the last line was about.
    said: String,
}

impl ProgressDisplay {
    fn new(quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        ProgressDisplay { quiet, bar, on_terminal: false, said: String::new() }
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
                let exit = if self.on_terminal { " (Ctrl-] three times ends it)" } else { "" };
                self.bar.finish_and_clear();
                self.line(&format!("booted in {:.1} s{exit}", booted_in.as_secs_f64()));
            }
            Progress::Note(note) => self.line(note),
        }
    }

    /// Something that goes on; `more` changes meanwhile.
    fn spin(&mut self, what: &str, more: &str) {
        if self.said != what {
            self.said = what.into();
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
        _ => return Err("say it in MiB (`2048`) or in GiB (`2G`)".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "say it in MiB (`2048`) or in GiB (`2G`)")?;
    number.checked_mul(unit).filter(|mib| *mib > 0).ok_or_else(|| "no machine has that".into())
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs);
    let duration = seconds.or_else(|_| humantime::parse_duration(text)).map_err(|error| error.to_string())?;
    if duration.is_zero() { Err("no command is that fast".into()) } else { Ok(duration) }
}

fn assignment(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("it is not of the form NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!((mebibytes("2048"), mebibytes("512M"), mebibytes("8G")), (Ok(2048), Ok(512), Ok(8192)));
        for wrong in ["", "0", "G", "1T", "-1", "1.5G", "99999999999999999999"] {
            assert!(mebibytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert!(duration("0").is_err() && duration("soon").is_err());
    }

    #[test]
    fn variables_are_assigned() {
        assert_eq!(assignment("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(assignment("A="), Ok(("A".into(), "".into())));
        assert!(assignment("A").is_err() && assignment("=b").is_err());
    }
}
