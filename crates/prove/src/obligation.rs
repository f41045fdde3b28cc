//! What is to be proved of a policy.

use serde::Serialize;

/// The families of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Concurrent work conservation (Lepers et al., "Provable Multicore Schedulers with Ipanema",
    /// EuroSys 2020): when an event ends, no core is idle while another is overloaded, unless a
    /// concurrent event filled the one or emptied the other, or is under way on it.
    Conservation,
    /// Steals come to an end, and get nearer to balance with each thread they move.
    Progress,
    /// What always holds: affinity, claims, timers, and the policy's own invariants.
    Invariants,
}

impl Property {
    pub const ALL: [Property; 3] = [Property::Conservation, Property::Progress, Property::Invariants];

    pub fn name(self) -> &'static str {
        match self {
            Property::Conservation => "conservation",
            Property::Progress => "progress",
            Property::Invariants => "invariants",
        }
    }
}

/// One thing to be proved.
#[derive(Clone, Debug, Serialize)]
pub struct Obligation {
    pub property: Property,
    /// The event's handler, the steal or the set that it is about.
    pub about: String,
    pub what: String,
    /// Where that stands: the policy that says it, and the line in its file; 0: nowhere.
    pub policy: String,
    pub line: u32,
    pub claim: Claim,
    /// It holds only if these, `about` and `what`, hold too.
    pub rests_on: Vec<(String, String)>,
}

/// Where an obligation's truth comes from.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// A goal of a module of the policy's WhyML; without a name, all goals of the module.
    Goal { module: String, goal: String },
    /// The compiler's checks and the IR decide it.
    Decided { holds: bool },
    /// A construct that no WhyML is made of: not provable.
    NotModelled { construct: String },
}

impl Claim {
    /// The module of the WhyML in which it is.
    pub fn module(&self) -> Option<&str> {
        match self {
            Claim::Goal { module, .. } => Some(module),
            _ => None,
        }
    }
}
