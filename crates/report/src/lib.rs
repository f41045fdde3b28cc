//! Reports on traces and on sets of runs.
//!
//! [`analysis`] computes what `hearth report` prints. [`page`] renders measured or simulated runs as one self-contained
//! HTML file, [`claims`] the papers' claims beside our results, and [`study`] what many schedulers do for many
//! applications.

pub mod analysis;
pub mod claims;
pub mod page;
pub mod study;
