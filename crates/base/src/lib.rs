//! What every crate of Hearth may need and none of them is about.
//!
//! - [`colour`]: the table of colours that all pages and plots share.
//! - [`constants`]: numbers that the C of the runtime and several crates share.
//! - [`svg`]: drawings of plots, and [`xml`]: text in them and in pages.
//! - [`suggest`]: "did you mean …?"
//! - [`mod@file`]: files that are either whole or absent.
//! - [`paths`]: the folder of installed files, and the user's cache.

pub mod colour;
pub mod constants;
pub mod file;
pub mod paths;
pub mod suggest;
pub mod svg;
pub mod xml;
