//! The user's cache of what was compiled: entries that only this user can have written, each for one key.
//!
//! An entry is its content and a tag of 32 bytes: the hash of the key and the content. So a damaged entry, or the entry of
//! another key under this name, is no entry. The folder is closed to others, because its entries become code.

use crate::{file, paths};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const TAG: usize = blake3::OUT_LEN;

/// A folder of entries.
pub struct Cache {
    folder: PathBuf,
    extension: &'static str,
    /// Number of entries that are kept.
    most: usize,
}

/// What an entry was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of these texts in this order.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hash = blake3::Hasher::new();
        for text in texts {
            hash.update(&(text.len() as u64).to_le_bytes()).update(text);
        }
        Key(hash.finalize())
    }

    fn tag(self, content: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(self.0.as_bytes(), content)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl Cache {
    /// The folder `name` in the user's cache. Files end with `.extension`.
    pub fn of_user(name: &str, extension: &'static str, most: usize) -> Cache {
        Cache::at(paths::cache(name), extension, most)
    }

    pub fn at(folder: PathBuf, extension: &'static str, most: usize) -> Cache {
        Cache { folder, extension, most }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the entry of a key is, or will be.
    pub fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{key}.{}", self.extension))
    }

    /// The content of an entry, if this user wrote it for this key.
    pub fn read(&self, key: Key) -> Option<Vec<u8>> {
        is_private(&self.folder).then_some(())?;
        // A FIFO would wait for its writer.
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let mut file = File::options().read(true).custom_flags(flags).open(self.path(key)).ok()?;
        let meta = file.metadata().ok()?;
        (meta.is_file() && is_mine(&meta)).then_some(())?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).ok()?;
        let tag = content.split_off(content.len().checked_sub(TAG)?);
        (key.tag(&content) == *<&[u8; TAG]>::try_from(tag.as_slice()).ok()?).then_some(content)
    }

    /// Keeps an entry, and makes room for it.
    ///
    /// # Errors
    /// The folder cannot be made or written, or others can write it.
    pub fn keep(&self, key: Key, content: &[u8]) -> io::Result<()> {
        make_private(&self.folder)?;
        self.make_room()?;
        // Another process may do the same at this moment.
        file::write(&self.path(key), &[content, key.tag(content).as_bytes()].concat())
    }

    /// Removes the older half of a full cache.
    fn make_room(&self) -> io::Result<()> {
        let files = fs::read_dir(&self.folder)?.filter_map(Result::ok);
        let mut files: Vec<(SystemTime, PathBuf)> =
            files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path()))).collect();
        if files.len() >= self.most {
            files.sort();
            files[..self.most / 2].iter().for_each(|(_, path)| drop(fs::remove_file(path)));
        }
        Ok(())
    }
}

/// Whether the folder is this user's, and closed to others. Then only this user can have written what is in it.
pub fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder)
        .is_ok_and(|folder| folder.is_dir() && is_mine(&folder) && folder.mode() & 0o077 == 0)
}

/// Makes a private folder, unless there is one.
///
/// # Errors
/// It cannot be made, or is not [private](is_private).
pub fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if !is_private(folder) {
        return Err(io::Error::other(format!("{} is open to other users", folder.display())));
    }
    Ok(())
}

fn is_mine(meta: &fs::Metadata) -> bool {
    // SAFETY: no preconditions.
    meta.uid() == unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn key(text: &str) -> Key {
        Key::of([text.as_bytes()])
    }

    fn cache(folder: &tempfile::TempDir) -> Cache {
        Cache::at(folder.path().join("objects"), "so", 100)
    }

    #[test]
    fn an_entry_is_kept_for_its_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder);
        assert_eq!(cache.read(key("a")), None);
        cache.keep(key("a"), b"object").unwrap();
        assert_eq!(cache.read(key("a")).unwrap(), b"object");
        assert_eq!(cache.read(key("b")), None);
        // Of another policy.
        fs::copy(cache.path(key("a")), cache.path(key("b"))).unwrap();
        assert_eq!(cache.read(key("b")), None);
        assert_ne!(Key::of([b"ab".as_slice(), b"c"]), Key::of([b"a".as_slice(), b"bc"]));
    }

    #[test]
    fn a_damaged_entry_is_none_and_can_be_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder);
        for damage in [b"garbage".as_slice(), b"", &[7; 100]] {
            cache.keep(key("a"), b"object").unwrap();
            fs::write(cache.path(key("a")), damage).unwrap();
            assert_eq!(cache.read(key("a")), None);
        }
        cache.keep(key("a"), b"object").unwrap();
        assert_eq!(cache.read(key("a")).unwrap(), b"object");
    }

    #[test]
    fn what_others_can_write_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder);
        cache.keep(key("a"), b"object").unwrap();
        for mode in [0o755, 0o770, 0o707] {
            fs::set_permissions(&cache.folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache.read(key("a")), None, "{mode:o}");
            assert!(cache.keep(key("a"), b"object").is_err());
        }
        fs::set_permissions(&cache.folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(cache.read(key("a")).is_some());
        // SAFETY: no preconditions. Only root can give a file away.
        if unsafe { libc::geteuid() } == 0 {
            std::os::unix::fs::chown(cache.path(key("a")), Some(65534), None).unwrap();
            assert_eq!(cache.read(key("a")), None);
        }
        fs::rename(&cache.folder, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &cache.folder).unwrap();
        assert_eq!(cache.read(key("a")), None, "a symbolic link");
    }

    #[test]
    fn a_full_cache_loses_its_older_half() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(&folder);
        cache.keep(key("first"), b"").unwrap();
        (1..cache.most).for_each(|n| fs::write(cache.folder.join(format!("{n:04}")), "").unwrap());
        cache.keep(key("a"), b"object").unwrap();
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), cache.most / 2 + 1);
        assert!(cache.read(key("a")).is_some());
    }
}
