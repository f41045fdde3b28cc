//! Starts the process behind a machine, and waits until the machine has booted.

use super::place::Place;
use crate::error::Error;
use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const READY: &str = "ready";
const TICK: Duration = Duration::from_millis(50);

/// Starts `program` with these arguments, which has to call [`super::supervise`] with [`Lock::from_stdin`] and
/// [`detach`]. Returns when the machine accepts commands. If this process dies before, the machine ends.
///
/// `tell` gets what the program prints on standard error.
///
/// # Errors
/// [`Error::Running`]; [`Error::NotStarted`]: the program has said why.
///
/// [`Lock::from_stdin`]: super::Lock::from_stdin
pub fn start(
    place: &Place,
    program: &Path,
    arguments: &[OsString],
    tell: &mut dyn FnMut(&[u8]),
) -> Result<(), Error> {
    let lock = place.lock()?;
    let path = place.log();
    let log = File::create(&path).map_err(Error::file("write", &path))?;
    let mut said = File::open(&path).map_err(Error::file("read", &path))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(lock.into_stdin()).stdout(Stdio::piped()).stderr(log);
    // SAFETY: two system calls, which are safe after a fork.
    unsafe { command.pre_exec(stand_alone) };
    let failed = |source| Error::Program {
        program: program.display().to_string(),
        source,
        help: "Start hearth by its path",
    };
    let mut child = command.spawn().map_err(failed)?;
    // With it the lock: from here on only the machine's process holds it.
    drop(command);

    let (sender, readiness) = channel();
    let output = child.stdout.take();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = output.map(|output| BufReader::new(output).read_line(&mut line));
        let _ = sender.send(matches!(read, Some(Ok(_))) && line.trim_end() == READY);
    });
    let mut relay = || {
        let mut text = Vec::new();
        if said.read_to_end(&mut text).is_ok() && !text.is_empty() {
            tell(&text);
        }
    };
    let is_ready = loop {
        match readiness.recv_timeout(TICK) {
            Ok(is_ready) => break is_ready,
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => relay(),
        }
    };
    if is_ready {
        relay();
        return Ok(());
    }
    let status = child.wait().map_err(Error::file("wait for", program))?;
    relay();
    Err(Error::NotStarted { name: place.name().into(), status: status.to_string() })
}

/// In the new process: it has no terminal, and ends with its parent until [`detach`].
fn stand_alone() -> io::Result<()> {
    setsid()?;
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}

/// In the process behind a machine that has booted: tells the parent, and survives it.
///
/// # Errors
/// The parent is gone.
pub fn detach() -> io::Result<()> {
    set_parent_process_death_signal(None)?;
    let mut out = io::stdout();
    writeln!(out, "{READY}").and_then(|()| out.flush())
}

/// The arguments of this process behind the first `word`.
pub fn arguments_behind(word: &str) -> Vec<OsString> {
    std::env::args_os().skip_while(|argument| argument != OsStr::new(word)).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Starts a shell script in place of the machine's process.
    fn run(place: &Place, script: &str) -> (Result<(), Error>, String) {
        let mut said = Vec::new();
        let arguments = ["-c".into(), script.into()];
        let result = start(place, Path::new("/bin/sh"), &arguments, &mut |text| said.extend(text));
        (result, String::from_utf8(said).unwrap())
    }

    #[test]
    fn a_machine_that_is_ready_holds_the_lock() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::below(base.path(), "test").unwrap();
        let (result, said) =
            run(&place, "echo booting >&2; sleep 0.2; echo booted >&2; echo ready; exec sleep 2");
        result.unwrap();
        assert_eq!(said, "booting\nbooted\n");
        assert!(place.is_taken());
        assert!(matches!(run(&place, "echo ready").0, Err(Error::Running { .. })));
        assert!(place.wait_until_free(Duration::from_secs(30)));
    }

    #[test]
    fn a_machine_that_fails_says_why() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::below(base.path(), "test").unwrap();
        let (result, said) = run(&place, "echo 'error: no kernel' >&2; exit 3");
        assert!(matches!(result, Err(Error::NotStarted { status, .. }) if status.contains('3')));
        assert_eq!(said, "error: no kernel\n");
        assert_eq!(place.last_error().as_deref(), Some("no kernel"));
        assert!(!place.is_taken());
    }

    #[test]
    fn a_machine_ends_with_the_start_that_waits_for_it() {
        let base = tempfile::tempdir().unwrap();
        let place = Place::below(base.path(), "test").unwrap();
        let begun = Instant::now();
        // The thread that starts it is its parent.
        let waiting = place.clone();
        std::thread::spawn(move || {
            let mut command = Command::new("sleep");
            command.arg("30").stdin(waiting.lock().unwrap().into_stdin());
            // SAFETY: system calls only.
            unsafe { command.pre_exec(stand_alone) };
            drop(command.spawn().unwrap());
        })
        .join()
        .unwrap();
        assert!(place.wait_until_free(Duration::from_secs(20)), "{:?}", begun.elapsed());
    }
}
