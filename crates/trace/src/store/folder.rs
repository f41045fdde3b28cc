//! The folder of a trace while it is written: `NAME.partial`, which then takes its name.

use super::{Error, meta, tables};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub const EVENTS: &str = "events";
/// What may be in a trace's folder. A folder with anything else is never removed.
const CONTENT: [&str; 8] =
    [meta::FILE, meta::NEW, tables::CORES, tables::THREADS, tables::KINDS, EVENTS, OPEN_SEGMENT, "tiles"];
/// The segment that is being written: it is no Parquet file yet, so it lies where nobody looks.
pub const OPEN_SEGMENT: &str = "segment.open";

/// A trace's folder under its temporary name. Dropped without [`Partial::commit`], it stays if
/// there is something in it to be read; otherwise it is removed.
pub struct Partial {
    path: PathBuf,
    partial: PathBuf,
    /// The lock on the folder, held until it is closed.
    _lock: File,
    worth_keeping: bool,
    committed: bool,
}

impl Partial {
    /// Makes `path.partial`. What an interrupted writer left there is replaced.
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

    /// Where it is now.
    pub fn folder(&self) -> &Path {
        &self.partial
    }

    /// There are events in it.
    pub fn keep(&mut self) {
        self.worth_keeping = true;
    }

    /// Gives the folder its name. A trace that has it goes.
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
            let _ = fs::remove_dir_all(&self.partial); // nothing better can be done while dropping
        }
    }
}

fn lock(folder: &Path) -> Result<File, Error> {
    let file = File::open(folder).map_err(Error::io("open", folder))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => Err(Error::Busy { path: folder.into() }),
        // A file system without locks: then there are none.
        _ => Ok(file),
    }
}

/// An error if a trace of this name cannot be written: something else has the name, or there is no
/// folder for it.
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
        return Err(exists("it is a folder, but not that of a trace"));
    }
    for entry in fs::read_dir(path).map_err(Error::io("read", path))? {
        let name = entry.map_err(Error::io("read", path))?.file_name();
        if CONTENT.iter().all(|known| OsStr::new(known) != name) {
            return Err(exists(&format!("{} in it is no part of a trace", name.display())));
        }
    }
    Ok(())
}

fn partial_name(path: &Path) -> Result<PathBuf, Error> {
    if path.file_name().is_none() {
        let source = std::io::Error::other("this path names no file");
        return Err(Error::File { action: "create", path: path.into(), source });
    }
    Ok(with_suffix(path, ".partial"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}
