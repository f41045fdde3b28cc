//! The Ipanema language: syntax, checks, typed IR and emitters.
//!
//! A line of passes: text -> [`syntax`] tree -> bases merged in ([`resolve`]) -> names, types and
//! units ([`ir`]) -> checks -> emitters ([`emit`]). [`compile`](fn@compile) runs all but the last.
//! The crate does no input or output; texts come from a [`SourceProvider`].

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

pub use compile::{Compiled, Failed, compile};
pub use diagnostic::Diagnostic;
pub use resolve::SourceProvider;
pub use syntax::{SourceId, Sources, Span};
pub use unit::Unit;
