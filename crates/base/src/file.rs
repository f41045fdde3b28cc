//! Files that are either whole or absent: written beside their final name, flushed to the disk, renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file under a temporary name in the folder of its final name. It is removed unless [`commit`](Self::commit)ted.
pub struct AtomicFile {
    out: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file, with the permissions of a new file.
    ///
    /// # Errors
    /// `path` names no file, or its folder cannot be written.
    pub fn create(path: &Path) -> io::Result<AtomicFile> {
        let name = path.file_name().ok_or_else(|| io::Error::other("this path names no file"))?;
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        // The umask still applies.
        let permissions = fs::Permissions::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        let file =
            builder.prefix(&prefix).suffix(".partial").permissions(permissions).tempfile_in(folder(path))?;
        Ok(AtomicFile { out: BufWriter::with_capacity(1 << 16, file), path: path.to_owned() })
    }

    /// Flushes the content to the disk, then gives the file its name. A file of that name is replaced.
    ///
    /// # Errors
    /// The disk is full, or the name is taken by a folder. No file of the name is lost then.
    pub fn commit(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        sync_folder(folder(&self.path))
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

/// Writes a whole file. What exists and is no regular file, such as `/dev/stdout`, is written directly.
///
/// # Errors
/// As [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if is_special(path) {
        return fs::write(path, content);
    }
    let mut file = AtomicFile::create(path)?;
    file.write_all(content)?;
    file.commit()
}

/// Whether `path` exists and is neither a regular file nor a link to one: it cannot be replaced by renaming.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file())
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
    }

    #[test]
    fn a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir(&path).unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"text").unwrap();
        assert!(file.commit().is_err());
        assert_eq!(names(folder.path()), ["a"]);
        assert!(AtomicFile::create(Path::new("/")).is_err());
    }
}
