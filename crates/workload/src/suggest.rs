//! "Did you mean": the nearest of the names that would have been right.

/// The candidate nearest to `word`, if it is near enough to be a slip of the hand.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = |s: &str| s.chars().count();
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        // A third of the letters wrong is still a slip; more is another word.
        .filter(|&(d, candidate)| d <= length(word).max(length(candidate)).div_ceil(3))
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        assert_eq!(nearest("confgure", ["barrier", "configure"]), Some("configure"));
        assert_eq!(nearest("tst", ["seed", "tests"]), Some("tests"));
        assert_eq!(nearest("xyz", ["barrier", "configure"]), None);
        assert_eq!(nearest("", ["barrier"]), None);
    }
}
