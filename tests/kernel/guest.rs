//! Runs a list of cases in one guest, and again in another one if the emulator fails.

use crate::cases::{Case, Shape};
use hearth_vm::{Architecture, Error, Options, Streams};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Most restarts of a guest that ended by a fault of the emulator.
const RESTARTS: u32 = 3;

/// What cases need besides a kernel.
pub struct Tools {
    pub architecture: Architecture,
    /// The hearth that runs in guests.
    pub hearth: PathBuf,
    /// The folder of the scripts that cases run.
    pub scripts: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
}

/// How a case ended in its guest.
pub enum Ended {
    /// With this status, after this time. The folder has its output and the kernel's log.
    Status(i32, Duration),
    /// The guest ended before the case did.
    Lost(String, Duration),
    /// There is no guest.
    NoGuest(String),
}

/// Runs `cases` in a guest, each in a folder below `work`. Calls `ended` with the number of each case, the folder, and how it
/// ended, while the next case runs.
pub fn run(
    tools: &Tools,
    shape: &Shape,
    cases: &[Case],
    work: &Path,
    ended: &mut (dyn FnMut(usize, &Path, Ended) + Send),
) -> Result<(), Interrupted> {
    let (mut first, mut restarts) = (0, 0);
    while first < cases.len() {
        let folder = tempfile::tempdir_in(work).expect("a temporary folder");
        write(&cases[first..], folder.path());
        let options = options(tools, shape, &cases[first..], folder.path());
        let numbers = (0..cases.len() - first).map(|number| number.to_string().into());
        let command = ["sh".into(), tools.scripts.join("../guest.sh").into(), tools.hearth.clone().into()];
        let command: Vec<OsString> = command.into_iter().chain(numbers).collect();
        let patience = if tools.architecture.is_foreign() { 10 } else { shape.patience() };
        let (result, progress) = boot(&options, &command, &cases[first..], patience, &mut |number, how| {
            ended(first + number, &folder.path().join(number.to_string()), how);
        });
        first += progress.ended;
        let Err(error) = result else {
            assert!(first == cases.len(), "the guest ran {first} of {} cases", cases.len());
            return Ok(());
        };
        let folder = folder.path().join(progress.ended.to_string());
        match (&error, progress.since) {
            (Error::StaleCode { .. }, _) if restarts < RESTARTS => {
                println!("(restarted: {})", error.to_string().lines().next().unwrap_or_default());
                restarts += 1;
            }
            (Error::Interrupted(signal), _) if *signal != libc::SIGTERM || !progress.hangs => {
                return Err(Interrupted);
            }
            (error, Some(since)) => {
                let why = if progress.hangs { "the guest hangs".into() } else { error.to_string() };
                ended(first, &folder, Ended::Lost(why, since.elapsed()));
                first += 1;
            }
            (error, None) => {
                for number in first..cases.len() {
                    ended(number, &folder, Ended::NoGuest(error.to_string()));
                }
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The user ends the tests.
#[derive(Debug)]
pub struct Interrupted;

/// Writes the files that `guest.sh` reads.
fn write(cases: &[Case], work: &Path) {
    for (number, case) in cases.iter().enumerate() {
        let folder = work.join(number.to_string());
        std::fs::create_dir(&folder).expect("a folder");
        let policy = case
            .policy
            .as_ref()
            .map_or(String::new(), |(policy, next)| format!("export POLICY='{policy}' NEXT='{next}'\n"));
        let run = case.run.as_deref().unwrap_or_default();
        std::fs::write(folder.join("run"), format!("{policy}H=hearth\n. \"$S/checks.sh\"\nset -e\n{run}\n"))
            .expect("a file");
        std::fs::write(folder.join("limit"), case.timeout.to_string()).expect("a file");
    }
}

fn options(tools: &Tools, shape: &Shape, cases: &[Case], folder: &Path) -> Options {
    let scripts = (OsString::from("S"), tools.scripts.clone().into_os_string());
    Options {
        architecture: tools.architecture,
        kernel: cases[0].kernel.clone(),
        topology: shape.topology(),
        directory: folder.into(),
        append: shape.append.clone(),
        acceleration: shape.acceleration(tools.architecture.is_foreign()),
        env: tools.environment.iter().cloned().chain([scripts]).collect(),
        signals: true,
        ..Options::default()
    }
}

/// What a guest has done.
#[derive(Default)]
struct Progress {
    /// Number of cases that have ended.
    ended: usize,
    /// The start of the one that runs.
    since: Option<Instant>,
    /// It has not ended in its time, nor has the guest ended it.
    hangs: bool,
}

/// Boots one guest. A case may take `patience` times its time limit.
fn boot(
    options: &Options,
    command: &[OsString],
    cases: &[Case],
    patience: u64,
    ended: &mut (dyn FnMut(usize, Ended) + Send),
) -> (Result<(), Error>, Progress) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let errors = writer.try_clone().expect("a pipe");
    let streams =
        Streams { stdin: Box::new(std::io::empty()), stdout: Box::new(writer), stderr: Box::new(errors) };
    std::thread::scope(|scope| {
        let (sender, lines) = channel();
        scope.spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                let _ = sender.send((Instant::now(), line));
            }
        });
        let following = scope.spawn(|| follow(lines, cases, patience, ended));
        let exit = hearth_vm::run(options, command, streams, &mut |_| ());
        (exit.map(drop), following.join().expect("the lines are read"))
    })
}

/// Follows the lines of `guest.sh`. Ends the guest if it hangs.
fn follow(
    lines: Receiver<(Instant, String)>,
    cases: &[Case],
    patience: u64,
    ended: &mut (dyn FnMut(usize, Ended) + Send),
) -> Progress {
    let mut progress = Progress::default();
    loop {
        let limit = cases.get(progress.ended).map_or(60, |case| case.timeout);
        let limit = Duration::from_secs((limit + 60) * patience);
        // While nothing runs, the guest boots, or reads the next case.
        let left =
            progress.since.map_or(Duration::from_secs(3600), |since| limit.saturating_sub(since.elapsed()));
        match lines.recv_timeout(left) {
            Ok((now, line)) => match line.split(' ').collect::<Vec<_>>()[..] {
                ["begin", _] => progress.since = Some(now),
                ["end", number, status] if progress.since.is_some() => {
                    let since = progress.since.take().unwrap_or(now);
                    progress.ended += 1;
                    let status = status.parse().expect("a status");
                    ended(number.parse().expect("a number"), Ended::Status(status, now - since));
                }
                _ => println!("{line}"),
            },
            Err(RecvTimeoutError::Disconnected) => return progress,
            Err(RecvTimeoutError::Timeout) => {
                progress.hangs = true;
                // hearth_vm ends the guest then.
                // SAFETY: a signal to this process, which has a handler for it.
                unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
                lines.into_iter().for_each(drop);
                return progress;
            }
        }
    }
}
