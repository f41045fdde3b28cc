//! The recorded command: a process that is held back until recording has begun.

use crate::{Error, User};
use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// A child process that waits on a pipe before it executes the command.
///
/// `std::process::Command` cannot hold it back: its `spawn` returns after the `exec`.
pub struct HeldCommand {
    pid: libc::pid_t,
    program: String,
    /// The child exits if this is closed without a write.
    gate: Option<OwnedFd>,
    /// The child writes `errno` here if the command cannot be run.
    failure: OwnedFd,
    /// Readable when the child has ended.
    process: Option<OwnedFd>,
    reaped: bool,
}

/// Exit status of a child that cannot run the command, as of shells.
const CANNOT_RUN: i32 = 127;

impl HeldCommand {
    /// Makes the child, which inherits everything from this process, including the terminal. It runs as `user`.
    pub fn spawn(command: &[String], user: Option<&User>) -> Result<Self, Error> {
        let program = command.first().ok_or(Error::NoCommand)?.clone();
        let strings: Vec<CString> = command
            .iter()
            .map(|word| CString::new(word.as_str()))
            .collect::<Result<_, _>>()
            .map_err(|_| Error::ZeroByte)?;
        let user = user.filter(|user| !user.is_current());
        let environment = user.map(User::environment);
        let arguments = pointers(&strings);
        let environment = environment.as_deref().map(pointers);
        let (gate_read, gate) = pipe()?;
        let (failure, failure_write) = pipe()?;
        // SAFETY: until `execvp` the child calls only functions that are safe after a fork of a
        // process with several threads: it allocates nothing and takes no lock.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(Error::system("make a process for the command")),
            // SAFETY: as above; `arguments` ends in a null pointer.
            0 => unsafe {
                libc::close(gate.as_raw_fd()); // or its end would never be seen
                let environment = environment.as_deref();
                become_command(
                    gate_read.as_raw_fd(),
                    failure_write.as_raw_fd(),
                    user,
                    &arguments,
                    environment,
                )
            },
            _ => {}
        }
        // SAFETY: a system call without pointers; what it returns is ours.
        let process = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd as i32))
        };
        Ok(HeldCommand { pid, program, gate: Some(gate), failure, process, reaped: false })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets the child execute the command.
    pub fn release(&mut self) -> Result<(), Error> {
        let Some(gate) = self.gate.take() else { return Ok(()) };
        // SAFETY: one byte from a live buffer to an open descriptor.
        match unsafe { libc::write(gate.as_raw_fd(), [1u8].as_ptr().cast(), 1) } {
            1 => Ok(()),
            _ => Err(Error::system("start the command")),
        }
    }

    /// Waits until the command ends, until a signal comes, or for `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, Error> {
        match &self.process {
            Some(process) => {
                let mut poll = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one live `pollfd`.
                unsafe { libc::poll(&mut poll, 1, timeout.as_millis().min(i32::MAX as u128) as i32) };
            }
            None => std::thread::sleep(timeout), // kernels before 5.3
        }
        let mut status = 0;
        // SAFETY: `status` is live.
        match unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) } {
            0 => Ok(None),
            pid if pid == self.pid => {
                self.reaped = true;
                self.exec_error()?;
                Ok(Some(ExitStatus::from_raw(status)))
            }
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => Ok(None),
            _ => Err(Error::system("wait for the command")),
        }
    }

    /// Sends the command a signal.
    pub fn signal(&self, signal: i32) {
        if !self.reaped {
            // SAFETY: no pointers; the child is not reaped, so the number is its own.
            unsafe { libc::kill(self.pid, signal) };
        }
    }

    /// The error of a child that could not become the command.
    fn exec_error(&self) -> Result<(), Error> {
        let mut errno = [0; 4];
        let fd = self
            .failure
            .try_clone()
            .map_err(|source| Error::System { action: "get the status of the command", source })?;
        match std::fs::File::from(fd).read_exact(&mut errno) {
            Ok(()) => {
                let source = io::Error::from_raw_os_error(i32::from_ne_bytes(errno));
                Err(Error::Command { program: self.program.clone(), source })
            }
            Err(_) => Ok(()), // closed by a successful `exec`
        }
    }
}

