//! Cache of proofs, so that after a change of a policy only the affected goals and parts are proved again.
//!
//! A key is a cryptographic hash of what a prover reads, and of the versions and limits of all tools: no two goals
//! share one. The file is readable text in the user's cache folder. Each line carries a tag made with a secret
//! that never leaves that folder, so an entry that was damaged, edited or copied from elsewhere is ignored.

use hearth_base::file;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Hash of a goal or part.
pub(crate) type Key = [u8; 32];

/// Maximum number of entries in the file: 50 policies as large as Nest. A larger cache starts anew.
const MOST: usize = 100_000;

/// In place of a prover: an attempt that failed.
const OPEN: &str = "open";

/// Proofs, shared by all clones, and failed attempts of provers. A failed attempt depends on the text and on a limit in
/// steps, which are both part of its key.
#[derive(Clone, Debug, Default)]
pub struct ProofCache(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Provers by key.
    proved: Mutex<BTreeMap<Key, String>>,
    /// Keys that were loaded from the file.
    loaded: BTreeSet<Key>,
    used: AtomicUsize,
}

impl ProofCache {
    /// Loads a file written by [`ProofCache::save`]. Lines without a valid tag are ignored, and so is a missing file.
    pub fn load(path: &Path) -> ProofCache {
        let Some(secret) = read_secret(path) else { return ProofCache::default() };
        let text = fs::read_to_string(path).unwrap_or_default();
        let proved: BTreeMap<_, _> =
            text.lines().take(MOST + 1).filter_map(|line| entry(line, &secret)).collect();
        let loaded = proved.keys().copied().collect();
        ProofCache(Arc::new(Inner { proved: Mutex::new(proved), loaded, ..Inner::default() }))
    }

    /// Adds all entries to a file. Entries that another process has added meanwhile are kept.
    ///
    /// # Errors
    /// The file or the secret beside it cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(file::folder(path))?;
        let secret = secret(path)?;
        let mut all = ProofCache::load(path).proved().clone();
        all.extend(self.proved().iter().map(|(key, prover)| (*key, prover.clone())));
        if all.len() > MOST {
            all.clone_from(&self.proved());
        }
        let text: String = all.iter().map(|(key, prover)| line(key, prover, &secret)).collect();
        file::write(path, text.as_bytes())
    }

    /// Number of answers that came from the file.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    pub(crate) fn prover(&self, key: Key) -> Option<String> {
        let prover = self.proved().get(&key).filter(|entry| *entry != OPEN).cloned()?;
        self.0.used.fetch_add(usize::from(self.0.loaded.contains(&key)), Ordering::Relaxed);
        Some(prover)
    }

    pub(crate) fn add(&self, key: Key, prover: &str) {
        self.proved().insert(key, prover.to_owned());
    }

    /// Whether an attempt with this key failed before. Its key is never that of a proof.
    pub(crate) fn fails(&self, key: Key) -> bool {
        self.proved().get(&key).is_some_and(|entry| entry == OPEN)
    }

    pub(crate) fn add_failure(&self, key: Key) {
        self.add(key, OPEN);
    }

    fn proved(&self) -> MutexGuard<'_, BTreeMap<Key, String>> {
        self.0.proved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hash of a list of texts. The lengths are part of it.
pub(crate) fn key(texts: &[&str]) -> Key {
    let mut hash = blake3::Hasher::new();
    for text in texts {
        hash.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    *hash.finalize().as_bytes()
}

fn line(key: &Key, prover: &str, secret: &Key) -> String {
    let key = blake3::Hash::from_bytes(*key).to_hex();
    let tag = blake3::keyed_hash(secret, format!("{key} {prover}").as_bytes()).to_hex();
    format!("{tag} {key} {prover}\n")
}

fn entry(line: &str, secret: &Key) -> Option<(Key, String)> {
    let (tag, signed) = line.split_once(' ')?;
    let (key, prover) = signed.split_once(' ')?;
    // The comparison of hashes takes constant time.
    let valid = blake3::keyed_hash(secret, signed.as_bytes()) == blake3::Hash::from_hex(tag).ok()?;
    valid.then_some((*blake3::Hash::from_hex(key).ok()?.as_bytes(), prover.to_owned()))
}

fn secret_path(path: &Path) -> PathBuf {
    path.with_extension("secret")
}

fn read_secret(path: &Path) -> Option<Key> {
    fs::read(secret_path(path)).ok()?.try_into().ok()
}

/// The secret, made on first use. Only the user can read it.
fn secret(path: &Path) -> io::Result<Key> {
    if let Some(secret) = read_secret(path) {
        return Ok(secret);
    }
    let mut secret = Key::default();
    getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
    let folder = file::folder(path);
    let made = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o600)).tempfile_in(folder)?;
    fs::write(made.path(), secret)?;
    // A secret that another process made meanwhile wins, since its entries may be saved already.
    match made.persist_noclobber(secret_path(path)) {
        Ok(_) => Ok(secret),
        Err(failed) => read_secret(path).ok_or(failed.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(proofs: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/proofs");
        let cache = ProofCache::default();
        proofs.iter().for_each(|(goal, prover)| cache.add(key(&[goal]), prover));
        cache.save(&path).expect("it is saved");
        (folder, path)
    }

    #[test]
    fn saved_proofs_are_loaded() {
        let (_folder, path) = saved(&[("a", "z3")]);
        let second = ProofCache::default();
        second.add(key(&["b"]), "z3 + cvc4");
        second.save(&path).expect("it is saved");
        let cache = ProofCache::load(&path);
        assert_eq!(cache.prover(key(&["a"])).as_deref(), Some("z3"));
        assert_eq!(cache.prover(key(&["b"])).as_deref(), Some("z3 + cvc4"));
        cache.add(key(&["c"]), "z3");
        assert_eq!((cache.prover(key(&["c"])).as_deref(), cache.prover(key(&["d"]))), (Some("z3"), None));
        assert_eq!(cache.used(), 2, "the third was proved now");
    }

    #[test]
    fn a_failed_attempt_is_no_proof() {
        let (_folder, path) = saved(&[("a", OPEN), ("b", "z3")]);
        let cache = ProofCache::load(&path);
        assert_eq!(
            [cache.fails(key(&["a"])), cache.fails(key(&["b"])), cache.fails(key(&["c"]))],
            [true, false, false]
        );
        assert_eq!((cache.prover(key(&["a"])), cache.used()), (None, 0));
    }

    #[test]
    fn an_edited_entry_is_ignored() {
        let (_folder, path) = saved(&[("a", "z3"), ("b", "z3")]);
        let text = fs::read_to_string(&path).expect("a file");
        let forged = blake3::Hash::from_bytes(key(&["forged"])).to_hex();
        let honest = blake3::Hash::from_bytes(key(&["a"])).to_hex();
        fs::write(&path, text.replace(honest.as_str(), forged.as_str()) + "nonsense\n").expect("a file");
        let cache = ProofCache::load(&path);
        assert_eq!(cache.prover(key(&["forged"])), None);
        assert_eq!(cache.proved().len(), 1);
    }

    #[test]
    fn entries_of_another_user_are_ignored() {
        let (_mine, path) = saved(&[("a", "z3")]);
        let (_other, foreign) = saved(&[("a", "z3"), ("b", "z3")]);
        fs::copy(foreign, &path).expect("a copy");
        assert_eq!(ProofCache::load(&path).proved().len(), 0);
    }

    #[test]
    fn only_the_user_reads_the_secret() {
        let (_folder, path) = saved(&[]);
        let mode = fs::metadata(secret_path(&path)).expect("a secret").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_boundaries_of_texts_are_part_of_the_key() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
