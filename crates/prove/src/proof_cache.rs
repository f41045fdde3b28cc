//! What was proved before. A part of an obligation that reads as one that was proved is not proved again: after a
//! change of one line of a policy, most parts do.

use hearth_base::file;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::Xxh3Default;

/// A text, and who proves it.
pub(crate) type Key = u128;

/// More parts than this are not kept in a file (50 policies as large as Nest): the next run begins anew.
const MOST: usize = 100_000;

/// Parts that were proved, shared by all clones. It holds no failures: those may be for want of time.
#[derive(Clone, Debug, Default)]
pub struct ProofCache(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    proved: Mutex<BTreeMap<Key, String>>,
    /// Keys of the file that it was loaded from.
    earlier: BTreeSet<Key>,
    used: AtomicUsize,
}

impl ProofCache {
    /// What a file says, as [`ProofCache::save`] writes it. What is not there or damaged is not known.
    pub fn load(path: &Path) -> ProofCache {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = |line: &str| {
            let (key, prover) = line.split_once(' ')?;
            (key.len() == 32).then_some((Key::from_str_radix(key, 16).ok()?, prover.to_owned()))
        };
        let proved: BTreeMap<_, _> = text.lines().take(MOST + 1).filter_map(line).collect();
        let earlier = proved.keys().copied().collect();
        ProofCache(Arc::new(Inner { proved: Mutex::new(proved), earlier, ..Inner::default() }))
    }

    /// Adds all to a file. What another run has put there since stays.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut all = ProofCache::load(path).proved().clone();
        all.extend(self.proved().iter().map(|(key, prover)| (*key, prover.clone())));
        if all.len() > MOST {
            all.clone_from(&self.proved());
        }
        fs::create_dir_all(file::folder(path))?;
        let text: String = all.iter().map(|(key, prover)| format!("{key:032x} {prover}\n")).collect();
        file::write(path, text.as_bytes())
    }

    /// How many answers it gave from the file.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    pub(crate) fn prover(&self, key: Key) -> Option<String> {
        let prover = self.proved().get(&key).cloned();
        self.0.used.fetch_add(usize::from(self.0.earlier.contains(&key)), Ordering::Relaxed);
        prover
    }

    pub(crate) fn add(&self, key: Key, prover: &str) {
        self.proved().insert(key, prover.to_owned());
    }

    fn proved(&self) -> MutexGuard<'_, BTreeMap<Key, String>> {
        self.0.proved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of several texts: no two lists have the same but by a chance of 2^-128.
pub(crate) fn key(texts: &[&str]) -> Key {
    let mut hash = Xxh3Default::new();
    for text in texts {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_known_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/proofs");
        let [first, second] = [ProofCache::default(), ProofCache::default()];
        first.add(1, "z3");
        second.add(Key::MAX, "z3 + cvc4");
        first.save(&path).expect("it is saved");
        second.save(&path).expect("it is saved");
        let known = ProofCache::load(&path);
        assert_eq!(known.prover(1).as_deref(), Some("z3"));
        assert_eq!(known.prover(Key::MAX).as_deref(), Some("z3 + cvc4"));
        known.add(2, "z3");
        assert_eq!((known.prover(2).as_deref(), known.prover(3)), (Some("z3"), None));
        assert_eq!(known.used(), 2, "the third was proved now");
    }

    #[test]
    fn a_damaged_file_says_less() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("proofs");
        fs::write(&path, format!("{:032x} z3\n1 z3\nnonsense\n{:031x}", 7, 8)).expect("a file");
        assert_eq!(ProofCache::load(&path).proved().len(), 1);
    }

    #[test]
    fn where_a_text_ends_matters() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
