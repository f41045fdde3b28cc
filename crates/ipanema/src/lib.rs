//! The Ipanema language: parser, checks, typed IR and emitters.
//!
//! Passes: text -> syntax tree ([`syntax`]) -> merging of bases ([`resolve`]) -> resolution of
//! names, types and units ([`ir`]) -> checks -> emitters ([`emit`]). [`compile`](fn@compile) runs
//! all except the last. The crate does no I/O; source texts come from a [`SourceProvider`].

pub mod builtin;
mod check;
pub mod codes;
mod compile;
pub mod diagnostic;
pub mod emit;
pub mod ir;
pub mod library;
pub mod resolve;
pub mod syntax;
mod types;
mod unit;
mod uses;

pub use compile::{Analysis, Compiled, Failed, analyse, compile};
pub use diagnostic::Diagnostic;
pub use resolve::SourceProvider;
pub use syntax::{SourceId, Sources, Span};
pub use unit::Unit;
pub use uses::{Meaning, Use};
