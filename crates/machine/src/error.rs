//! What can go wrong between a machine's name and a usable machine.

use std::path::PathBuf;

/// Why a machine could not be loaded or built.
///
/// Every message says what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a built-in machine nor a file.
    #[error(
        "no machine is called `{name}`{}; known machines: {}; for a machine of your own give the path of its TOML file",
        .suggestion.as_ref().map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default(),
        .known.join(", ")
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The closest built-in name, if one is close.
        suggestion: Option<&'static str>,
        /// All built-in names.
        known: Vec<&'static str>,
    },
    /// The machine file could not be read.
    #[error("cannot read the machine file {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// The machine file is not TOML, or has missing, unknown or mistyped keys.
    #[error("{origin}: {source}")]
    Parse {
        /// File path or built-in name.
        origin: String,
        /// Position and cause.
        source: Box<toml::de::Error>,
    },
    /// The file is well-formed, but no such machine can exist.
    #[error("{origin}: `{key}` {problem}")]
    Invalid {
        /// File path or built-in name.
        origin: String,
        /// The TOML key, dotted, with array indices.
        key: String,
        /// What is wrong with its value, and what would be right.
        problem: String,
    },
}
