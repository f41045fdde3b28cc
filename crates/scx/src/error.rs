//! Errors of compiling, loading and running policies, with a remedy for each.

use crate::exit::ExitInfo;
use std::io;
use std::path::{Path, PathBuf};

/// Kernels that have sched_ext.
const KERNELS: &str = "sched_ext is in Linux 6.12 and newer, built with CONFIG_SCHED_CLASS_EXT: the stock kernels of Arch, CachyOS, \
                       Fedora (41 and newer), openSUSE Tumbleweed, Ubuntu (25.04 and newer), and of Debian's backports have it";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("changing the kernel's scheduler needs {missing}, which this process lacks")]
    NotAllowed { missing: String },
    #[error("this kernel ({kernel}) has no sched_ext: there is no /sys/kernel/sched_ext")]
    NoSchedExt { kernel: String },
    #[error("the architecture {0} cannot run policies (only x86_64 and aarch64 can)")]
    Architecture(&'static str),
    #[error(
        "this processor has no atomic instructions (LSE, Armv8.1), without which the kernel refuses policies"
    )]
    NoAtomics,
    #[error("this kernel is PREEMPT_RT, which refuses the BPF timers that policies need")]
    RealTime,
    #[error("{0}")]
    Host(#[from] hearth_host::Error),
    #[error("this kernel has no type information (BTF): there is no /sys/kernel/btf/vmlinux")]
    NoBtf,
    #[error(
        "this kernel's configuration cannot be read: there is neither /boot/config-{kernel} nor /proc/config.gz"
    )]
    NoConfig { kernel: String },
    #[error("sched_ext is busy: {ops} runs{}", by.as_deref().map_or_else(String::new, |by| format!(" ({by})")))]
    Busy { ops: String, by: Option<String>, ours: bool },
    #[error("the running scheduler ({ops}) did not end within {seconds} s")]
    DoesNotEnd { ops: String, seconds: u64 },

    #[error("the C sources of the BPF runtime are in none of these folders: {}", paths(.sought))]
    NoLibrary { sought: Vec<PathBuf> },
    #[error("there are no BPF headers in {}", .folder.display())]
    NoHeaders { folder: PathBuf },
    #[error("there is no clang to compile the policy for the kernel (tried: {})", .tried.join(", "))]
    NoClang { tried: Vec<String>, needed: u32 },
    #[error("{program} is too old ({version}): policies need clang {needed} or newer")]
    OldClang { program: String, version: String, needed: u32 },
    #[error("clang rejects the C of policy {policy}:\n{}", .log.trim_end())]
    Compile { policy: String, log: String },

    #[error("the kernel's verifier rejects policy {policy}: {what}; its log is in {}", .log.display())]
    Verifier { policy: String, what: String, log: PathBuf },
    #[error("policy {policy} cannot be {action}: {what}")]
    Load { policy: String, action: &'static str, what: String },
    #[error("{0}")]
    Object(String),
    #[error("{0}")]
    Ended(Box<ExitInfo>),

    #[error("{0}")]
    Observer(#[from] crate::observer::Error),
    #[error(transparent)]
    Param(#[from] hearth_policy::ParamError),

    #[error("cannot {action} {}: {source}", .path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a cgroup v2: it has no cgroup.threads", .path.display())]
    NoCgroup { path: PathBuf },
    #[error("{0}")]
    Machine(#[from] hearth_machine::Error),
    #[error("machine {machine} cannot model this machine: {why}")]
    Topology { machine: String, why: String },
    #[error("this machine has {cores} cores; policies support at most {most}")]
    TooManyCores { cores: usize, most: usize },

    #[error("no policy of Hearth runs here{}", ops.as_deref().map_or_else(String::new, |ops| format!(" ({ops} does)")))]
    NotRunning { ops: Option<String> },
    #[error("the running policy does not answer: {0}")]
    Socket(io::Error),
    #[error("the running policy refuses: {message}")]
    Refused { errno: i32, message: String },
    #[error("the running policy sent an answer that this version of Hearth does not understand: {0}")]
    Answer(serde_json::Error),
}

impl Error {
    /// Makes an error of a failed operation on a file.
    pub fn file(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Error {
        let path = path.as_ref().to_owned();
        move |source| Error::File { action, path, source }
    }

    /// What the user can do.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Error::NotAllowed { .. } => "run it as root, with sudo".into(),
            Error::NoSchedExt { .. } => KERNELS.into(),
            Error::NoAtomics => "try it in a virtual machine, which has them: hearth vm --accel tcg -- hearth run nest".into(),
            Error::RealTime => "boot a kernel without PREEMPT_RT".into(),
            Error::NoBtf => "use a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions' are".into(),
            Error::NoConfig { .. } => {
                "install the kernel's configuration (it belongs to the kernel's package), or load the module `configs`".into()
            }
            Error::Busy { ours: true, .. } => "stop it first (`hearth stop`), or replace it: hearth run POLICY --replace".into(),
            Error::Busy { .. } => "stop that scheduler first; `hearth run` with --replace can only replace policies of Hearth".into(),
            Error::DoesNotEnd { .. } => "end its process, or press SysRq-S, which returns to the kernel's own scheduler".into(),
            Error::NoLibrary { .. } => "the program alone has no policies for kernels: in Hearth's sources, run `make install`; or run `make bpf` \
                                        and set HEARTH_LIB to their folder".into(),
            Error::NoHeaders { .. } => "run `make bpf` in Hearth's sources, which unpacks them".into(),
            Error::NoClang { needed, .. } | Error::OldClang { needed, .. } => {
                format!("install clang {needed} or newer (Debian: apt install clang-{needed}) or set CLANG to its path; built-in policies need none after `make bpf`")
            }
            Error::Compile { .. } | Error::Verifier { .. } => {
                "this is a bug in Hearth: please report the policy, the kernel and this log".into()
            }
            Error::Load { what, .. } if what.contains("isolcpus") => {
                "boot without `isolcpus=`; a cgroup with `cpuset.cpus.partition` = isolated keeps cores free instead".into()
            }
            Error::NotRunning { ops: Some(_) } => "that scheduler is not Hearth's: use its own tools".into(),
            Error::TooManyCores { .. } => "boot with maxcpus=1024, or take cores off line".into(),
            Error::NoCgroup { .. } => format!("name a cgroup below {}; for the whole system leave out --cgroup", crate::cgroup::MOUNT),
            Error::Topology { .. } => "choose another machine: hearth list machines".into(),
            Error::Socket(_) => "if `hearth run` hangs, end its process: the kernel's own scheduler then takes over".into(),
            Error::Answer(_) => "restart the policy with this version of Hearth: hearth run POLICY --replace".into(),
            Error::Param(error) => return error.help(),
            Error::Ended(info) => return info.help(),
            _ => return None,
        })
    }
}

fn paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
