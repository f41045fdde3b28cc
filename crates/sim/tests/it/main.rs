//! The tests of this crate, in one binary.

mod batch;
mod overlay;
mod policies;
mod properties;
mod round_trip;
mod world;
