//! A policy with one change.

use hearth_modelcheck::Faults;
use serde::Serialize;

use crate::operator::Operator;

/// The change of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new text for one of the subject's sources.
    Text { source: usize, text: String },
    /// Faults of the steal algorithm.
    Faults(Faults),
}

/// A mutant, and how to show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    pub file: String,
    pub line: usize,
    /// The handler, function or steal that it changes.
    pub part: String,
    pub operator: Operator,
    /// The first changed line without indentation.
    pub before: String,
    /// The same line after the change.
    pub after: String,
    #[serde(skip)]
    pub change: Change,
}

/// Replaces a byte range of a text. Returns the number of the first changed line, the line before and after the
/// change, and the new text.
pub(crate) fn edit(text: &str, range: std::ops::Range<usize>, new: &str) -> (usize, String, String, String) {
    let changed = format!("{}{new}{}", &text[..range.start], &text[range.end..]);
    // The edit may begin with unchanged bytes.
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
