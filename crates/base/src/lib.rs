//! What every crate of Hearth may need and none of them is about.
//!
//! - [`colour`]: the table of colours that all pages and plots share.
//! - [`constants`]: numbers that the C of the runtime and several crates share.
//! - [`svg`]: drawings of plots.
//! - [`escape`]: text that crosses into another language: C, WhyML, HTML, SQL, terminals.
//! - [`suggest`]: "did you mean …?"
//! - [`mod@file`]: files that are either whole or absent.
//! - [`paths`]: the folder of installed files, and the user's cache. [`cache`]: what is compiled and kept there.
//! - [`rights`]: capabilities that this process lacks.
//! - [`environment`]: variables that choose code, if they can be believed.

pub mod cache;
pub mod colour;
pub mod constants;
pub mod environment;
pub mod escape;
pub mod file;
pub mod paths;
pub mod rights;
pub mod suggest;
pub mod svg;