impl Drop for HeldCommand {
    /// Ends a child that was not released. Does not wait for one that still runs.
    fn drop(&mut self) {
        if self.gate.take().is_some() {
            let mut status = 0;
            // SAFETY: `status` is live.
            unsafe { libc::waitpid(self.pid, &mut status, 0) };
        }
    }
}

type Pointers = [*const libc::c_char];

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Waits for the release, then executes the command.
///
/// # Safety
/// `arguments` and `environment` hold C strings and end in a null pointer.
unsafe fn become_command(
    gate: i32,
    failure: i32,
    user: Option<&User>,
    arguments: &Pointers,
    environment: Option<&Pointers>,
) -> ! {
    // SAFETY: `byte` has room for what is read, `errno` is as long as is said; the caller vouches for `arguments`.
    unsafe {
        let mut byte = 0u8;
        while libc::read(gate, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
        if byte == 1 {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL); // Rust programs ignore it
            if user.is_none_or(|user| user.become_it().is_ok()) {
                match environment {
                    Some(environment) => {
                        libc::execvpe(arguments[0], arguments.as_ptr(), environment.as_ptr())
                    }
                    None => libc::execvp(arguments[0], arguments.as_ptr()),
                };
            }
            let errno = (*libc::__errno_location()).to_ne_bytes();
            libc::write(failure, errno.as_ptr().cast(), errno.len());
        }
        libc::_exit(CANNOT_RUN)
    }
}

/// A pipe (reading end, writing end) that programs do not inherit.
fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors, which are ours.
    unsafe {
        match libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) {
            0 => Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))),
            _ => Err(Error::system("make a pipe to the command")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[&str]) -> Result<ExitStatus, Error> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        run_as(&words, None)
    }

    fn run_as(words: &[String], user: Option<&User>) -> Result<ExitStatus, Error> {
        let mut held = HeldCommand::spawn(words, user)?;
        assert!(held.wait(Duration::from_millis(20))?.is_none(), "it did not wait");
        held.release()?;
        loop {
            if let Some(status) = held.wait(Duration::from_millis(100))? {
                return Ok(status);
            }
        }
    }

    #[test]
    fn the_status_is_the_commands() {
        assert_eq!(run(&["sh", "-c", "exit 3"]).unwrap().code(), Some(3));
        assert_eq!(run(&["sh", "-c", "exit 127"]).unwrap().code(), Some(127));
        assert_eq!(run(&["sh", "-c", "kill -9 $$"]).unwrap().signal(), Some(9));
    }

    #[test]
    fn the_command_runs_as_the_user() {
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            return;
        }
        let user = User::named("nobody").unwrap();
        let test = format!(
            r#"[ "$(id -u)" = {} ] && [ "$(id -G)" = "$(id -G nobody)" ] && [ "$USER" = nobody ] && [ "$HOME" != "$0" ]"#,
            user.ids().0
        );
        let home = std::env::var("HOME").unwrap_or_default();
        let words = ["sh", "-c", &test, &home].map(str::to_owned);
        assert_eq!(run_as(&words, Some(&user)).unwrap().code(), Some(0));
        // The rights do not come back.
        let words = ["sh", "-c", "grep -q '^CapEff:.0*$' /proc/self/status"].map(str::to_owned);
        assert_eq!(run_as(&words, Some(&user)).unwrap().code(), Some(0));
        assert!(matches!(User::named("no-such-user"), Err(Error::NoUser { .. })));
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        let message = run(&["no-such-program-anywhere"]).unwrap_err().to_string();
        assert!(message.contains("no-such-program-anywhere") && message.contains("PATH"), "{message}");
        assert!(matches!(run(&[]), Err(Error::NoCommand)));
        assert!(matches!(HeldCommand::spawn(&["a\0b".into()], None), Err(Error::ZeroByte)));
    }

    #[test]
    fn an_unreleased_child_ends() {
        let held = HeldCommand::spawn(&["sleep".into(), "1000".into()], None).unwrap();
        let pid = held.pid();
        drop(held);
        // SAFETY: signal 0 only asks whether the process exists.
        assert_eq!(unsafe { libc::kill(pid, 0) }, -1);
    }
}
