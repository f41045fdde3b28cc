//! The kernel's tracing folder, and an instance of it for the recorder.

use crate::Error;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const MOUNT_POINT: &str = "/sys/kernel/tracing";

/// Finds tracefs. Mounts it if it is not mounted.
pub fn find() -> Result<PathBuf, Error> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, at, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "tracefs").then(|| PathBuf::from(at))
    });
    if let Some(path) = mounted {
        return Ok(path);
    }
    // The folder in debugfs is mounted by the first access.
    let candidates = [MOUNT_POINT, "/sys/kernel/debug/tracing"].map(PathBuf::from);
    if let Some(path) = candidates.iter().find(|path| path.join("events").is_dir()) {
        return Ok(path.clone());
    }
    mount()
}

fn mount() -> Result<PathBuf, Error> {
    let path = PathBuf::from(MOUNT_POINT);
    if !path.is_dir() {
        return Err(Error::NoTracefs);
    }
    let target = CString::new(MOUNT_POINT).map_err(|_| Error::NoTracefs)?;
    let name = c"tracefs".as_ptr();
    // SAFETY: three strings that end in zero, and no data.
    let result = unsafe { libc::mount(name, target.as_ptr(), name, 0, std::ptr::null()) };
    if result == 0 {
        return Ok(path);
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENODEV) => Err(Error::NoTracefs),
        Some(libc::EPERM) => {
            Err(Error::file("mount tracefs on", &path, std::io::ErrorKind::PermissionDenied.into()))
        }
        _ => Err(Error::file("mount tracefs on", &path, error)),
    }
}

/// Reads a description of the kernel's events.
///
/// `fs::read_to_string` begins with a small read, but `header_page` has content only for the first read.
pub fn read(path: &Path) -> Result<String, Error> {
    let failed = |error| Error::file("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut text = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            length => text.extend_from_slice(&buffer[..length]),
        }
    }
}

/// An instance of tracefs: its own buffers and enabled events, so that other users of tracing are not disturbed. It is
/// removed when dropped.
pub struct Instance {
    path: PathBuf,
    /// The lock shows that the recorder is alive. It ends with the process, and unlike a pid it is valid in every
    /// container.
    _lock: File,
}

impl Instance {
    const PREFIX: &str = "hearth-";

    /// Makes an instance, after removing those of killed recorders.
    pub fn create(tracefs: &Path) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let parent = tracefs.join("instances");
        remove_stale(&parent);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{}{}-{number}", Self::PREFIX, std::process::id()));
        fs::create_dir(&path).map_err(|error| Error::file("create", &path, error))?;
        match lock(&path) {
            Some(lock) => Ok(Instance { path, _lock: lock }),
            None => {
                let error = std::io::Error::last_os_error();
                let _ = fs::remove_dir(&path);
                Err(Error::file("lock", &path, error))
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a setting.
    pub fn set(&self, file: &str, value: &str) -> Result<(), Error> {
        let path = self.path.join(file);
        // `fs::write` would try to create a missing file.
        let mut file =
            File::options().write(true).open(&path).map_err(|error| Error::file("open", &path, error))?;
        file.write_all(value.as_bytes()).map_err(|error| Error::file("write to", &path, error))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) {
    let _ = fs::write(path.join("tracing_on"), "0");
    let _ = fs::write(path.join("events/enable"), "0");
    // A reader of a process that has just died may still hold it.
    for _ in 0..20 {
        if fs::remove_dir(path).is_ok() || !path.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Removes the instances of killed recorders.
fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(Instance::PREFIX);
        if ours && old(&entry.path()) && lock(&entry.path()).is_some() {
            remove(&entry.path());
        }
    }
}

/// A new instance may not be locked yet.
fn old(path: &Path) -> bool {
    let age = fs::metadata(path).and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age.as_secs() >= 2)
}

/// Locks a folder until the file is dropped. `None`: another recorder holds the lock.
fn lock(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    // SAFETY: the descriptor is open.
    (unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0).then_some(file)
}
