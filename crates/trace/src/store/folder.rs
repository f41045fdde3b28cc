//! Folder of a trace while it is written: `NAME.partial`, renamed on commit.

use super::{Error, meta, tables};
use hearth_base::file;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
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

    /// Flushes the folder to the disk, then renames it to its final name, replacing a trace of that name.
    pub fn commit(self) -> Result<(), Error> {
        self.commit_with(&mut |path| file::sync_folder(path))
    }

    /// `sync` flushes a file or a folder.
    fn commit_with(mut self, sync: &mut dyn FnMut(&Path) -> io::Result<()>) -> Result<(), Error> {
        check_replaceable(&self.path)?;
        sync_tree(&self.partial, sync)?;
        let mut old = None;
        if fs::symlink_metadata(&self.path).is_ok() {
            let aside = with_suffix(&self.path, &format!(".{}.old", std::process::id()));
            fs::rename(&self.path, &aside).map_err(Error::io("rename", &self.path))?;
            old = Some(aside);
        }
        fs::rename(&self.partial, &self.path).map_err(Error::io("rename", &self.partial))?;
        self.committed = true;
        let parent = file::folder(&self.path);
        sync(parent).map_err(Error::io("flush", parent))?;
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

/// Flushes a folder and its content to the disk: until the trace is complete, its files are written without that, so
/// that a recording is not disturbed.
fn sync_tree(folder: &Path, sync: &mut dyn FnMut(&Path) -> io::Result<()>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let path = entry.path();
        match entry.file_type().map_err(Error::io("read", &path))?.is_dir() {
            true => sync_tree(&path, sync)?,
            false => sync(&path).map_err(Error::io("flush", &path))?,
        }
    }
    sync(folder).map_err(Error::io("flush", folder))
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

/// The name that a trace gets when a recording replaces it.
pub fn old_name(path: &Path) -> PathBuf {
    with_suffix(path, ".old")
}

/// Renames a trace to its old name, replacing a trace there. Nothing happens if there is no trace.
pub fn set_aside(path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let old = old_name(path);
    check_replaceable(path)?;
    check_replaceable(&old)?;
    if fs::symlink_metadata(&old).is_ok() {
        fs::remove_dir_all(&old).map_err(Error::io("remove", &old))?;
    }
    fs::rename(path, &old).map_err(Error::io("rename", path))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_on_the_disk_before_the_trace_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let partial = Partial::create(&path).unwrap();
        fs::write(partial.folder().join(meta::FILE), "{}").unwrap();
        fs::write(partial.folder().join(EVENTS).join("000000.parquet"), "x").unwrap();
        let mut synced = Vec::new();
        let mut sync = |synced_path: &Path| {
            let relative = synced_path.strip_prefix(folder.path()).unwrap();
            synced.push((relative.display().to_string(), path.exists()));
            file::sync_folder(synced_path)
        };
        partial.commit_with(&mut sync).unwrap();
        // The content in any order, then the folder; after the rename its parent.
        let content = synced.len() - 2;
        synced[..content].sort_unstable();
        let synced: Vec<_> = synced.iter().map(|(name, renamed)| (name.as_str(), *renamed)).collect();
        let expected = [
            ("a.trace.partial/events", false),
            ("a.trace.partial/events/000000.parquet", false),
            ("a.trace.partial/trace.json", false),
            ("a.trace.partial", false),
            ("", true),
        ];
        assert_eq!(synced, expected);
    }

    #[test]
    fn a_trace_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let trace = |which: &str| {
            let mut partial = Partial::create(&path).unwrap();
            partial.keep();
            let content = format!(r#"{{"format":"{}","which":"{which}"}}"#, super::super::FORMAT);
            fs::write(partial.folder().join(meta::FILE), content).unwrap();
            set_aside(&path).unwrap();
            partial.commit().unwrap();
        };
        let content = |path: &Path| fs::read_to_string(path.join(meta::FILE)).unwrap();
        trace("one");
        assert!(!old_name(&path).exists());
        trace("two");
        trace("three");
        assert!(content(&path).contains("three") && content(&old_name(&path)).contains("two"));

        fs::remove_dir_all(old_name(&path)).unwrap();
        fs::write(old_name(&path), "a diary").unwrap();
        assert!(set_aside(&path).unwrap_err().to_string().contains("a.trace.old already exists"));
        assert!(content(&path).contains("three"));
    }

    #[test]
    fn a_trace_that_cannot_be_flushed_keeps_its_temporary_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let mut partial = Partial::create(&path).unwrap();
        partial.keep();
        let failed = partial.commit_with(&mut |_| Err(io::Error::other("the disk is gone")));
        assert!(failed.unwrap_err().to_string().contains("flush"));
        assert!(!path.exists() && folder.path().join("a.trace.partial").exists());
    }
}
