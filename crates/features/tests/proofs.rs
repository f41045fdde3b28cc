//! The stored verdicts are those that the model checker and the provers give. Needs Why3. `BLESS=1` stores them.

use hearth_features::{Model, NAMES, Verdicts, judge};
use hearth_prove::Options;
use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn verdicts_are_as_stored() {
    let mut all = BTreeMap::new();
    for name in NAMES {
        let model = Model::named(name).unwrap();
        let judgement = judge(&model.products(), &Options::default()).unwrap();
        let verdicts = Verdicts::of(&model, &judgement);
        all.insert(name, (Verdicts::stored(&model), verdicts));
    }
    if std::env::var_os("BLESS").is_some() {
        let all: BTreeMap<_, _> = all.into_iter().map(|(name, (_, verdicts))| (name, verdicts)).collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/features/verdicts.json");
        return std::fs::write(path, serde_json::to_string_pretty(&all).unwrap() + "\n").unwrap();
    }
    for (name, (stored, verdicts)) in all {
        assert_eq!(stored, Some(verdicts), "{name}: run BLESS=1 scripts/test proofs, and review the changes");
    }
}
