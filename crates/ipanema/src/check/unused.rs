//! Warns about functions and steals that no event reaches.

use crate::codes::UNUSED_FUNCTION;
use crate::diagnostic::Diagnostic;
use crate::ir::{Policy, Role, reachable};

pub fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    let (functions, steals) = reachable(policy);
    let functions = policy
        .functions
        .iter()
        .zip(functions)
        .filter(|(f, reached)| f.role == Role::Function && !f.superseded && !reached)
        .map(|(f, _)| (&f.name, &f.at));
    let steals = policy
        .steals
        .iter()
        .zip(steals)
        .filter(|(s, reached)| !s.superseded && !reached)
        .map(|(s, _)| (&s.name, &s.at));
    for (name, at) in functions.chain(steals) {
        // An override may remove the only call of a base's function.
        if at.policy == policy.name {
            let message = format!("no event reaches `{name}`");
            diagnostics
                .push(Diagnostic::warning(UNUSED_FUNCTION, at.span, message).help("call it, or remove it"));
        }
    }
}
