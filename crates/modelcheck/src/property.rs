//! What must hold, and what is wrong where it does not.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Every thread is in one state and one place; transitions are those of `saakm.h`; handlers do
    /// what they must; threads are where they may be.
    Safety,
    /// A claim gives a core to one placement.
    Claims,
    /// An invariant of the policy.
    Invariant,
    /// Concurrent work conservation.
    Cwc,
    /// No thread is placed behind another while a core is idle for it, whatever happens at the same
    /// time: stricter than CWC, which leaves such cases to balancing.
    Collision,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Property::Safety => "safety",
            Property::Claims => "claims",
            Property::Invariant => "invariant",
            Property::Cwc => "concurrent work conservation",
            Property::Collision => "collision",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub property: Property,
    /// A sentence.
    pub what: String,
}

impl Violation {
    pub fn safety(what: String) -> Violation {
        Violation { property: Property::Safety, what }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.what)
    }
}
