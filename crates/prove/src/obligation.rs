//! What has to be proved of a policy.

use crate::emit::{livelock, turns};
use serde::Serialize;

/// The families of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Concurrent work conservation (Lepers et al., "Provable Multicore Schedulers with Ipanema",
    /// EuroSys 2020): when an event ends, no core is idle while another is overloaded, unless a
    /// concurrent event filled the one or emptied the other, or is in progress on the idle core.
    Conservation,
    /// Steals terminate, and each moved thread brings the loads closer together.
    Progress,
    /// Affinity, claims, timers, and the policy's own invariants.
    Invariants,
    /// Nobody waits for ever: conservation is restored when events stop, a ready thread gets its turn, and no event
    /// causes itself again and again.
    Waiting,
}

impl Property {
    pub const ALL: [Property; 4] =
        [Property::Conservation, Property::Progress, Property::Invariants, Property::Waiting];

    pub fn name(self) -> &'static str {
        match self {
            Property::Conservation => "conservation",
            Property::Progress => "progress",
            Property::Invariants => "invariants",
            Property::Waiting => "waiting",
        }
    }
}

/// Identifies an obligation within one policy: the event, steal, function or set, and the claim about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Id {
    pub about: String,
    pub what: String,
}

impl Id {
    pub(crate) fn new(about: &str, what: &str) -> Id {
        Id { about: about.into(), what: what.into() }
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.about, self.what)
    }
}

/// What all handlers of a policy together are proved to do: the last steps of [`Property::Waiting`] (`proofs/closing.mlw`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// When all events but `balance` stop, no core stays idle beside an overloaded one.
    Recovery,
    /// A thread of a queue waits for so many turns of the others.
    Turns,
    /// No event causes itself again and again.
    NoLivelock,
}

/// A claim about a policy that has to be proved.
#[derive(Clone, Debug, Serialize)]
pub struct Obligation {
    pub property: Property,
    #[serde(flatten)]
    pub id: Id,
    /// The policy and line of the text that the claim is about; line 0: none.
    pub policy: String,
    pub line: u32,
    pub claim: Claim,
    /// The claim is proved under the assumption that these hold too.
    pub rests_on: Vec<Id>,
}

/// How an obligation is decided.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// A goal of a module of the policy's WhyML; without a name, all goals of the module.
    Goal { module: String, goal: String },
    /// Decided by the compiler, from what `by` names: a part of the IR.
    Decided { by: String, holds: bool },
    /// Follows from the obligations that it rests on, by a theorem of `proofs/`.
    Follows { theorem: String },
    /// Not provable: it depends on a construct without a translation to WhyML.
    NotModelled { construct: String },
}

impl Claim {
    /// The module of the WhyML that has the goal.
    pub fn module(&self) -> Option<&str> {
        match self {
            Claim::Goal { module, .. } => Some(module),
            _ => None,
        }
    }
}

impl Obligation {
    /// What it concludes, whether it can be proved or not.
    pub fn concludes(&self) -> Option<Conclusion> {
        match &*self.id.what {
            what if what.starts_with(turns::WHILE) => Some(Conclusion::Turns),
            livelock::ENDS => Some(Conclusion::NoLivelock),
            _ if self.property == Property::Waiting && self.id.about == "balances" => {
                Some(Conclusion::Recovery)
            }
            _ => None,
        }
    }
}
