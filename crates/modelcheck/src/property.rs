//! The properties that are checked, and their violations.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Every thread is in one state and one place. Transitions are those of `saakm.h`, and handlers make
    /// those that they must. Placements respect affinities.
    Safety,
    /// At most one placement holds the claim of a core.
    Claims,
    /// An invariant of the policy, or one of the options.
    Invariant,
    /// Concurrent work conservation.
    Cwc,
    /// No thread is placed behind another while a core is idle for it, even if placements are concurrent.
    /// Stricter than CWC, which leaves such cases to balancing.
    Collision,
    /// Preemptions, timers and steals end: there is no cycle of steps without an external event.
    Livelock,
    /// A ready thread runs within a number of ticks.
    Waiting,
    /// Once external events stop, no core stays idle while another is overloaded.
    Conservation,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Property::Safety => "safety",
            Property::Claims => "claims",
            Property::Invariant => "invariant",
            Property::Cwc => "concurrent work conservation",
            Property::Collision => "collision",
            Property::Livelock => "livelock",
            Property::Waiting => "bounded waiting",
            Property::Conservation => "eventual conservation",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub property: Property,
    /// The violation in a sentence.
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
