//! Mutation operators.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A kind of change. If two operators produce the same text, the mutant counts for the first.
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
            Operator::Negation => "a comparison is negated; a `!` is dropped",
            Operator::Operand => "an operand of `&&` or `||` is dropped",
            Operator::Affinity => "the affinity of the thread is ignored",
            Operator::Group => "a domain is replaced: `llc` by `smt` or `machine`, `smt` by `llc`",
            Operator::Narrow => "a search or steal over all cores is restricted to the die where it begins",
            Operator::FirstCandidate => "a search, loop or steal stops after its first candidate",
            Operator::NoRecheck => "a steal does not check again under the lock whether it may take a thread",
            Operator::Claim => "a claim of a core is replaced by a check that it is idle, or by nothing",
            Operator::Queue => "a queue is replaced by another one of the policy",
            Operator::MinMax => "`min` is replaced by `max`, `max` by `min`",
            Operator::Statement => "a statement is deleted",
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
        found.ok_or_else(|| format!("there is no operator `{text}`; expected one of: {names}"))
    }
}

impl Serialize for Operator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
