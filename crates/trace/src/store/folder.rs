//! Folder of a trace while it is written: `NAME.partial`, renamed on commit.

use super::{Error, meta, tables};
use hearth_base::file;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

pub const EVENTS: &str = "events";
/// Allowed entries of a trace's folder; files also with [`NEW`]. A folder with any other entry is never removed.
const CONTENT: [&str; 8] = [
    meta::FILE,
    tables::CORES,
    tables::THREADS,
    tables::PROCESSES,
    tables::KINDS,
    EVENTS,
    OPEN_SEGMENT,
    "tiles",
];
/// What follows the name of a file that is being written.
pub const NEW: &str = ".new";
/// Name of the segment being written. It is outside `events/` because it is not yet a valid Parquet
/// file.
pub const OPEN_SEGMENT: &str = "segment.open";

/// Who can read a trace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// As of any new file.
    Open,
    /// Only its owner: this user and group, or the user of this process.
    Private(Option<(u32, u32)>),
}

/// Folder of a trace under its temporary name. If dropped without [`Partial::commit`], it is
/// removed unless it contains readable events.
pub struct Partial {
    path: PathBuf,
    partial: PathBuf,
    /// Holds the lock on the folder until it is dropped.
    lock: File,
    access: Access,
    worth_keeping: bool,
    committed: bool,
}

impl Partial {
    /// Creates `path.partial`, replacing what an interrupted writer left there.
    pub fn create(path: &Path, access: Access) -> Result<Self, Error> {
        check_replaceable(path)?;
        let partial = partial_name(path)?;
        remove_left(&partial)?;
        remove_left(&aside_name(&partial))?;
        let mode = if access == Access::Open { 0o777 } else { 0o700 };
        fs::DirBuilder::new().mode(mode).create(&partial).map_err(Error::io("create", &partial))?;
        let lock = lock(&partial)?;
        let events = partial.join(EVENTS);
        fs::create_dir(&events).map_err(Error::io("create", &events))?;
        Ok(Partial { path: path.into(), partial, lock, access, worth_keeping: false, committed: false })
    }

    /// Current path of the folder.
    pub fn folder(&self) -> &Path {
        &self.partial
    }

    /// Marks the folder as containing events, so that it is kept on drop.
    pub fn keep(&mut self) {
        self.worth_keeping = true;
    }

    /// Flushes the folder to the disk, then gives it its final name, replacing a trace of that name: at each moment the
    /// old one or the new one has it. With `keep_old`, the old one becomes [`old_name`].
    pub fn commit(self, keep_old: bool) -> Result<(), Error> {
        self.commit_with(keep_old, &mut |path| file::sync_folder(path))
    }

    /// `sync` flushes a file or a folder.
    fn commit_with(
        mut self,
        keep_old: bool,
        sync: &mut dyn FnMut(&Path) -> io::Result<()>,
    ) -> Result<(), Error> {
        let old = old_name(&self.path);
        check_replaceable(&self.path)?;
        if keep_old {
            check_replaceable(&old)?;
        }
        if let Access::Private(owner) = self.access {
            self.make_private(owner).map_err(Error::io("close", &self.partial))?;
        }
        sync_tree(&self.partial, sync)?;
        let replaces = fs::symlink_metadata(&self.path).is_ok();
        let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(Error::io("rename", from));
        match replaces {
            true => exchange(&self.partial, &self.path)?,
            false => rename(&self.partial, &self.path)?,
        }
        self.committed = true;
        let parent = file::folder(&self.path);
        sync(parent).map_err(Error::io("flush", parent))?;
        if replaces && keep_old {
            remove_left(&old)?;
            rename(&self.partial, &old)?;
        }
        remove_left(&self.partial)
    }

    /// Closes the trace to others, and gives it to its owner. The folder is named by its descriptor: in a
    /// folder of that user, another one could stand under its name by now.
    fn make_private(&self, owner: Option<(u32, u32)>) -> io::Result<()> {
        let give = |path: &Path| owner.map_or(Ok(()), |(user, group)| chown(path, Some(user), Some(group)));
        let here = PathBuf::from(format!("/proc/self/fd/{}", self.lock.as_raw_fd()));
        let mut folders = vec![here];
        for at in 0.. {
            let Some(folder) = folders.get(at).cloned() else { break };
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o600))?;
                give(&entry.path())?;
            }
        }
        // The outermost last: until then its new owner cannot enter it.
        for folder in folders.iter().rev() {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
            give(folder)?;
        }
        Ok(())
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
        if entry.file_type().map_err(Error::io("read", &path))?.is_dir() {
            sync_tree(&path, sync)?;
            continue;
        }
        sync(&path).map_err(Error::io("flush", &path))?;
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
    check_content(path)
}

