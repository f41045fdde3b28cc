//! The folder of a machine: `$XDG_RUNTIME_DIR/hearth/vm/NAME`, or `/tmp/hearth-UID/vm/NAME`.

use crate::error::Error;
use crate::guest::PREFIX;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Time to retry a lock that another process may hold only to see whether it is free.
const RETRY: Duration = Duration::from_millis(300);
const TICK: Duration = Duration::from_millis(20);

/// Name of a machine that is given none.
pub const DEFAULT_NAME: &str = "default";

/// The flag of `hearth vm start` that gives this name, if it takes one.
pub fn name_flag(name: &str) -> String {
    if name == DEFAULT_NAME { String::new() } else { format!(" --name {name}") }
}

/// The folder of a machine.
#[derive(Debug, Clone)]
pub struct Place {
    folder: PathBuf,
    name: String,
}

/// The lock that a machine's supervisor holds as long as it lives. The kernel releases it, so that it cannot be stale.
#[derive(Debug)]
pub struct Lock(File);

/// A machine that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    pub name: String,
    /// The kernel's release.
    pub kernel: String,
    pub cpus: u16,
    /// When it had booted, in seconds since 1970.
    pub since: u64,
    /// Folders that are shared for writing.
    pub shared: Vec<PathBuf>,
    pub pid: u32,
    /// Start time of process `pid`, in ticks since the host's boot: a later process with this number has another.
    pub started: u64,
}

impl Place {
    /// The folder of the user's machine `name`, which is created.
    ///
    /// # Errors
    /// The name is not one, or others could change the folder.
    pub fn of_user(name: &str) -> Result<Place, Error> {
        Place::below(&base()?, name)
    }

    pub(super) fn below(base: &Path, name: &str) -> Result<Place, Error> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 32 || name.starts_with('.') || !name.chars().all(allowed) {
            return Err(Error::MachineName(name.into()));
        }
        let folder = base.join(name);
        private(&folder)?;
        Ok(Place { folder, name: name.into() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Acquires the lock.
    ///
    /// # Errors
    /// [`Error::Running`].
    pub fn lock(&self) -> Result<Lock, Error> {
        let until = Instant::now() + RETRY;
        loop {
            match self.try_lock()? {
                Some(lock) => return Ok(lock),
                None if Instant::now() < until => std::thread::sleep(TICK),
                None => {
                    let (name, running) = (self.name.clone(), self.running());
                    let what = running.map_or("it boots".into(), |running| running.to_string());
                    return Err(Error::Running { name, what });
                }
            }
        }
    }

    fn try_lock(&self) -> Result<Option<Lock>, Error> {
        // The file stays: a process that locked a removed file would not see the lock of another on a new one.
        let path = self.folder.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(Error::file("open", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(Error::file("lock", &path)(error.into())),
        }
    }

    /// Whether the machine runs or boots.
    pub fn is_taken(&self) -> bool {
        matches!(self.try_lock(), Ok(None))
    }

    /// Waits for the end of the machine; returns whether it came.
    pub fn wait_until_free(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.is_taken() {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(TICK);
        }
        true
    }

    /// The machine, if it has booted and runs.
    pub fn running(&self) -> Option<Running> {
        self.is_taken().then(|| self.recorded())?
    }

    fn recorded(&self) -> Option<Running> {
        serde_json::from_slice(&fs::read(self.folder.join("machine.json")).ok()?).ok()
    }

    /// Writes down that the machine has booted.
    pub fn record(&self, running: &Running) -> Result<(), Error> {
        let path = self.folder.join("machine.json");
        let json = serde_json::to_vec(running).map_err(io::Error::from);
        json.and_then(|json| hearth_base::file::write(&path, &json)).map_err(Error::file("write", path))
    }

    /// The user's machines that run.
    pub fn all() -> Result<Vec<Running>, Error> {
        Ok(Place::all_below(&base()?))
    }

    fn all_below(base: &Path) -> Vec<Running> {
        let names = fs::read_dir(base).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let places = names.filter_map(|name| Place::below(base, name.to_str()?).ok());
        let mut all: Vec<Running> = places.filter_map(|place| place.running()).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Removes what a machine leaves behind, also one that was killed. Only the holder of the lock may do so.
    pub fn clear(&self, _: &Lock) -> Result<(), Error> {
        for name in ["socket", "machine.json"] {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::file("remove", &path)(error));
                }
                _ => {}
            }
        }
        let entries = fs::read_dir(&self.folder).map_err(Error::file("read", &self.folder))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
                fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
            }
        }
        Ok(())
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The folder that the guest sees as `/run/hearth/objects`, which is created. It ends with the machine.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn objects(&self) -> Result<PathBuf, Error> {
        let folder = self.folder.join(format!("{PREFIX}objects"));
        private(&folder)?;
        Ok(folder)
    }

