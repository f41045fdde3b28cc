//! Workloads: task graph, file format, generators, importers, and extraction from a trace.
//!
//! A [`Workload`] describes the actions of threads (work in cycles, forks, waits, delays), without
//! times and places. It comes from
//!
//! - a file ([`Workload::load`]),
//! - a generator, a small model of a kind of program ([`generators`], [`Workload::resolve`]),
//! - a recording of a real program that is part of Hearth ([`recorded()`]),
//! - an rt-app document ([`import::rtapp`]), or
//! - a trace, recorded or simulated ([`extract()`]).
//!
//! [`Workload::check`] tests that a workload is well-formed and ends.

mod dry_run;
mod error;
pub mod extract;
mod file;
pub mod generate;
mod graph;
pub mod import;
mod problem;
mod profile;
mod recorded;
mod resolve;
mod stats;
mod steps;
mod together;
mod validate;

pub use dry_run::{DRY_RUN_STEPS, DryRun, Stuck};
pub use error::Error;
pub use extract::{Extraction, extract};
pub use generate::{Generator, Param, generators};
pub use graph::*;
pub use problem::{MAX_DEPTH, MAX_STEPS, Obstacle, Problem, What};
pub use profile::Profile;
pub use recorded::{Recorded, recorded};
pub use resolve::Resolved;
pub use stats::Stats;
pub use steps::Steps;
