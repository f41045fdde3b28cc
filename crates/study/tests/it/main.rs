//! The tests of this crate, in one binary.

mod sinks;
mod sweep;
mod tune;