    /// What the supervisor prints.
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The error that ended the last machine, if one did.
    pub fn last_error(&self) -> Option<String> {
        let text = fs::read_to_string(self.log()).ok()?;
        let at = text.rfind("error: ")?;
        Some(text[at + "error: ".len()..].trim_end().to_owned())
    }

    /// Kills the process behind a machine that does not answer, and with it QEMU.
    pub fn kill(&self) -> Result<(), Error> {
        let killed = self.running().map(|running| kill(running.pid, running.started));
        match killed {
            Some(Ok(true)) => Ok(()),
            Some(Err(error)) => Err(Error::file("kill the machine in", &self.folder)(error)),
            Some(Ok(false)) | None => Err(Error::Unresponsive { name: self.name.clone() }),
        }
    }
}

impl Lock {
    /// Passes the lock to a process that this one starts, as its standard input.
    pub fn into_stdin(self) -> Stdio {
        self.0.into()
    }

    /// Takes over the lock of the process that started this one.
    pub fn from_stdin() -> io::Result<Lock> {
        use std::os::fd::AsFd;
        Ok(Lock(io::stdin().as_fd().try_clone_to_owned()?.into()))
    }
}

impl std::fmt::Display for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Linux {}, {} CPUs, process {}", self.kernel, self.cpus, self.pid)
    }
}

/// Kills the process that has this number and start time; returns whether there is one.
fn kill(pid: u32, started: u64) -> io::Result<bool> {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
    // The descriptor means the same process from here on, so that the start time that is read now is that process's.
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Err(rustix::io::Errno::SRCH) => return Ok(false),
        process => process?,
    };
    if start_time(pid.as_raw_nonzero().get().unsigned_abs()) != Some(started) {
        return Ok(false);
    }
    pidfd_send_signal(process, Signal::KILL)?;
    Ok(true)
}

/// When a process started, in ticks since the host's boot.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// The folder of the user's machines.
fn base() -> Result<PathBuf, Error> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // After `su`, the variable may name the folder of another user.
    let is_own = |path: &PathBuf| {
        path.is_absolute() && fs::metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == me())
    };
    let own = match runtime.filter(is_own) {
        Some(runtime) => runtime.join("hearth"),
        None => PathBuf::from(format!("/tmp/hearth-{}", me())),
    };
    private(&own)?;
    let base = own.join("vm");
    private(&base)?;
    Ok(base)
}

fn me() -> u32 {
    geteuid().as_raw()
}

