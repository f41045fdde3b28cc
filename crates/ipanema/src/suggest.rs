//! "Did you mean ...?"

/// The candidate that `word` is most probably a misspelling of, if any is near enough.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Nobody misspells a word this long into a known one; and the search is quadratic.
    if word.len() > 40 {
        return None;
    }
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        // A word is not a misspelling of one with which it has nothing in common.
        .filter(|&(d, candidate)| d <= allowed && d < candidate.chars().count())
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other,
/// whatever their case.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let substitution = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitution.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
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
