//! Errors of a recording.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no command to record: write it after `--`")]
    NoCommand,

    #[error("cannot run `{program}`: {source}. Check its name, and that it is executable and in PATH")]
    Command { program: String, source: io::Error },

    #[error("{0}")]
    Host(#[from] hearth_host::Error),
    #[error("there is no user `{name}`: name one of /etc/passwd, or its number")]
    NoUser { name: String },

    #[error("running the command as {name} needs {missing}, which this process lacks")]
    OtherUser { name: String, missing: String },

    #[error("the command contains a zero byte, which no program can be given")]
    ZeroByte,

    #[error(
        "this kernel has no tracefs: use a kernel with CONFIG_FTRACE (every distribution's has it), or, inside a container, mount the host's /sys/kernel/tracing into it"
    )]
    NoTracefs,

    #[error("not allowed to {action} {}: recording needs root, or CAP_SYS_ADMIN and CAP_DAC_OVERRIDE", path.display())]
    NotAllowed { action: &'static str, path: PathBuf },

    #[error(
        "the kernel is locked down in confidentiality mode, which forbids tracing: boot with `lockdown=integrity` (see /sys/kernel/security/lockdown)"
    )]
    Lockdown,

    #[error("cannot {action} {}: {source}{hint}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error, hint: &'static str },

    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: io::Error },

    #[error(
        "this kernel describes {what} in an unknown way ({why}): please report it with your kernel's version"
    )]
    Format { what: String, why: String },

    #[error("the kernel's trace cannot be read ({0}): please report it with your kernel's version")]
    Page(#[from] hearth_trace::ftrace::DamagedPage),

    #[error("cannot record with BPF: {why}. `--method tracefs` records without BPF")]
    NoBpf { why: String },

    #[error(transparent)]
    Trace(#[from] hearth_trace::Error),

    #[error("the thread that converts the recording has failed: please report it")]
    ConverterFailed,

    #[error(
        "the recording has no event of the command: its beginning was lost. Record again with larger buffers (`--buffer-kb`)"
    )]
    NothingSeen,

    #[error(
        "hearth runs in a PID namespace of its own, as in a container, but the kernel's events have the host's process \
         numbers, so the command cannot be found among them. Give the container the host's (`--pid=host`), or record \
         the whole system (`hearth record --system -- COMMAND`)"
    )]
    PidNamespace,
}

impl Error {
    /// Error of an access to a file of tracefs, with advice.
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        if source.kind() != io::ErrorKind::PermissionDenied {
            let hint = match source.raw_os_error() {
                Some(libc::ENOMEM) => ". Use smaller buffers (`--buffer-kb`)",
                Some(libc::EBUSY) => ". Another program is using it: try again when it has ended",
                Some(libc::EROFS) => {
                    ". tracefs is mounted read-only: `sudo mount -o remount,rw /sys/kernel/tracing`"
                }
                _ => "",
            };
            return Error::File { action, path, source, hint };
        }
        let lockdown = std::fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
        match lockdown.contains("[confidentiality]") {
            true => Error::Lockdown,
            false => Error::NotAllowed { action, path },
        }
    }

    pub(crate) fn system(action: &'static str) -> Self {
        Error::System { action, source: io::Error::last_os_error() }
    }

    pub(crate) fn format(what: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Format { what: what.into(), why: why.into() }
    }
}
