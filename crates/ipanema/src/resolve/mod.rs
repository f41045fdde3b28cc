//! Second pass: loads the bases of a policy and merges them by name.
//!
//! A declaration replaces the base's declaration of the same name and kind everywhere; everything
//! else is inherited. The replaced version stays reachable through `super`. Features stand between a policy and
//! its base, whose slots they fill.

mod compose;
mod load;
mod merge;
mod names;

pub use load::{Loaded, SourceProvider, load};
pub use merge::{Body, Chain, Declared, Key, Merged, Version, merge};
