//! "Did you mean": the nearest of the names that would have been right.

/// The candidate nearest to `word`, if it is near enough to be a slip of the hand.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = |s: &str| s.chars().count();
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        // A third of the letters wrong is still a slip; more is another word.
        .filter(|&(d, candidate)| d <= length(word).max(length(candidate)).div_ceil(3))
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of
/// neighbours each count 1.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let substitution = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kbuild", "kbiuld"), 1);
        assert_eq!(nearest("confgure", ["barrier", "configure"]), Some("configure"));
        assert_eq!(nearest("tst", ["seed", "tests"]), Some("tests"));
        assert_eq!(nearest("xyz", ["barrier", "configure"]), None);
        assert_eq!(nearest("", ["barrier"]), None);
    }
}
