//! One module for each verb: its flags, and what it does with them.

pub mod build;
pub mod check;
pub mod conform;
pub mod exec;
pub mod explore;
pub mod fmt;
pub mod list;
pub mod mutate;
pub mod play;
pub mod predict;
pub mod prove;
pub mod record;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod set;
pub mod sim;
pub mod status;
pub mod stop;
pub mod top;
pub mod view;
pub mod vm;
