//! A policy with one change.

use hearth_modelcheck::Faults;
use serde::Serialize;

use crate::operator::Operator;

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// One of the subject's texts; the others stay.
    Text { source: usize, text: String },
    /// Something that no policy can be written to have.
    Faults(Faults),
}

/// A mutant, and how to show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    pub file: String,
    pub line: usize,
    pub operator: Operator,
    /// The line that changes, and what becomes of it, without indentation. Where something longer is
    /// left out, its first line.
    pub before: String,
    pub after: String,
    #[serde(skip)]
    pub change: Change,
}

/// Replaces a range of bytes of a text, and finds the line that shows it.
pub(crate) fn edit(text: &str, range: std::ops::Range<usize>, new: &str) -> (usize, String, String, String) {
    let changed = format!("{}{new}{}", &text[..range.start], &text[range.end..]);
    // The first byte that is another: the edit may begin with what stays as it was.
    let same = text.bytes().zip(changed.bytes()).take_while(|(a, b)| a == b).count();
    let at = same.clamp(range.start, range.end.max(range.start));
    let line = text[..at].matches('\n').count();
    let show = |text: &str| text.lines().nth(line).unwrap_or("").trim().to_owned();
    let (before, mut after) = (show(text), show(&changed));
    if text[range].contains('\n') {
        after += " ...";
    }
    (line + 1, before, after, changed)
}
