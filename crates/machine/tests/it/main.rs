//! The tests of this crate, in one binary.

mod common;
mod energy;
mod errors;
mod figure3;
mod governors;
mod kinds;
mod limiter;
mod nohz;
mod pelt;
mod properties;
mod topology;
mod turbo;
