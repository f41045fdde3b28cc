//! Fetches packages of a Debian suite into the cache with apt, which checks signatures and checksums. The
//! system's sources, package lists and installed packages stay unchanged.
//!
//! The archive's address comes from the machine's own apt configuration.

mod sources;

use crate::architecture::Architecture;
use crate::cache::Cache;
use crate::error::Error;
use crate::progress::{Progress, Watch};
use sources::{Keyring, Source};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Age up to which package lists are not fetched again.
const FRESH: Duration = Duration::from_secs(3600);

const HELP: &str = "Check that `apt-get update` works on this machine";

/// Suites of the machine's archive, with separate package lists.
pub struct Apt {
    folder: PathBuf,
    updated: bool,
}

impl Apt {
    /// The suite of the running release, and its backports if there are any.
    pub fn of_release(cache: &Cache, architecture: Architecture, watch: Watch) -> Result<Self, Error> {
        let release = release()?;
        let mut both = Apt::new(cache, &[&release, &format!("{release}-backports")], architecture)?;
        match both.update(watch) {
            Ok(()) => Ok(both),
            Err(_) => {
                let mut one = Apt::new(cache, &[&release], architecture)?;
                one.update(watch)?;
                Ok(one)
            }
        }
    }

    pub fn new(cache: &Cache, suites: &[&str], architecture: Architecture) -> Result<Self, Error> {
        let folder = cache.path(format!("apt/{}", architecture.named(&suites.join("+"))));
        let codename = release()?;
        let sources = sources::of_this_machine();
        let source = sources::of_release(&sources, &codename).ok_or_else(|| {
            no_apt(format!("no source in /etc/apt has the component `main` of `{codename}`"))
        })?;
        for part in ["lists/partial", "cache/archives/partial"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(Error::file("make", &path))?;
        }
        let key = folder.join("archive.asc");
        if let Some(Keyring::Armour(armour)) = &source.keyring {
            fs::write(&key, armour).map_err(Error::file("write", &key))?;
        }
        let list: String = suites.iter().map(|suite| line(source, suite, &key)).collect();
        write_if_new(&folder.join("sources.list"), &list)?;
        let mut settings = configuration(&folder);
        if architecture.is_foreign() {
            write_if_new(&folder.join("status"), "")?;
            settings += &foreign(&folder, architecture);
        }
        write_if_new(&folder.join("apt.conf"), &settings)?;
        Ok(Apt { folder, updated: false })
    }

    /// Fetches the suites' package lists if they are out of date.
    pub fn update(&mut self, watch: Watch) -> Result<(), Error> {
        let stamp = self.folder.join("updated");
        let age =
            fs::metadata(&stamp).and_then(|stamp| stamp.modified()).ok().and_then(|at| at.elapsed().ok());
        let sources = fs::metadata(self.folder.join("sources.list")).and_then(|file| file.modified()).ok();
        let older = fs::metadata(&stamp).and_then(|stamp| stamp.modified()).ok() < sources;
        if self.updated || !older && age.is_some_and(|age| age < FRESH) {
            return Ok(());
        }
        watch(Progress::Doing("updating the package lists"));
        self.run("apt-get", ["update", "-q"], "the lists of packages")?;
        fs::write(&stamp, "").map_err(Error::file("write", &stamp))?;
        self.updated = true;
        Ok(())
    }

