//! Judges products, and prints `policies/features/verdicts.json`. Needs Why3.
//!
//! `cargo run --release -p hearth-features --example verdicts > verdicts.json`

use hearth_features::Stored;
use hearth_prove::{Options, ProofCache};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let known = ProofCache::load(&hearth_base::paths::cache("proofs"));
    let stored = Stored::compute(&Options { known, ..Options::default() })?;
    println!("{}", serde_json::to_string_pretty(&stored)?);
    Ok(())
}
