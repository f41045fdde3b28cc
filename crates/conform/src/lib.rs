//! Repeats a run of the kernel with the native build of the same policy, handler by handler, and compares.
//!
//! A log ([`hearth_scx::log`]) has, for each handler that ran in the kernel, what the runtime let it see. The policy's
//! own state is not in it: the replica carries it along itself, from the policy's start to its end. So a
//! difference anywhere, at any time, shows up as a decision that is another, or as a state that is another.

mod decision;
mod replay;
mod replica;
mod report;

#[cfg(test)]
mod tests;

pub use decision::Decision;
pub use replay::{Error, replay};
pub use report::{Disagreement, Report};
