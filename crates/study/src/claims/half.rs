//! The two halves of the papers' rows: a guard against fitting the model to what judges it.

use serde::Serialize;
use sha2::{Digest, Sha256};
use std::fmt;

/// The use of a row of the papers' claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// The row may choose between models of the hardware.
    Choosing,
    /// The row is only reported: nothing is chosen by it.
    Reported,
}

impl Half {
    /// Both halves.
    pub const ALL: [Half; 2] = [Half::Choosing, Half::Reported];

    /// The half of a row: the lowest bit of the SHA-256 of its id (`printf N15 | sha256sum`), 0 for choosing.
    pub fn of(row: &str) -> Half {
        match Sha256::digest(row.as_bytes())[31] & 1 {
            0 => Half::Choosing,
            _ => Half::Reported,
        }
    }
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Half::Choosing => "choosing",
            Half::Reported => "reported",
        })
    }
}