/// Returns an error if a folder has entries that no writer of traces makes.
fn check_content(path: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(path).map_err(Error::io("read", path))? {
        let name = entry.map_err(Error::io("read", path))?.file_name();
        let known = |name: &str| CONTENT.contains(&name.strip_suffix(NEW).unwrap_or(name));
        if !name.to_str().is_some_and(known) {
            let why = format!("its entry {} is not part of a trace", name.display());
            return Err(Error::Exists { path: path.into(), why });
        }
    }
    Ok(())
}

/// Removes a folder that a writer left, at whatever moment it ended. No other writer may use it.
fn remove_left(path: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(meta) if meta.is_dir() => check_content(path)?,
        Ok(_) => return Err(Error::Exists { path: path.into(), why: "it is not a trace".into() }),
    }
    let _lock = lock(path)?;
    fs::remove_dir_all(path).map_err(Error::io("remove", path))
}

/// Exchanges the names of two traces. A file system that cannot do that at once has neither name for a moment; then the old
/// trace waits under [`aside_name`].
fn exchange(partial: &Path, path: &Path) -> Result<(), Error> {
    if renameat_with(CWD, partial, CWD, path, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let aside = aside_name(partial);
    for (from, to) in [(path, &*aside), (partial, path), (&*aside, partial)] {
        fs::rename(from, to).map_err(Error::io("rename", from))?;
    }
    Ok(())
}

fn aside_name(partial: &Path) -> PathBuf {
    with_suffix(partial, ".old")
}

/// The name that a trace gets when a recording replaces it.
pub fn old_name(path: &Path) -> PathBuf {
    with_suffix(path, ".old")
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
        let partial = Partial::create(&path, Access::Open).unwrap();
        fs::write(partial.folder().join(meta::FILE), "{}").unwrap();
        fs::write(partial.folder().join(EVENTS).join("000000.parquet"), "x").unwrap();
        let mut synced = Vec::new();
        let mut sync = |synced_path: &Path| {
            let relative = synced_path.strip_prefix(folder.path()).unwrap();
            synced.push((relative.display().to_string(), path.exists()));
            file::sync_folder(synced_path)
        };
        partial.commit_with(false, &mut sync).unwrap();
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

    fn trace(path: &Path, which: &str) -> Partial {
        let mut partial = Partial::create(path, Access::Open).unwrap();
        partial.keep();
        let content = format!(r#"{{"format":"{}","which":"{which}"}}"#, super::super::FORMAT);
        fs::write(partial.folder().join(meta::FILE), content).unwrap();
        partial
    }

    fn content(path: &Path) -> String {
        fs::read_to_string(path.join(meta::FILE)).unwrap()
    }

    #[test]
    fn a_trace_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        trace(&path, "one").commit(true).unwrap();
        assert!(!old_name(&path).exists());
        trace(&path, "two").commit(true).unwrap();
        trace(&path, "three").commit(true).unwrap();
        assert!(content(&path).contains("three") && content(&old_name(&path)).contains("two"));
        trace(&path, "four").commit(false).unwrap();
        assert!(content(&path).contains("four") && content(&old_name(&path)).contains("two"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);

        fs::remove_dir_all(old_name(&path)).unwrap();
        fs::write(old_name(&path), "a diary").unwrap();
        let error = trace(&path, "five").commit(true).unwrap_err();
        assert!(error.to_string().contains("a.trace.old already exists"));
        assert!(content(&path).contains("four"));
    }

    /// Whatever a killed writer left, the next one begins; what is not of a writer stays.
    #[test]
    fn what_a_killed_writer_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let partial = partial_name(&path).unwrap();
        for content in [
            &[][..],
            &[EVENTS],
            &[EVENTS, OPEN_SEGMENT],
            &[EVENTS, "trace.json.new"],
            &[EVENTS, "cores.parquet.new"],
            &[EVENTS, "tiles"],
        ] {
            fs::create_dir(&partial).unwrap();
            content.iter().for_each(|name| fs::create_dir(partial.join(name)).unwrap());
            fs::create_dir(aside_name(&partial)).unwrap();
            trace(&path, "new").commit(false).unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("diary"), "mine").unwrap();
        assert!(Partial::create(&path, Access::Open).is_err());
        assert!(partial.join("diary").exists());
    }

    #[test]
    fn others_cannot_read_a_private_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let partial = Partial::create(&path, Access::Private(None)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(partial.folder()), 0o700);
        fs::write(partial.folder().join(meta::FILE), "{}").unwrap();
        partial.commit(false).unwrap();
        assert_eq!(
            [mode(&path), mode(&path.join(EVENTS)), mode(&path.join(meta::FILE))],
            [0o700, 0o700, 0o600]
        );
    }

    #[test]
    fn a_trace_that_cannot_be_flushed_keeps_its_temporary_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let mut partial = Partial::create(&path, Access::Open).unwrap();
        partial.keep();
        let failed = partial.commit_with(false, &mut |_| Err(io::Error::other("the disk is gone")));
        assert!(failed.unwrap_err().to_string().contains("flush"));
        assert!(!path.exists() && folder.path().join("a.trace.partial").exists());
    }
}
