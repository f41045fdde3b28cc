//! Errors from loading and validating machine files.

use std::path::PathBuf;

/// Error from loading or building a machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is neither a built-in machine nor a file.
    #[error(
        "no machine is called `{name}`{}; built-in machines: {}; to use your own machine, give the path of its TOML file",
        .suggestion.as_ref().map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default(),
        .known.join(", ")
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// The closest built-in name, if one is similar.
        suggestion: Option<&'static str>,
        /// All built-in names.
        known: Vec<&'static str>,
    },
    /// The machine file cannot be read.
    #[error("cannot read machine file `{}`: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause reported by the operating system.
        source: std::io::Error,
    },
    /// The machine file is not TOML, or has missing, unknown or mistyped keys.
    #[error("{origin}: {source}")]
    Parse {
        /// File path or built-in name.
        origin: String,
        /// Position and cause reported by the TOML parser.
        source: Box<toml::de::Error>,
    },
    /// The file is well-formed TOML, but describes an impossible machine.
    #[error("{origin}: `{key}` {problem}")]
    Invalid {
        /// File path or built-in name.
        origin: String,
        /// Dotted TOML key with array indices.
        key: String,
        /// What is wrong with the value, and which values are allowed.
        problem: String,
    },
    /// A replacement of a value after the machine's name cannot be applied.
    #[error("{origin}: {problem}")]
    Override {
        /// The machine, with its replacements.
        origin: String,
        /// What is wrong with the replacement.
        problem: String,
    },
}
