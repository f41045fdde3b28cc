//! The products of the feature models, as uvllang and a SAT solver find them without Hearth's code.
//!
//! `scripts/need uvl` installs them.

use hearth_features::{Model, NAMES, uvl};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

#[test]
fn uvllang_finds_the_same_products() {
    let Some(tools) = hearth_tests::packages("uvl") else { return };
    for name in NAMES {
        let file = if name == "family" { "model.uvl".to_owned() } else { format!("{name}.uvl") };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = root.join("policies/features").join(file);
        let text = std::fs::read_to_string(&path).expect("a model");
        let read = uvl::parse(&text).expect("it parses");
        let groups = read.features().into_iter().filter(|f| f.is_abstract).map(|f| f.name.clone());
        let output = Command::new("python3")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models.py"))
            .arg(&path)
            .args(groups)
            .env("PYTHONPATH", &tools)
            .output()
            .expect("python3 runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).expect("text");
        let theirs: BTreeSet<Vec<&str>> = lines.lines().map(|line| line.split(' ').collect()).collect();
        let model = Model::named(name).expect("a model");
        let products = model.products();
        let ours: BTreeSet<Vec<&str>> = products
            .iter()
            .map(|product| {
                let mut features: Vec<&str> = product.features.iter().map(String::as_str).collect();
                features.sort_unstable();
                features
            })
            .collect();
        assert_eq!((products.len(), theirs.len()), (lines.lines().count(), ours.len()), "{name}");
        assert!(ours == theirs, "{name}: other products");
        println!("{name}: uvllang finds the same {} products", theirs.len());
    }
}
