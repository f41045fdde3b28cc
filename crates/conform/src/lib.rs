//! Conformance of the two back ends: replays the handlers of a kernel run in the native build of the policy, and
//! compares.
//!
//! For each handler that ran in the kernel, a log ([`hearth_scx::log`]) has the runtime state that the handler could
//! read. It does not have the policy's own state, which the replica maintains from the start of the policy. Any
//! divergence therefore shows as a different decision or a different hash of the state.

mod decision;
mod replay;
mod replica;
mod report;

#[cfg(test)]
mod tests;

pub use replay::{Error, replay};
pub use report::{Disagreement, Report};
