//! Folder of a trace while it is written: `NAME.partial`, renamed on commit.

use super::{Error, meta, tables};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub const EVENTS: &str = "events";
/// Allowed entries of a trace's folder. A folder with any other entry is never removed.
const CONTENT: [&str; 8] =
    [meta::FILE, meta::NEW, tables::CORES, tables::THREADS, tables::KINDS, EVENTS, OPEN_SEGMENT, "tiles"];
/// Name of the segment being written. It is outside `events/` because it is not yet a valid Parquet
/// file.
pub const OPEN_SEGMENT: &str = "segment.open";

/// Folder of a trace under its temporary name. If dropped without [`Partial::commit`], it is
/// removed unless it contains readable events.
pub struct Partial {
    path: PathBuf,
    partial: PathBuf,
    /// Holds the lock on the folder until it is dropped.
    _lock: File,
    worth_keeping: bool,
    committed: bool,
}

impl Partial {
    /// Creates `path.partial`, replacing what an interrupted writer left there.
    pub fn create(path: &Path) -> Result<Self, Error> {
        check_replaceable(path)?;
        let partial = partial_name(path)?;
        if fs::symlink_metadata(&partial).is_ok() {
            let empty = fs::read_dir(&partial).is_ok_and(|mut content| content.next().is_none());
            if !empty {
                check_replaceable(&partial)?;
            }
            let lock = lock(&partial)?;
            fs::remove_dir_all(&partial).map_err(Error::io("remove", &partial))?;
            drop(lock);
        }
        fs::create_dir(&partial).map_err(Error::io("create", &partial))?;
        let lock = lock(&partial)?;
        let events = partial.join(EVENTS);
        fs::create_dir(&events).map_err(Error::io("create", &events))?;
        Ok(Partial { path: path.into(), partial, _lock: lock, worth_keeping: false, committed: false })
    }

    /// Current path of the folder.
    pub fn folder(&self) -> &Path {
        &self.partial
    }

    /// Marks the folder as containing events, so that it is kept on drop.
    pub fn keep(&mut self) {
        self.worth_keeping = true;
    }

    /// Renames the folder to its final name, replacing a trace of that name.
    pub fn commit(mut self) -> Result<(), Error> {
        check_replaceable(&self.path)?;
        let mut old = None;
        if fs::symlink_metadata(&self.path).is_ok() {
            let aside = with_suffix(&self.path, &format!(".{}.old", std::process::id()));
            fs::rename(&self.path, &aside).map_err(Error::io("rename", &self.path))?;
            old = Some(aside);
        }
        fs::rename(&self.partial, &self.path).map_err(Error::io("rename", &self.partial))?;
        self.committed = true;
        match old {
            Some(old) => fs::remove_dir_all(&old).map_err(Error::io("remove", &old)),
            None => Ok(()),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.committed && !self.worth_keeping {
            let _ = fs::remove_dir_all(&self.partial); // `drop` cannot report errors
        }
    }
}

fn lock(folder: &Path) -> Result<File, Error> {
    let file = File::open(folder).map_err(Error::io("open", folder))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => Err(Error::Busy { path: folder.into() }),
        // On a file system without locks, go on without.
        _ => Ok(file),
    }
}

/// Returns an error if a trace cannot be written to `path`: something other than a trace is there,
/// or the parent folder is missing.
pub fn check_replaceable(path: &Path) -> Result<(), Error> {
    let exists = |why: &str| Error::Exists { path: path.into(), why: why.into() };
    partial_name(path)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            return fs::metadata(parent).map(drop).map_err(Error::io("write into", parent));
        }
        Err(error) => return Err(Error::io("create", path)(error)),
        Ok(meta) if !meta.is_dir() => return Err(exists("it is not a trace")),
        Ok(_) => {}
    }
    if !meta::is_trace(path) {
        return Err(exists("it is a folder that is not a trace"));
    }
    for entry in fs::read_dir(path).map_err(Error::io("read", path))? {
        let name = entry.map_err(Error::io("read", path))?.file_name();
        if CONTENT.iter().all(|known| OsStr::new(known) != name) {
            return Err(exists(&format!("its entry {} is not part of a trace", name.display())));
        }
    }
    Ok(())
}

fn partial_name(path: &Path) -> Result<PathBuf, Error> {
    if path.file_name().is_none() {
        let source = std::io::Error::other("the path has no file name");
        return Err(Error::File { action: "create", path: path.into(), source });
    }
    Ok(with_suffix(path, ".partial"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
