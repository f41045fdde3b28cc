//! A model checker for scheduling policies.
mod access;
mod arithmetic;
mod consistency;
mod cores;
mod counterexample;
mod cwc;
mod driver;
mod env;
mod initial;
mod interp;
mod learned;
mod log;
mod model;
mod narrate;
mod perform;
mod property;
mod scenario;
mod search;
mod standard;
mod step;
#[cfg(test)]
mod tests;
mod topology;
mod world;

pub use cores::Cores;
pub use counterexample::Counterexample;
pub use model::Invariant;
pub use property::{Property, Violation};
pub use scenario::{Op, Scenario, ScenarioError, Start, Stealing, ThreadSpec};
pub use search::{ExploreError, Options, Outcome, explore};
pub use standard::all as standard_scenarios;
pub use step::Step;
pub use topology::Topology;
