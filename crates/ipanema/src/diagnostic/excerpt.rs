//! Texts without most of their long lines.

use crate::syntax::span::boundary;
use std::ops::Range;

/// Longest line in bytes that is shown as a whole.
const LONG: usize = 240;
/// Bytes of a longer line that are shown on each side of an offset.
const AROUND: usize = 60;
/// What stands for bytes that are left out.
const MARK: &str = "…";

/// A text whose long lines are cut to what is near some offsets.
pub struct Excerpt {
    pub text: String,
    /// What is left out, in order.
    cuts: Vec<Range<usize>>,
}

impl Excerpt {
    pub fn new(text: &str, offsets: impl Iterator<Item = u32>) -> Excerpt {
        let mut offsets: Vec<usize> = offsets.map(|at| boundary(text, at as usize)).collect();
        offsets.sort_unstable();
        let mut cuts = Vec::new();
        for (i, &at) in offsets.iter().enumerate() {
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
            if end - start <= LONG {
                continue;
            }
            let before = i.checked_sub(1).map(|i| offsets[i]).filter(|before| *before >= start);
            let shown = before.map_or(start, |before| before + AROUND);
            cuts.push(boundary(text, shown)..boundary(text, at.saturating_sub(AROUND)));
            if offsets.get(i + 1).is_none_or(|next| *next > end) {
                cuts.push(boundary(text, at + AROUND)..end);
            }
        }
        cuts.retain(|cut| cut.start + MARK.len() < cut.end);
        Excerpt { text: without(text, &cuts), cuts }
    }

    pub fn is_shorter(&self) -> bool {
        !self.cuts.is_empty()
    }

    /// Where one of the offsets is in the excerpt.
    pub fn offset(&self, at: u32) -> u32 {
        let before = self.cuts.iter().take_while(|cut| cut.end <= at as usize);
        at - before.map(|cut| (cut.len() - MARK.len()) as u32).sum::<u32>()
    }
}

fn without(text: &str, cuts: &[Range<usize>]) -> String {
    let (mut short, mut from) = (String::new(), 0);
    for cut in cuts {
        short += &text[from..cut.start];
        short += MARK;
        from = cut.end;
    }
    short + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn offsets_keep_their_surroundings(
            text in "[a-z ]{0,700}\n?[a-zé🔥\n ]{0,900}",
            offsets in proptest::collection::vec(0..1700u32, 1..6),
        ) {
            let offsets: Vec<u32> =
                offsets.iter().map(|at| boundary(&text, *at as usize) as u32).collect();
            let excerpt = Excerpt::new(&text, offsets.iter().copied());
            prop_assert_eq!(excerpt.text.matches('\n').count(), text.matches('\n').count());
            for at in offsets {
                let cut = excerpt.offset(at) as usize;
                let after = |text: &str, at: usize| text[at..].chars().next();
                prop_assert_eq!(after(&excerpt.text, cut), after(&text, at as usize));
                let before = |text: &str, at: usize| text[..at].chars().next_back();
                prop_assert_eq!(before(&excerpt.text, cut), before(&text, at as usize));
                let line = excerpt.text[cut..].find('\n').unwrap_or(excerpt.text.len() - cut);
                prop_assert!(line <= LONG + 6 * (2 * AROUND + MARK.len()), "{} bytes of a line", line);
            }
        }
    }
}
