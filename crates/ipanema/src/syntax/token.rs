//! Tokens and comments.

use super::span::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// True for the first token on its line.
    pub starts_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    pub kind: CommentKind,
    /// Without the line end.
    pub span: Span,
    /// Index of the first token after it.
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

/// True if a comment starts like documentation. (A line of `/////` does not.)
pub fn looks_like_doc(comment: &str) -> bool {
    comment.starts_with("///") && !comment.starts_with("////")
}

/// Defines the tokens with a fixed text.
macro_rules! fixed_tokens {
    ($($name:ident $text:literal)*; $($keyword:ident $word:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TokenKind {
            /// A word that is not a keyword.
            Ident,
            /// Digits, with an optional fraction and unit.
            Number,
            /// An invalid character, already reported by the lexer.
            Unknown,
            /// End of the text; always the last token.
            End,
            $($name,)*
            $($keyword,)*
        }

        impl TokenKind {
            /// Fixed text of the token, if it has one.
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

        /// All keywords. Other words, such as `from`, `max` and event names, are special only in
        /// context.
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
    // Not part of the language; recognised for better error messages.
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
