//! The verbs: simulate, predict, study.

mod matrix;
mod prediction;
mod simulation;
mod sweep;

pub use prediction::{Prediction, predict};
pub use simulation::{Simulation, simulate};
pub use sweep::{Study, read_study, study};
