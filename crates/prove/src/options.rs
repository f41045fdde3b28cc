//! Options of a proof.

use crate::obligation::Property;
use crate::proof_cache::ProofCache;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Selects what to prove, and limits the effort.
#[derive(Clone, Debug)]
pub struct Options {
    /// The properties to prove. Obligations on which these rest are proved too.
    pub properties: Vec<Property>,
    /// Keep the WhyML in this folder.
    pub keep: Option<PathBuf>,
    /// Number of provers that run in parallel.
    pub at_once: usize,
    /// Step limit of Z3 for a part of an obligation. Steps do not depend on the machine.
    pub steps: u64,
    /// Earlier proofs. New ones are added.
    pub known: ProofCache,
    /// Once it is true, no further goal is tried, and the result is [`Error::Stopped`](crate::Error::Stopped).
    pub stop: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        let properties = Property::ALL.to_vec();
        Options {
            properties,
            keep: None,
            at_once: 2,
            steps: 3_000_000,
            known: ProofCache::default(),
            stop: Arc::default(),
        }
    }
}