/// Creates a folder that only this user can enter. One that exists must be such a folder: anyone may create it in `/tmp`.
fn private(folder: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(Error::file("make", folder)(error));
        }
        _ => {}
    }
    let meta = fs::symlink_metadata(folder).map_err(Error::file("read", folder))?;
    let why = match meta {
        _ if !meta.is_dir() => "it is not a folder",
        _ if meta.uid() != me() => "it belongs to another user",
        _ if meta.mode() & 0o077 != 0 => "other users may enter it",
        _ => return Ok(()),
    };
    Err(Error::Unsafe { path: folder.into(), why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn place(base: &Path) -> Place {
        Place::below(base, "test").unwrap()
    }

    fn running(pid: u32, started: u64) -> Running {
        Running {
            name: "test".into(),
            kernel: "7.3".into(),
            cpus: 4,
            since: 0,
            shared: Vec::new(),
            pid,
            started,
        }
    }

    #[test]
    fn names_stay_in_the_folder() {
        let base = tempfile::tempdir().unwrap();
        for wrong in ["", ".", "..", "a/b", ".hidden", "two words", &"x".repeat(33)] {
            assert!(matches!(Place::below(base.path(), wrong), Err(Error::MachineName(_))), "{wrong}");
        }
        let folder = Place::below(base.path(), "a.b-c_1").unwrap().folder;
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_could_change_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("test");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(Place::below(base.path(), "test"), Err(Error::Unsafe { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Place::below(base.path(), "test").unwrap();
        symlink(&path, base.path().join("link")).unwrap();
        assert!(matches!(Place::below(base.path(), "link"), Err(Error::Unsafe { .. })));
    }

    #[test]
    fn one_machine_has_a_name() {
        let base = tempfile::tempdir().unwrap();
        let place = place(base.path());
        let winners: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| place.lock())).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert_eq!(winners.iter().filter(|winner| winner.is_ok()).count(), 1);
        place.record(&running(7, 0)).unwrap();
        let message = place.lock().unwrap_err().to_string();
        assert!(message.contains("Linux 7.3, 4 CPUs, process 7"), "{message}");
        assert!(place.is_taken());
        drop(winners);
        assert!(!place.is_taken());
        place.lock().unwrap();
    }

    /// Whoever only looks whether a machine runs must not make a start fail.
    #[test]
    fn looking_does_not_disturb_a_start() {
        let base = tempfile::tempdir().unwrap();
        let place = place(base.path());
        let look = place.try_lock().unwrap();
        let (begun, starter) = (Instant::now(), place.clone());
        let start = std::thread::spawn(move || starter.lock().map(drop));
        std::thread::sleep(RETRY / 4);
        drop(look);
        start.join().unwrap().unwrap();
        assert!(begun.elapsed() < RETRY);
    }

    #[test]
    fn what_a_killed_machine_left_is_not_a_machine() {
        let base = tempfile::tempdir().unwrap();
        let place = place(base.path());
        place.record(&running(1, 0)).unwrap();
        fs::write(place.socket(), "").unwrap();
        fs::create_dir_all(place.folder.join("hearth-vm-x/y")).unwrap();
        assert_eq!(place.running(), None);
        assert!(Place::all_below(base.path()).is_empty());
        let lock = place.lock().unwrap();
        assert_eq!(Place::all_below(base.path()), [running(1, 0)]);
        place.clear(&lock).unwrap();
        place.clear(&lock).unwrap();
        let left = fs::read_dir(&place.folder).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["lock"]);
    }

    #[test]
    fn a_reused_process_number_is_not_killed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let started = start_time(child.id()).unwrap();
        assert!(!kill(child.id(), started + 1).unwrap());
        assert!(child.try_wait().unwrap().is_none(), "the wrong process was killed");
        assert!(kill(child.id(), started).unwrap());
        child.wait().unwrap();
        assert!(!kill(child.id(), started).unwrap());

        // Nor is one whose machine has ended.
        let base = tempfile::tempdir().unwrap();
        let place = place(base.path());
        let me = std::process::id();
        place.record(&running(me, start_time(me).unwrap())).unwrap();
        assert!(matches!(place.kill(), Err(Error::Unresponsive { .. })));
    }

    #[test]
    fn the_last_error_is_found() {
        let base = tempfile::tempdir().unwrap();
        let place = place(base.path());
        assert_eq!(place.last_error(), None);
        fs::write(place.log(), "vm: booting\nerror: the guest panicked: x\n  | line\n").unwrap();
        assert_eq!(place.last_error().as_deref(), Some("the guest panicked: x\n  | line"));
    }
}
