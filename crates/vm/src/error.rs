//! Errors of a virtual machine.

use crate::architecture::Architecture;
use crate::detached::name_flag;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },

    #[error("cannot run `{program}`: {source}. {help}")]
    Program { program: String, source: io::Error, help: &'static str },

    #[error("{0}")]
    Topology(String),

    #[error(
        "no kernel for `{wanted}`: apt offers {offered}. Choose one of these, or give the path of a kernel image"
    )]
    NoSuchKernel { wanted: String, offered: String },

    #[error(
        "`{}` is a program for {of}, and the guest's processor is {wanted}. Give one for {wanted}: `make arm64` in \
        hearth's sources builds hearth for arm64", program.display()
    )]
    ForeignProgram { program: PathBuf, of: Architecture, wanted: Architecture },

    #[error("cannot fetch {what} with apt: {why}. {help}")]
    Fetch { what: String, why: String, help: &'static str },

    #[error("the kernel {} cannot be used: {why}", path.display())]
    Kernel { path: PathBuf, why: String },

    #[error("KVM does not work here: {0}. Use `--accel tcg` (emulation), or omit `--accel`")]
    NoKvm(String),

    #[error("QEMU failed before the guest started: {0}")]
    Qemu(String),

    #[error("the guest {what}{console}")]
    Guest { what: String, console: Console },

    /// A bug of the emulator rather than the guest; a retry may succeed.
    #[error(
        "the emulator failed: one CPU executed kernel code that another had already replaced. Run the command \
        again, or use `--accel icount`, which is slower and emulates one CPU at a time{console}"
    )]
    StaleCode { console: Console },

    #[error("the guest was stopped after {}: its command had not ended (raise `--timeout`){console}", seconds(*after))]
    Timeout { after: Duration, console: Console },

    #[error("cannot forward the command's output: {0}")]
    Unread(io::Error),

    #[error("ended by signal {0}")]
    Interrupted(i32),

    #[error("`{0}` is not a name of a machine: use up to 32 letters, digits, `-`, `_` and `.`")]
    MachineName(String),

    #[error(
        "machine `{name}` runs already ({what}). End it with `hearth vm stop`, or start another one with `--name`"
    )]
    Running { name: String, what: String },

    #[error("no machine `{name}` runs; start it with `hearth vm start{}`{}", name_flag(.name), last_error(.last))]
    NotRunning { name: String, last: Option<String> },

    #[error("machine `{name}` did not start ({status})")]
    NotStarted { name: String, status: String },

    #[error("machine `{name}` has ended{}", after(.why))]
    Ended { name: String, why: Option<String> },

    #[error("machine `{name}` does not answer, and its process is unknown")]
    Unresponsive { name: String },

    /// The machine refuses a request.
    #[error("{0}")]
    Refused(String),

    #[error("refusing to use {}: {why}. Remove it", path.display())]
    Unsafe { path: PathBuf, why: &'static str },
}

impl Error {
    /// For `map_err`: adds the action and the path.
    pub fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_path_buf();
        move |source| Error::File { action, path, source }
    }
}

fn after(why: &Option<String>) -> String {
    why.as_ref().map_or_else(String::new, |why| format!(": {why}"))
}

fn last_error(error: &Option<String>) -> String {
    error.as_ref().map_or_else(String::new, |error| format!(". The last one failed: {error}"))
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The last lines of the guest kernel's console, for an error message.
#[derive(Debug, Default)]
pub struct Console {
    pub tail: Vec<String>,
    /// File with the whole log, if it was kept.
    pub kept: Option<PathBuf>,
}

impl std::fmt::Display for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        if self.tail.is_empty() {
            return Ok(());
        }
        write!(f, "\nLast lines of the guest's kernel log:")?;
        for line in &self.tail {
            write!(f, "\n| {line}")?;
        }
        match &self.kept {
            Some(path) => write!(f, "\nWhole log: {}", path.display()),
            None => Ok(()),
        }
    }
}
