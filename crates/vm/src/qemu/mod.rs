//! QEMU: the installed one if it is new enough, else one that is fetched and run from the cache.

mod arguments;
mod version;

pub(crate) use arguments::{Device, Launch};

use crate::apt::Apt;
use crate::cache::Cache;
use crate::error::Error;
use crate::progress::Watch;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use version::Version;

/// The oldest version that works: QEMU 7.2 crashes guests with 32 CPUs, and sometimes those with 4.
const OLDEST: Version = Version { major: 8, minor: 2 };
const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";
const FOLDER: &str = "qemu";

/// A QEMU that runs on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Qemu {
    program: PathBuf,
    /// The folder it was unpacked into, if it is not installed.
    root: Option<PathBuf>,
}

impl Qemu {
    pub fn get(cache: &Cache, watch: Watch) -> Result<Self, Error> {
        let installed = Qemu { program: PROGRAM.into(), root: None };
        if installed.version().is_some_and(|version| version >= OLDEST) {
            return Ok(installed);
        }
        if let Some(qemu) = Qemu::cached(cache) {
            return Ok(qemu);
        }
        let _lock = cache.lock()?;
        match Qemu::cached(cache) {
            Some(qemu) => Ok(qemu),
            None => Qemu::fetch(cache, watch),
        }
    }

    fn cached(cache: &Cache) -> Option<Self> {
        let qemu = Qemu::unpacked(&cache.path(FOLDER));
        qemu.version().is_some_and(|version| version >= OLDEST).then_some(qemu)
    }

    fn unpacked(root: &Path) -> Self {
        Qemu { program: root.join("usr/bin").join(PROGRAM), root: Some(root.into()) }
    }

    /// Fetches QEMU from the running release, or from its backports if the release's version is too old. Also
    /// fetches the libraries that this machine lacks.
    fn fetch(cache: &Cache, watch: Watch) -> Result<Self, Error> {
        let mut apt = Apt::of_release(cache, watch)?;
        let versions = apt.versions(PACKAGE, watch)?;
        let new_enough = |version: &&(String, String)| Version::of_package(&version.0) >= Some(OLDEST);
        // Prefer the release's own version: its libraries are more likely to be installed.
        let (_, suite) =
            versions.iter().filter(new_enough).min_by_key(|(_, suite)| suite.len()).ok_or_else(|| {
                let why = format!("{OLDEST} or newer is in neither the running release nor its backports");
                Error::Fetch { what: "QEMU".into(), why, help: "Install one, and put it into PATH" }
            })?;
        let packages = apt.with_missing_dependencies(PACKAGE, suite, watch)?;
        let root = cache.workplace()?;
        apt.fetch("QEMU", &packages, root.path(), watch)?;
        let said = Qemu::unpacked(root.path()).ask_version()?;
        if Version::of_program(&said).is_none() {
            let why = format!("the unpacked program does not run: {}", said.trim());
            let help = "Install qemu-system-x86 (8.2 or newer), and please report this";
            return Err(Error::Fetch { what: "QEMU".into(), why, help });
        }
        cache.keep(root, FOLDER)?;
        Ok(Qemu::unpacked(&cache.path(FOLDER)))
    }

    fn version(&self) -> Option<Version> {
        Version::of_program(&self.ask_version().ok()?)
    }

    /// Output of `--version`, or why it fails.
    fn ask_version(&self) -> Result<String, Error> {
        let help = "Install qemu-system-x86";
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
            let multiarch = "x86_64-linux-gnu";
            let folders = ["usr/lib", "lib"].map(|lib| root.join(lib).join(multiarch).into_os_string());
            command.env("LD_LIBRARY_PATH", folders.join(&OsString::from(":")));
            for firmware in ["usr/share/qemu", "usr/share/seabios"] {
                command.arg("-L").arg(root.join(firmware));
            }
        }
        command
    }
}
