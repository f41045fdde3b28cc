//! The emitted WhyML of the policies. `BLESS=1 cargo test` rewrites it.

mod common;

use common::{emitted, policy};
use std::path::Path;

#[test]
fn emitted_whyml_is_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut stale = Vec::new();
    for name in ["cfs-cwc", "cfs-cwc-flat", "ule-cwc", "nest", "smove"] {
        let path = folder.join(format!("{name}.mlw"));
        let whyml = emitted(&policy(name)).whyml;
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &whyml).unwrap();
        } else if std::fs::read_to_string(&path).ok().as_deref() != Some(&whyml) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "the WhyML of {stale:?} changed: look at it, then bless it");
}
