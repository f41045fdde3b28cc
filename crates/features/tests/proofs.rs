//! The stored verdicts are those that the model checker and the provers give. Needs Why3. The example `verdicts` computes
//! them anew.

use hearth_features::Stored;
use hearth_prove::Options;

#[test]
fn verdicts_are_as_stored() {
    let computed = Stored::compute(&Options::default()).unwrap();
    assert!(computed == Stored::load(), "review what the example `verdicts` prints:\n{computed:#?}");
}
