//! "Did you mean …?": the known name that a misspelled one most probably stands for.

use crate::file;
use std::fs;
use std::path::{Path, PathBuf};

/// Longer words are not compared: the edit distance takes quadratic time.
const MAX_LENGTH: usize = 40;

/// The candidate closest to `word`, or `None` if none is close.
///
/// Close means: an edit distance (with transpositions) of at most a third of the longer word and at
/// most 3, but less than the length of the candidate. Otherwise, a candidate that contains `word`, if
/// there is exactly one. Upper and lower case count as equal.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase();
    if word.is_empty() || word.len() > MAX_LENGTH {
        return None;
    }
    let candidates: Vec<&str> = candidates.into_iter().collect();
    misspelled(&word, &candidates).or_else(|| abbreviated(&word, &candidates))
}

fn misspelled<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let length = word.chars().count();
    let close = candidates.iter().filter_map(|&candidate| {
        let distance = strsim::osa_distance(word, &candidate.to_lowercase());
        let candidate_length = candidate.chars().count();
        let allowed = (length.max(candidate_length) / 3).clamp(1, 3);
        (distance <= allowed && distance < candidate_length).then_some((distance, candidate))
    });
    close.min_by_key(|&(distance, _)| distance).map(|(_, candidate)| candidate)
}

/// A single letter is part of too many names to mean one of them.
fn abbreviated<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    if word.chars().count() < 3 {
        return None;
    }
    let mut containing = candidates.iter().filter(|candidate| candidate.to_lowercase().contains(word));
    match (containing.next(), containing.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Files of a folder that are compared.
const MOST_FILES: usize = 10_000;

/// The file or folder beside `path` whose name is closest to that of `path`, which does not exist.
pub fn closest_file(path: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(file::folder(path)).ok()?.take(MOST_FILES);
    let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let near = closest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_corrected() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("build.trace"), "").unwrap();
        let near = |name: &str| closest_file(&folder.path().join(name));
        assert_eq!(near("biuld.trace"), Some(folder.path().join("build.trace")));
        assert_eq!(near("build"), Some(folder.path().join("build.trace")));
        assert_eq!(near("other.json"), None);
        assert_eq!(closest_file(Path::new("/no/such/folder/build.trace")), None);
    }

    #[test]
    fn misspellings_are_corrected() {
        let events = ["unblock", "block", "schedule", "newly_idle"];
        assert_eq!(closest("unblok", events), Some("unblock"));
        assert_eq!(closest("shcedule", events), Some("schedule"));
        assert_eq!(closest("NewlyIdle", events), Some("newly_idle"));
        let names = ["xeon-5218", "xeon-5220", "ryzen-3400g"];
        assert_eq!(closest("xeon-5128", names), Some("xeon-5218"));
        assert_eq!(closest("tst", ["seed", "tests"]), None);
    }

    #[test]
    fn abbreviations_of_one_candidate_are_completed() {
        let names = ["xeon-5218", "xeon-5220", "ryzen-3400g"];
        assert_eq!(closest("3400", names), Some("ryzen-3400g"));
        assert_eq!(closest("xeon", names), None);
    }

    #[test]
    fn other_words_are_not() {
        assert_eq!(closest("banana", ["block", "core"]), None);
        assert_eq!(closest("x", ["y", "in"]), None);
        assert_eq!(closest("", ["y"]), None);
        assert_eq!(closest(&"a".repeat(1 << 20), ["a"]), None);
    }
}
