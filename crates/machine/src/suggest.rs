//! "Did you mean …?"

/// The candidate closest to `word`, if it is close enough to be a slip.
///
/// Close enough: the edit distance is at most a third of the longer of the two,
/// or `word` is a part of exactly one candidate.
pub(crate) fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let (distance, best) =
        candidates.iter().map(|c| (strsim::osa_distance(&word, c), *c)).min_by_key(|&(d, _)| d)?;
    if distance * 3 <= word.len().max(best.len()) {
        return Some(best);
    }
    let mut containing = candidates.iter().filter(|c| !word.is_empty() && c.contains(word.as_str()));
    match (containing.next(), containing.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_corrected_and_nonsense_is_not() {
        let names = ["xeon-5218", "xeon-5220", "ryzen-3400g"];
        assert_eq!(closest("xeon-5128", &names), Some("xeon-5218"));
        assert_eq!(closest("Ryzen-3400G", &names), Some("ryzen-3400g"));
        assert_eq!(closest("3400", &names), Some("ryzen-3400g"));
        assert_eq!(closest("sparc", &names), None);
        assert_eq!(closest("", &names), None);
    }
}
