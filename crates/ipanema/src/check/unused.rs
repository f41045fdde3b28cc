//! Every function and steal that a policy declares is reached by an event.

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
        // A base's function may lose its callers to an override.
        if at.policy == policy.name {
            let message = format!("no event reaches `{name}`");
            diagnostics
                .push(Diagnostic::warning(UNUSED_FUNCTION, at.span, message).help("call it, or remove it"));
        }
    }
}
