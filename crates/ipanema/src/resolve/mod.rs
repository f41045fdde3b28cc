//! Second pass: finds the policies that a policy extends, and merges them by name.
//!
//! "Everything not said here is the base's": a declaration of the same name and kind replaces the
//! base's, everywhere. What it replaced stays reachable through `super`.

mod load;
mod merge;

pub use load::{SourceProvider, load};
pub use merge::{Body, Chain, Declared, Key, Merged, Version, merge};
