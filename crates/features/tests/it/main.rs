//! The tests of this crate, in one binary.

mod models;
mod products;
mod proofs;
