//! The tests of this crate, in one binary.

mod code;
mod common;
mod golden;
mod names;
mod policies;
mod theory;
