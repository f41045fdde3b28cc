//! The ways in which a policy is broken.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A kind of change. Where two make the same text of a policy, the first one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    OffByOne,
    Affinity,
    Group,
    Narrow,
    FirstCandidate,
    NoRecheck,
    Claim,
    Queue,
    MinMax,
    Operand,
    Negation,
    Condition,
    Statement,
}

impl Operator {
    pub const ALL: [Operator; 13] = [
        Operator::OffByOne,
        Operator::Affinity,
        Operator::Group,
        Operator::Narrow,
        Operator::FirstCandidate,
        Operator::NoRecheck,
        Operator::Claim,
        Operator::Queue,
        Operator::MinMax,
        Operator::Operand,
        Operator::Negation,
        Operator::Condition,
        Operator::Statement,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operator::OffByOne => "off-by-one",
            Operator::Condition => "condition",
            Operator::Negation => "negation",
            Operator::Operand => "operand",
            Operator::Affinity => "affinity",
            Operator::Group => "group",
            Operator::Narrow => "narrow",
            Operator::FirstCandidate => "first-candidate",
            Operator::NoRecheck => "no-recheck",
            Operator::Claim => "claim",
            Operator::Queue => "queue",
            Operator::MinMax => "min-max",
            Operator::Statement => "statement",
        }
    }

    /// A description in one sentence.
    pub fn doc(self) -> &'static str {
        match self {
            Operator::OffByOne => {
                "`>=` becomes `>` and the like; a number in a comparison is one more or less"
            }
            Operator::Condition => "a condition, filter or stop is always true, or always false",
            Operator::Negation => "a comparison becomes its opposite; a `!` is forgotten",
            Operator::Operand => "an operand of `&&` or `||` is forgotten",
            Operator::Affinity => "the affinity of the thread is not looked at",
            Operator::Group => "another domain: `smt` or `machine` for `llc`, `llc` for `smt`",
            Operator::Narrow => "a search or steal over all cores sees only the die where it begins",
            Operator::FirstCandidate => "a search, loop or steal gives up after its first candidate",
            Operator::NoRecheck => "a steal does not ask again under the lock whether it may still take",
            Operator::Claim => "a core is not claimed, but only found idle, or not even that",
            Operator::Queue => "another queue of the policy",
            Operator::MinMax => "`min` for `max`, `max` for `min`",
            Operator::Statement => "a statement is left out",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Operator {
    type Err = String;

    fn from_str(text: &str) -> Result<Operator, String> {
        let names = Operator::ALL.map(Operator::name).join(", ");
        let found = Operator::ALL.into_iter().find(|operator| operator.name() == text);
        found.ok_or_else(|| format!("there is no operator `{text}`; there are: {names}"))
    }
}

impl Serialize for Operator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
