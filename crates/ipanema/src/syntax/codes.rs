//! Codes of diagnostics of the lexer and the parser.

use crate::diagnostic::Code;

pub const SOURCE_TOO_LARGE: Code = Code::new("E0101", "source text too large");
pub const UNKNOWN_CHARACTER: Code = Code::new("E0102", "invalid character");
pub const OPEN_COMMENT: Code = Code::new("E0103", "unterminated comment");
pub const BAD_LITERAL: Code = Code::new("E0104", "malformed or unrepresentable literal");

pub const UNEXPECTED: Code = Code::new("E0201", "unexpected token");
pub const MISSING_SEMICOLON: Code = Code::new("E0202", "missing `;`");
pub const UNCLOSED: Code = Code::new("E0203", "missing closing bracket");
pub const NOT_IPANEMA: Code = Code::new("E0204", "construct of another language");
pub const ASSIGN_IN_CONDITION: Code = Code::new("E0205", "`=` instead of `==`");
pub const CHAINED_COMPARISON: Code = Code::new("E0206", "chained comparison");
pub const TOO_DEEP: Code = Code::new("E0207", "nested too deeply");
pub const NO_EFFECT: Code = Code::new("E0208", "statement without effect");
pub const BAD_TARGET: Code = Code::new("E0209", "invalid target of an assignment or transition");
pub const BAD_OPTIONAL: Code = Code::new("E0210", "type that cannot be optional");
pub const STEAL_PHASES: Code = Code::new("E0211", "phases of a steal out of order");
pub const RESERVED: Code = Code::new("E0212", "keyword used as a name");
pub const UNKNOWN_EVENT: Code = Code::new("E0213", "unknown event");
pub const TOO_MANY: Code = Code::new("E0299", "too many errors");

pub const STRAY_DOC: Code = Code::new("W0101", "stray documentation comment");

/// All codes in order, for the language reference.
pub const ALL: &[Code] = &[
    SOURCE_TOO_LARGE,
    UNKNOWN_CHARACTER,
    OPEN_COMMENT,
    BAD_LITERAL,
    UNEXPECTED,
    MISSING_SEMICOLON,
    UNCLOSED,
    NOT_IPANEMA,
    ASSIGN_IN_CONDITION,
    CHAINED_COMPARISON,
    TOO_DEEP,
    NO_EFFECT,
    BAD_TARGET,
    BAD_OPTIONAL,
    STEAL_PHASES,
    RESERVED,
    UNKNOWN_EVENT,
    TOO_MANY,
    STRAY_DOC,
];
