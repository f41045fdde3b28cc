//! How to prove.

use crate::obligation::Property;
use crate::proof_cache::ProofCache;
use std::path::PathBuf;

/// What to prove, with which effort.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only obligations of these.
    pub properties: Vec<Property>,
    /// Keep the WhyML in this folder.
    pub keep: Option<PathBuf>,
    /// Provers that run at a time.
    pub at_once: usize,
    /// The most steps that Z3 takes for a part of an obligation: the same on each machine.
    pub steps: u64,
    /// What is proved already; what is proved now is added.
    pub known: ProofCache,
}

impl Default for Options {
    fn default() -> Self {
        let properties = Property::ALL.to_vec();
        Options { properties, keep: None, at_once: 2, steps: 3_000_000, known: ProofCache::default() }
    }
}
