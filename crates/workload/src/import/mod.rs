//! Workloads that were written for other tools.

mod json;
pub mod rtapp;
