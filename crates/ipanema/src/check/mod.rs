//! Fourth pass: checks beyond types, one per file. None changes the meaning of a policy; two record
//! results in the IR: [`Function::moves`](crate::ir::Function::moves) and
//! [`Function::effects`](crate::ir::Function::effects).

mod affinity;
mod events;
mod params;
mod purity;
mod totality;
mod transitions;
mod unused;

use crate::diagnostic::Diagnostic;
use crate::ir::{Policy, effects};

/// Checks the output of the types pass.
pub fn check(policy: &mut Policy, diagnostics: &mut Vec<Diagnostic>) {
    let Some(order) = totality::check(policy, diagnostics) else { return };
    effects::compute(policy, &order);
    purity::check(policy, diagnostics);
    transitions::check(policy, &order, diagnostics);
    events::check(policy, diagnostics);
    affinity::check(policy, &order, diagnostics);
    params::check(policy, diagnostics);
    unused::check(policy, diagnostics);
}
