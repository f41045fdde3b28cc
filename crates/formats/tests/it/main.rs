//! The tests of this crate, in one binary.

mod fewer;
mod forms;
mod import;
mod round_trip;
mod write;
