//! The tests of this crate, in one binary.

mod common;
mod detect;
mod live;
mod machines;
