//! What every crate of Hearth may need and none of them is about.
//!
//! - [`suggest`]: "did you mean …?"
//! - [`file`]: files that are either whole or absent.
//! - [`paths`]: the folder of installed files, and the user's cache.

pub mod file;
pub mod paths;
pub mod suggest;
