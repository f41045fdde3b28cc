//! The tests of this crate, in one binary.

mod import;
mod round_trip;
