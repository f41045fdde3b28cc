//! One module for each verb: its flags, and what it does with them.

pub mod build;
pub mod check;
pub mod fmt;
pub mod list;
pub mod predict;
pub mod record;
pub mod report;
pub mod reproduce;
pub mod sim;
