//! Files that are either whole or absent: written beside their final name, flushed to the disk, renamed.
//!
//! A killed process leaves its temporary file. The next one that writes the same name removes it: while a file is written,
//! it is locked.
//!
//! A path that is no regular file, such as `/dev/stdout` or a symbolic link, is written directly.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file under a temporary name in the folder of its final name. It is removed unless [`commit`](Self::commit)ted.
pub struct AtomicFile {
    out: BufWriter<Target>,
    path: PathBuf,
}

enum Target {
    Temporary(NamedTempFile),
    Special(File),
}

impl AtomicFile {
    /// Creates the temporary file, with the permissions of a new file.
    ///
    /// # Errors
    /// `path` names no file, or its folder cannot be written.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        let target =
            if is_special(path) { Target::Special(File::create(path)?) } else { Target::temporary(path)? };
        Ok(AtomicFile { out: BufWriter::with_capacity(1 << 16, target), path: path.to_owned() })
    }

    /// Lets all users read the file, whatever the umask.
    ///
    /// # Errors
    /// The file system has no permissions.
    pub fn open_to_readers(&self) -> io::Result<()> {
        match self.out.get_ref() {
            Target::Special(_) => Ok(()),
            Target::Temporary(file) => file.as_file().set_permissions(fs::Permissions::from_mode(0o644)),
        }
    }

    /// Flushes the content to the disk, then gives the file its name. A file of that name is replaced.
    ///
    /// # Errors
    /// The disk is full, or the name is taken by a folder. No file of the name is lost then.
    pub fn commit(self) -> io::Result<()> {
        match self.out.into_inner().map_err(io::IntoInnerError::into_error)? {
            Target::Special(_) => Ok(()),
            Target::Temporary(file) => {
                file.as_file().sync_all()?;
                file.persist(&self.path)?;
                sync_folder(folder(&self.path))
            }
        }
    }
}

impl Target {
    fn temporary(path: &Path) -> io::Result<Target> {
        let name = path.file_name().ok_or_else(|| io::Error::other("this path names no file"))?;
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        remove_left(folder(path), prefix.as_bytes());
        // The umask still applies.
        let permissions = fs::Permissions::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(RANDOM).suffix(SUFFIX).permissions(permissions);
        loop {
            let file = builder.tempfile_in(folder(path))?;
            // Another process may have taken it for a left one before it was locked.
            if !lock(file.as_file(), libc::LOCK_EX) || file.as_file().metadata()?.nlink() > 0 {
                return Ok(Target::Temporary(file));
            }
        }
    }
}

/// Number of random characters in a temporary name, and what follows them.
const RANDOM: usize = 6;
const SUFFIX: &str = ".partial";

/// Removes this user's temporary files that nobody writes any more. If that fails, they stay.
fn remove_left(folder: &Path, prefix: &[u8]) {
    let is_temporary = |name: &[u8]| {
        let random = name.strip_prefix(prefix).and_then(|name| name.strip_suffix(SUFFIX.as_bytes()));
        random.is_some_and(|random| random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if !is_temporary(entry.file_name().as_bytes()) {
            continue;
        }
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let Ok(file) = File::options().read(true).custom_flags(flags).open(entry.path()) else { continue };
        // SAFETY: no preconditions.
        let user = unsafe { libc::geteuid() };
        let is_mine = file.metadata().is_ok_and(|meta| meta.is_file() && meta.uid() == user);
        if is_mine && lock(&file, libc::LOCK_EX | libc::LOCK_NB) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Locks a file until it is closed; false if that is not possible.
fn lock(file: &File, how: libc::c_int) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), how) == 0 }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Temporary(file) => file.write(bytes),
            Target::Special(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a whole file.
///
/// # Errors
/// As [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(content)?;
    file.commit()
}

/// Whether `path` exists and is no regular file. Renaming must not replace a device or a symbolic link.
pub fn is_special(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
}

/// Opens a file to read. A FIFO or a device in a folder that others made would wait for ever, or never end.
///
/// # Errors
/// As [`File::open`]; or it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Renames a file or folder whose content is on the disk, and flushes the new name to the disk, too.
///
/// # Errors
/// As [`fs::rename`].
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(folder(to))
}

/// Flushes the entries of a folder to the disk.
///
/// # Errors
/// The folder cannot be opened. File systems that cannot flush folders are no error.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(error),
        _ => Ok(()),
    }
}

/// The folder that `path` lies in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_file_that_is_not_committed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_is_no_regular_file_is_written_directly() {
        write(Path::new("/dev/null"), b"text").unwrap();
        assert!(is_special(Path::new("/dev/null")));
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "a longer text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"text").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"text");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir(&path).unwrap();
        assert!(AtomicFile::create(&path).is_err());
        assert_eq!(names(folder.path()), ["a"]);
        assert!(AtomicFile::create(Path::new("/")).is_err());
    }

    #[test]
    fn what_a_killed_writer_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        // Left by a process that wrote `a`; of other files; of a process that writes `a` at this moment.
        for name in
            [".aAbcde1.partial", ".abAbcde1.partial", ".a.partial", ".a-bcde1.partial", "aAbcde1.partial"]
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let writing = AtomicFile::create(&path).unwrap();
        write(&path, b"new").unwrap();
        writing.commit().unwrap();
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, [".a-bcde1.partial", ".a.partial", ".abAbcde1.partial", "a", "aAbcde1.partial"]);
    }
}
