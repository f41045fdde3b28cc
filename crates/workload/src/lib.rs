//! Workloads: the task graph, its file format, generators, importers, and extraction from a trace.
//!
//! A [`Workload`] says what threads do (work in cycles, forks, waits, delays) and nothing of when
//! or where. It comes from one of four places:
//!
//! - a file ([`Workload::load`]),
//! - a generator, a small model of a kind of program ([`generators`], [`Workload::resolve`]),
//! - an rt-app document ([`import::rtapp`]),
//! - a trace, recorded or simulated ([`extract()`]).
//!
//! Whatever its origin, [`Workload::check`] says whether it makes sense and comes to an end.

mod dry_run;
mod error;
pub mod extract;
mod file;
pub mod generate;
mod graph;
pub mod import;
mod problem;
mod resolve;
mod stats;
mod steps;
mod validate;

pub use dry_run::{DRY_RUN_STEPS, DryRun, Stuck};
pub use error::Error;
pub use extract::{Extraction, extract};
pub use generate::{Generator, Param, generators};
pub use graph::*;
pub use problem::{MAX_DEPTH, MAX_STEPS, Obstacle, Problem, What};
pub use resolve::Resolved;
pub use stats::Stats;
pub use steps::Steps;
