//! Tokens, and the comments between them.

use super::span::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// Is it the first token on its line?
    pub starts_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    pub kind: CommentKind,
    /// Without the line end.
    pub span: Span,
    /// Index of the first token behind it.
    pub before: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `/// ...`, alone on its line.
    Doc,
    /// `// ...`
    Line,
    /// `/* ... */`
    Block,
}

/// Does a comment look like documentation, wherever it stands? (A line of `/////` does not.)
pub fn looks_like_doc(comment: &str) -> bool {
    comment.starts_with("///") && !comment.starts_with("////")
}

/// Defines the tokens that always have the same text.
macro_rules! fixed_tokens {
    ($($name:ident $text:literal)*; $($keyword:ident $word:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TokenKind {
            /// A word that is no keyword.
            Ident,
            /// Digits, perhaps with a fraction and a unit.
            Number,
            /// A character that means nothing; already reported.
            Unknown,
            /// The end of the text; behind it comes nothing else.
            End,
            $($name,)*
            $($keyword,)*
        }

        impl TokenKind {
            /// The text, if it is always the same.
            pub fn text(self) -> Option<&'static str> {
                match self {
                    $(TokenKind::$name => Some($text),)*
                    $(TokenKind::$keyword => Some($word),)*
                    _ => None,
                }
            }

            pub fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$keyword)|*)
            }

            pub fn keyword(word: &str) -> Option<TokenKind> {
                match word {
                    $($word => Some(TokenKind::$keyword),)*
                    _ => None,
                }
            }
        }

        /// All keywords. No other word is reserved: `from`, `max`, event names and the like are
        /// only special where the grammar wants them.
        pub const KEYWORDS: &[&str] = &[$($word),*];
    };
}

fixed_tokens! {
    LeftBrace "{"
    RightBrace "}"
    LeftParen "("
    RightParen ")"
    Comma ","
    Semicolon ";"
    Colon ":"
    Question "?"
    Dot "."
    DotDot ".."
    Assign "="
    AddAssign "+="
    SubAssign "-="
    BecomesArrow "=>"
    OrOr "||"
    AndAnd "&&"
    EqEq "=="
    NotEq "!="
    Less "<"
    LessEq "<="
    Greater ">"
    GreaterEq ">="
    Or "|"
    And "&"
    Plus "+"
    Minus "-"
    Star "*"
    Slash "/"
    Percent "%"
    Not "!"
    // Not of the language; lexed so that the parser can say what to write instead.
    PointerArrow "->"
    PlusPlus "++"
    MinusMinus "--";

    Policy "policy"
    Extends "extends"
    Param "param"
    Global "global"
    Queue "queue"
    On "on"
    Steal "steal"
    Invariant "invariant"
    Bool "bool"
    Int "int"
    Time "time"
    Frequency "frequency"
    Load "load"
    Core "core"
    Thread "thread"
    Domain "domain"
    Set "set"
    Void "void"
    If "if"
    Else "else"
    For "for"
    In "in"
    Break "break"
    Continue "continue"
    Return "return"
    Because "because"
    Super "super"
    True "true"
    False "false"
    None "none"
}
