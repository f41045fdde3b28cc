//! Cache of fetched files. Entries appear atomically: they are built in a temporary folder and renamed.

use crate::error::Error;
use hearth_base::{file, paths};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub struct Cache(PathBuf);

impl Cache {
    /// The user's cache: `~/.cache/hearth/vm` (see [`paths::cache`]).
    pub fn of_user() -> Result<Self, Error> {
        Cache::at(paths::cache("vm"))
    }

    fn at(folder: PathBuf) -> Result<Self, Error> {
        fs::create_dir_all(&folder).map_err(Error::file("make", &folder))?;
        Ok(Cache(folder))
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// The names in a folder of the cache.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }

    /// Acquires the lock that lets only one process fetch at a time.
    pub fn lock(&self) -> Result<File, Error> {
        let path = self.path("lock");
        let file = File::create(&path).map_err(Error::file("open", &path))?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|error| Error::file("lock", &path)(error.into()))?;
        Ok(file)
    }

    /// Creates a temporary folder for an entry; [`Cache::keep`] moves it into the cache.
    pub fn workplace(&self) -> Result<TempDir, Error> {
        tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&self.0)
            .map_err(Error::file("write into", &self.0))
    }

    /// Moves a folder into the cache under a name, replacing the previous entry.
    pub fn keep(&self, made: TempDir, name: &str) -> Result<PathBuf, Error> {
        let target = self.path(name);
        let made = made.keep();
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(Error::file("make", parent))?;
        }
        if target.exists() {
            fs::remove_dir_all(&target).map_err(Error::file("remove", &target))?;
        }
        let on_disk = File::open(&made).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        on_disk.and_then(|()| file::rename(&made, &target)).map_err(Error::file("rename", &made))?;
        Ok(target)
    }

    /// Stores a line of text under a name.
    pub fn remember(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.path(name);
        file::write(&path, text.as_bytes()).map_err(Error::file("write", &path))
    }

    pub fn recall(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("a/b")).unwrap();
        assert!(cache.names("things").is_empty());
        for content in ["one", "two"] {
            let made = cache.workplace().unwrap();
            fs::write(made.path().join("content"), content).unwrap();
            let kept = cache.keep(made, "things/x").unwrap();
            assert_eq!(fs::read_to_string(kept.join("content")).unwrap(), content);
        }
        assert_eq!(cache.names("things"), ["x"]);
        cache.remember("line", "text").unwrap();
        assert_eq!(cache.recall("line").as_deref(), Some("text"));
        assert_eq!(cache.recall("other"), None);
        drop(cache.lock().unwrap());
    }
}
