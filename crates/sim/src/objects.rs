//! The user's cache of compiled policies: shared objects, named by a hash of all that they were compiled from.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Number of objects that are kept, of some 30 KB each. The larger feature model has 2,496 products.
const MOST: usize = 4_000;

/// Where the object of these texts is, or will be.
pub struct Cached {
    folder: PathBuf,
    path: PathBuf,
}

impl Cached {
    /// `None` if the compiler does not start.
    pub fn of(compiler: &str, texts: &[&str]) -> Option<Cached> {
        Cached::in_folder(hearth_base::paths::cache("native"), compiler, texts)
    }

    fn in_folder(folder: PathBuf, compiler: &str, texts: &[&str]) -> Option<Cached> {
        let mut hash = blake3::Hasher::new();
        for text in texts.iter().chain([&version(compiler)?]) {
            hash.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        let path = folder.join(format!("{}.so", hash.finalize().to_hex()));
        Some(Cached { folder, path })
    }

    /// The object, if it exists. Other users cannot have written it: its folder is closed to them.
    pub fn object(&self) -> Option<&Path> {
        let folder = fs::metadata(&self.folder).ok()?;
        // SAFETY: no preconditions.
        let mine = folder.uid() == unsafe { libc::geteuid() } && folder.mode() & 0o077 == 0;
        (mine && self.path.is_file()).then_some(&*self.path)
    }

    /// Keeps a copy of an object.
    ///
    /// # Errors
    /// If the folder cannot be made or written.
    pub fn keep(&self, object: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.make_room()?;
        // Another process may do the same at this moment.
        hearth_base::file::write(&self.path, &fs::read(object)?)
    }

    /// Removes the older half of a full cache.
    fn make_room(&self) -> io::Result<()> {
        let files = fs::read_dir(&self.folder)?.filter_map(Result::ok);
        let mut files: Vec<(SystemTime, PathBuf)> =
            files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
        if files.len() >= MOST {
            files.sort();
            files[..MOST / 2].iter().for_each(|(_, path)| drop(fs::remove_file(path)));
        }
        Ok(())
    }
}

/// What the compiler says about itself: an update may change the code.
fn version(compiler: &str) -> Option<&'static str> {
    static VERSION: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        let output = Command::new(compiler).arg("--version").output().ok()?;
        Some(format!("{compiler} {}", String::from_utf8_lossy(&output.stdout)))
    };
    VERSION.get_or_init(ask).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn cached(folder: &Path, text: &str) -> Cached {
        Cached::in_folder(folder.join("native"), "cc", &[text]).expect("there is a C compiler")
    }

    #[test]
    fn an_object_is_kept_for_its_texts_only() {
        let folder = tempfile::tempdir().unwrap();
        let object = folder.path().join("policy.so");
        fs::write(&object, "object").unwrap();
        assert_eq!(cached(folder.path(), "a").object(), None);
        cached(folder.path(), "a").keep(&object).unwrap();
        assert_eq!(fs::read(cached(folder.path(), "a").object().unwrap()).unwrap(), b"object");
        assert_eq!(cached(folder.path(), "b").object(), None);
    }

    #[test]
    fn a_folder_that_is_open_to_others_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let object = folder.path().join("policy.so");
        fs::write(&object, "object").unwrap();
        let cached = cached(folder.path(), "a");
        cached.keep(&object).unwrap();
        fs::set_permissions(&cached.folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(cached.object(), None);
    }

    #[test]
    fn a_full_cache_loses_its_older_half() {
        let folder = tempfile::tempdir().unwrap();
        let cached = cached(folder.path(), "a");
        fs::create_dir(&cached.folder).unwrap();
        (0..MOST).for_each(|n| fs::write(cached.folder.join(format!("{n:04}")), "").unwrap());
        let object = folder.path().join("policy.so");
        fs::write(&object, "object").unwrap();
        cached.keep(&object).unwrap();
        assert_eq!(fs::read_dir(&cached.folder).unwrap().count(), MOST / 2 + 1);
    }
}