    /// The names of the packages that start with `prefix`.
    pub fn names(&mut self, prefix: &str, watch: Watch) -> Result<Vec<String>, Error> {
        self.update(watch)?;
        let names = self.run("apt-cache", ["pkgnames", prefix], "the list of packages")?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// The description of a package's candidate version, as `apt-cache show` prints it.
    pub fn show(&mut self, package: &str) -> Result<Description, Error> {
        let text = self.run("apt-cache", ["show", "--no-all-versions", package], package)?;
        Ok(Description(text))
    }

    /// All versions of a package, as pairs (version, suite).
    pub fn versions(&mut self, package: &str, watch: Watch) -> Result<Vec<(String, String)>, Error> {
        self.update(watch)?;
        let text = self.run("apt-cache", ["madison", package], package)?;
        Ok(text.lines().filter_map(madison).collect())
    }

    /// The packages that installing `packages` would install, as pairs (package, version): from `suite`, or those that
    /// apt prefers.
    pub fn with_missing_dependencies(
        &mut self,
        packages: &[&str],
        suite: Option<&str>,
        watch: Watch,
    ) -> Result<Vec<(String, String)>, Error> {
        self.update(watch)?;
        let mut apt = self.command("apt-get", ["install", "-s", "--no-install-recommends"]);
        apt.args(suite.map(|suite| format!("--target-release={suite}"))).args(packages);
        let text = check(apt.output().map_err(no_program("apt-get"))?, &packages.join(", "))?;
        Ok(text.lines().filter_map(installation).collect())
    }

    /// Fetches packages and unpacks them below `root`.
    pub fn fetch(
        &mut self,
        what: &str,
        packages: &[(String, String)],
        root: &Path,
        watch: Watch,
    ) -> Result<(), Error> {
        let names: Vec<_> =
            packages.iter().map(|(package, version)| format!("{package}={version}")).collect();
        let mut show = self.command("apt-cache", ["show"]);
        let total = sizes(&check(show.args(&names).output().map_err(no_program("apt-cache"))?, what)?);
        let files = tempfile::tempdir_in(&self.folder).map_err(Error::file("write into", &self.folder))?;
        watch(Progress::Fetching { what, bytes: 0, total });
        let mut apt = self.command("apt-get", ["download", "-q"]);
        apt.args(names).current_dir(files.path());
        let mut child = apt.spawn().map_err(no_program("apt-get"))?;
        let output = loop {
            match child.try_wait().map_err(no_program("apt-get"))? {
                Some(_) => break child.wait_with_output().map_err(no_program("apt-get"))?,
                None => std::thread::sleep(Duration::from_millis(100)),
            }
            watch(Progress::Fetching { what, bytes: size(files.path()), total });
        };
        check(output, what)?;
        watch(Progress::Doing("unpacking"));
        let packages = fs::read_dir(files.path()).map_err(Error::file("read", files.path()))?;
        for package in packages.flatten().map(|entry| entry.path()) {
            if package.extension() != Some(OsStr::new("deb")) {
                continue;
            }
            let mut dpkg = Command::new("dpkg-deb");
            dpkg.arg("-x").arg(&package).arg(root).stdin(Stdio::null());
            check(dpkg.output().map_err(no_program("dpkg-deb"))?, what)?;
        }
        Ok(())
    }

    fn command<const N: usize>(&self, program: &str, arguments: [&str; N]) -> Command {
        let mut command = Command::new(program);
        command.arg("-c").arg(self.folder.join("apt.conf")).args(arguments);
        command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run<const N: usize>(
        &self,
        program: &'static str,
        arguments: [&str; N],
        what: &str,
    ) -> Result<String, Error> {
        let mut command = self.command(program, arguments);
        check(command.output().map_err(no_program(program))?, what)
    }
}

/// A package's description.
pub struct Description(String);

impl Description {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Dependencies on an exact version, which are parts of the same software.
    pub fn parts(&self) -> Vec<(String, String)> {
        let dependencies = self.field("Depends").unwrap_or_default().split(',');
        let exact = dependencies.filter_map(|dependency| {
            let (name, version) = dependency.trim().split_once(" (= ")?;
            Some((name.to_owned(), version.strip_suffix(')')?.to_owned()))
        });
        exact.collect()
    }
}

/// The codename of the running release.
pub fn release() -> Result<String, Error> {
    let path = ["/etc/os-release", "/usr/lib/os-release"].into_iter().find(|path| Path::new(path).exists());
    let text = path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let value = |name: &str| {
        text.lines()
            .find_map(|line| Some(line.strip_prefix(name)?.strip_prefix('=')?.trim_matches('"').to_owned()))
    };
    match (value("ID").as_deref(), value("VERSION_CODENAME")) {
        (Some("debian"), Some(codename)) => Ok(codename),
        (id, _) => Err(no_apt(format!("this is not Debian, but {}", id.unwrap_or("unknown")))),
    }
}

fn no_apt(why: String) -> Error {
    let help = "On other systems, install QEMU 8.2 or newer and a static busybox, and give the path of a kernel image (`--kernel PATH`)";
    Error::Fetch { what: "packages".into(), why, help }
}

fn no_program(program: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Program { program: program.into(), source, help: HELP }
}

fn check(output: Output, what: &str) -> Result<String, Error> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let errors: Vec<_> = said.lines().filter(|line| line.starts_with("E: ")).map(|line| &line[3..]).collect();
    let why = if errors.is_empty() { said.trim().to_owned() } else { errors.join("; ") };
    let why = why.trim_end_matches('.').into();
    Err(Error::Fetch { what: what.into(), why, help: HELP })
}

/// One line of a source list.
fn line(source: &Source, suite: &str, key: &Path) -> String {
    let signed = match &source.keyring {
        None => String::new(),
        Some(Keyring::Name(name)) => format!("[signed-by={name}] "),
        Some(Keyring::Armour(_)) => format!("[signed-by={}] ", key.display()),
    };
    format!("deb {signed}{} {suite} main\n", source.uri)
}

/// apt's configuration: apt writes only below `folder` and skips the system's update hooks. An unreachable archive
/// is an error; by default apt only warns.
fn configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "Dir::Etc::sourcelist \"{folder}/sources.list\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::State::Lists \"{folder}/lists\";\n\
         Dir::Cache \"{folder}/cache\";\n\
         Dir::Cache::pkgcache \"pkgcache.bin\";\n\
         Dir::Cache::srcpkgcache \"srcpkgcache.bin\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
         Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled \"false\";\n\
         Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled \"false\";\n\
         APT::Sandbox::User \"root\";\n\
         APT::Update::Error-Mode \"any\";\n\
         Debug::NoLocking \"true\";\n\
         #clear APT::Update::Pre-Invoke;\n\
         #clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n"
    )
}

