//! What the names in a policy mean: for editors.

use crate::library::Word;
use crate::syntax::Span;

/// A name in a text, and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub span: Span,
    pub meaning: Meaning,
}

#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// The name at this place of its declaration, maybe in another text.
    Declared(Span),
    /// A word of the library.
    Word(&'static Word),
}

impl Meaning {
    /// Place of the declaration, if there is one.
    pub fn declared(self) -> Option<Span> {
        match self {
            Meaning::Declared(span) => Some(span),
            Meaning::Word(_) => None,
        }
    }
}
