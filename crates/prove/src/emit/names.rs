//! The names of what a policy declares, in WhyML. Nothing else makes such a name.
//!
//! The name of an attribute, parameter, set or steal has a quote and an underscore before the policy's word (`thread'_load`);
//! the name of a variable a quote and a number after it (`core'3`). Neither the theory nor the fixed text has names with a
//! quote, nor can a word of a policy contain one. So no word of a policy captures another name, whatever it is: the first quote
//! tells where it begins.

use hearth_ipanema::ir::Owner;

/// The name of what a policy calls `word`. `kind`, which has no quote, says what it is.
pub fn named(kind: &str, word: &str) -> String {
    debug_assert!(!kind.contains('\'') && !word.contains('\''));
    format!("{kind}'_{word}")
}

/// The same of a word in a function. A phase of a steal is named by two words, with a point between them.
pub fn within(kind: &str, word: &str, function: &str) -> String {
    function.split('.').fold(named(kind, word), |name, part| format!("{name}'_{part}"))
}

/// The name of the n-th variable, which a policy calls `word`. WhyML wants a small letter at its start.
pub fn numbered(word: &str, n: u32) -> String {
    debug_assert!(!word.contains('\''));
    format!("{}'{n}", word.to_lowercase())
}

pub fn attribute(owner: Owner, word: &str) -> String {
    named(
        match owner {
            Owner::Global => "global",
            Owner::Thread => "thread",
            Owner::Core => "core",
        },
        word,
    )
}

pub fn param(word: &str) -> String {
    named("param", word)
}

pub fn set(word: &str) -> String {
    named("set", word)
}

/// The copy of an attribute of the event's own thread.
pub fn own(attribute: &str) -> String {
    named("own", attribute)
}