/// More of apt's configuration for another architecture, of which nothing is installed.
fn foreign(folder: &Path, architecture: Architecture) -> String {
    let (folder, architecture) = (folder.display(), architecture.debian());
    format!(
        "APT::Architecture \"{architecture}\";\n\
         APT::Architectures {{ \"{architecture}\"; }};\n\
         Dir::State::status \"{folder}/status\";\n"
    )
}

fn write_if_new(path: &Path, text: &str) -> Result<(), Error> {
    match fs::read_to_string(path) {
        Ok(before) if before == text => Ok(()),
        _ => fs::write(path, text).map_err(Error::file("write", path)),
    }
}

/// Total size of all packages, in bytes.
fn sizes(descriptions: &str) -> u64 {
    descriptions.lines().filter_map(|line| line.strip_prefix("Size: ")?.parse::<u64>().ok()).sum()
}

/// Total size of a folder's files in bytes, including partial downloads.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            entry.metadata().map_or(0, |file| if file.is_dir() { size(&entry.path()) } else { file.len() })
        })
        .sum()
}

/// Parses a line of `apt-cache madison`: `qemu | 1:10.0.2 | http://archive.example/debian trixie/main amd64 Packages`.
fn madison(line: &str) -> Option<(String, String)> {
    let mut columns = line.split('|').map(str::trim);
    let (_, version, place) = (columns.next()?, columns.next()?, columns.next()?);
    let (suite, _) = place.split_whitespace().nth(1)?.split_once('/')?;
    Some((version.into(), suite.into()))
}

/// Parses a line of `apt-get install -s`: `Inst qemu [1:7.2] (1:10.0.2 Debian:12/stable [amd64])`.
fn installation(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("Inst ")?;
    let (name, rest) = rest.split_once(' ')?;
    let version = rest.split_once('(')?.1.split_whitespace().next()?;
    Some((name.into(), version.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apt_prints_is_understood() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(
            madison(
                "      qemu | 1:10.0.2+ds-2 | http://a.example/debian trixie-backports/main amd64 Packages"
            ),
            pair("1:10.0.2+ds-2", "trixie-backports")
        );
        assert_eq!(installation("Inst qemu (1:10.0 Debian:12.15/oldstable [amd64])"), pair("qemu", "1:10.0"));
        assert_eq!(installation("Inst qemu [1:7.2] (1:10.0 Debian [amd64]) []"), pair("qemu", "1:10.0"));
        assert_eq!(installation("Conf qemu (1:10.0 Debian [amd64])"), None);
    }

    #[test]
    fn parts_are_exact_dependencies() {
        let description = Description(
            "Package: linux-image-7\nDepends: dracut | initramfs-tools (>= 0.1), linux-base-7 (= 7.3-1), \
             linux-modules-7 (= 7.3-1)\nSize: 1928\n"
                .into(),
        );
        let parts = description.parts();
        assert_eq!(
            parts.iter().map(|part| part.0.as_str()).collect::<Vec<_>>(),
            ["linux-base-7", "linux-modules-7"]
        );
        assert!(parts.iter().all(|part| part.1 == "7.3-1"));
        assert_eq!(sizes("Package: a\nSize: 12\n\nPackage: b\nInstalled-Size: 9\nSize: 30\n"), 42);
    }

    #[test]
    fn a_source_line_names_its_key() {
        let mut source = Source {
            uri: "http://archive.example/debian".into(),
            suites: vec!["bookworm".into()],
            components: vec!["main".into()],
            keyring: Some(Keyring::Name("/k.gpg".into())),
        };
        let key = Path::new("/cache/archive.asc");
        assert_eq!(line(&source, "x", key), "deb [signed-by=/k.gpg] http://archive.example/debian x main\n");
        source.keyring = Some(Keyring::Armour("...".into()));
        assert_eq!(
            line(&source, "x", key),
            "deb [signed-by=/cache/archive.asc] http://archive.example/debian x main\n"
        );
        source.keyring = None;
        assert_eq!(line(&source, "x", key), "deb http://archive.example/debian x main\n");
    }
}
