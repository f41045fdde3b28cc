//! "Did you mean ...?"

/// The candidate that `word` is most probably a misspelling of, if any is near enough.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Nobody misspells a word this long into a known one; and the search is quadratic.
    if word.len() > 40 {
        return None;
    }
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_lowercase()), candidate))
        // A word is not a misspelling of one with which it has nothing in common.
        .filter(|&(d, candidate)| d <= allowed && d < candidate.chars().count())
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn near_words_are_suggested() {
        let events = ["unblock", "block", "schedule", "newly_idle"];
        assert_eq!(closest("unblok", events), Some("unblock"));
        assert_eq!(closest("shcedule", events), Some("schedule"));
        assert_eq!(closest("NewlyIdle", events), Some("newly_idle"));
    }

    #[test]
    fn strange_words_are_not() {
        assert_eq!(closest("banana", ["block", "core"]), None);
        assert_eq!(closest("x", ["y", "in"]), None);
        assert_eq!(closest("", ["y"]), None);
    }
}
