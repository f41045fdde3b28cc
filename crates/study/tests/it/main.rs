//! The tests of this crate, in one binary.

mod drivers;
mod sinks;
mod sweep;
mod tune;
