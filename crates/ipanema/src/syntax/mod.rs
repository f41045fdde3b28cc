//! Lexer, parser and formatter.

pub mod ast;
pub mod codes;
mod format;
pub mod lexer;
mod literal;
mod parser;
mod precedence;
pub(crate) mod span;
pub mod token;

pub use format::{format, print};
pub use parser::{Parsed, parse};
pub use span::{Source, SourceId, Sources, Span};
