//! The tests of this crate, in one binary.

mod batch;
mod exited;
mod idle;
mod overlay;
mod policies;
mod properties;
mod queued;
mod round_trip;
mod world;
