//! Importers for workloads of other tools.

mod json;
pub mod rtapp;
