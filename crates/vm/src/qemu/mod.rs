//! QEMU: the installed one if it is new enough, else one that is fetched and run from the cache.

pub(crate) mod acpi;
mod arguments;
mod version;

pub(crate) use arguments::{Device, Launch};

use crate::apt::Apt;
use crate::architecture::Architecture;
use crate::cache::Cache;
use crate::error::Error;
use crate::progress::Watch;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use version::Version;

/// The oldest version that works: QEMU 7.2 crashes guests with 32 CPUs, and sometimes those with 4.
const OLDEST: Version = Version { major: 8, minor: 2 };
const FOLDER: &str = "qemu";

fn program(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "qemu-system-x86_64",
        Architecture::Arm64 => "qemu-system-aarch64",
    }
}

/// Debian's package of the program.
fn package(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 => "qemu-system-x86",
        Architecture::Arm64 => "qemu-system-arm",
    }
}

/// A QEMU that runs on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Qemu {
    pub architecture: Architecture,
    program: PathBuf,
    /// The folder it was unpacked into, if it is not installed.
    root: Option<PathBuf>,
}

impl Qemu {
    pub fn get(architecture: Architecture, cache: &Cache, watch: Watch) -> Result<Self, Error> {
        let installed = Qemu { architecture, program: program(architecture).into(), root: None };
        if installed.version().is_some_and(|version| version >= OLDEST) {
            return Ok(installed);
        }
        if let Some(qemu) = Qemu::cached(architecture, cache) {
            return Ok(qemu);
        }
        let _lock = cache.lock()?;
        match Qemu::cached(architecture, cache) {
            Some(qemu) => Ok(qemu),
            None => Qemu::fetch(architecture, cache, watch),
        }
    }

    fn cached(architecture: Architecture, cache: &Cache) -> Option<Self> {
        let qemu = Qemu::unpacked(architecture, &cache.path(architecture.named(FOLDER)));
        qemu.version().is_some_and(|version| version >= OLDEST).then_some(qemu)
    }

    fn unpacked(architecture: Architecture, root: &Path) -> Self {
        let program = root.join("usr/bin").join(program(architecture));
        Qemu { architecture, program, root: Some(root.into()) }
    }

    /// Fetches QEMU from the running release, or from its backports if the release's version is too old. Also
    /// fetches the libraries that this machine lacks.
    fn fetch(architecture: Architecture, cache: &Cache, watch: Watch) -> Result<Self, Error> {
        let mut apt = Apt::of_release(cache, Architecture::HOST, watch)?;
        let package = package(architecture);
        let versions = apt.versions(package, watch)?;
        let new_enough = |version: &&(String, String)| Version::of_package(&version.0) >= Some(OLDEST);
        // Prefer the release's own version: its libraries are more likely to be installed.
        let (_, suite) =
            versions.iter().filter(new_enough).min_by_key(|(_, suite)| suite.len()).ok_or_else(|| {
                let why = format!("{OLDEST} or newer is in neither the running release nor its backports");
                Error::Fetch { what: "QEMU".into(), why, help: "Install one, and put it into PATH" }
            })?;
        let packages = apt.with_missing_dependencies(&[package], Some(suite), watch)?;
        let root = cache.workplace()?;
        apt.fetch("QEMU", &packages, root.path(), watch)?;
        let said = Qemu::unpacked(architecture, root.path()).ask_version()?;
        if Version::of_program(&said).is_none() {
            let why = format!("the unpacked program does not run: {}", said.trim());
            let help = "Install QEMU (8.2 or newer), and please report this";
            return Err(Error::Fetch { what: "QEMU".into(), why, help });
        }
        cache.keep(root, &architecture.named(FOLDER))?;
        Ok(Qemu::unpacked(architecture, &cache.path(architecture.named(FOLDER))))
    }

    fn version(&self) -> Option<Version> {
        Version::of_program(&self.ask_version().ok()?)
    }

    /// Output of `--version`, or why it fails.
    fn ask_version(&self) -> Result<String, Error> {
        let help = "Install QEMU";
        let program = || self.program.display().to_string();
        let output = self.command().arg("--version").output();
        let output = output.map_err(|source| Error::Program { program: program(), source, help })?;
        let said = if output.status.success() { output.stdout } else { output.stderr };
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// A command without arguments that runs this QEMU.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::null());
        if let Some(root) = &self.root {
            let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
            let folders = ["usr/lib", "lib"].map(|lib| root.join(lib).join(&multiarch).into_os_string());
            command.env("LD_LIBRARY_PATH", folders.join(&OsString::from(":")));
            for firmware in ["usr/share/qemu", "usr/share/seabios"] {
                command.arg("-L").arg(root.join(firmware));
            }
        }
        command
    }
}
