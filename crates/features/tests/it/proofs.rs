//! The stored verdicts are those that the model checker and the provers give. Needs Why3. The example `verdicts` computes
//! them.

use hearth_features::{Claim, Model, Product, Stored, Verdicts, judge};
use hearth_prove::Options;

const REVIEW: &str = "review what the example `verdicts` prints";

#[test]
#[ignore = "minutes: make test-all"]
fn verdicts_on_the_family_and_on_named_products_are_as_stored() {
    let (stored, options) = (Stored::load(), Options::default());
    let named = Stored::compute_named(&options).unwrap();
    assert!(named == stored.named, "{REVIEW}:\n{named:#?}");
    let family = Verdicts::compute(&Model::named("family").unwrap(), &options).unwrap();
    assert!(family == stored.models["family"], "{REVIEW}:\n{family:#?}");
}

/// All products of the larger model would take minutes.
#[test]
#[ignore = "minutes: make test-all"]
fn verdicts_on_a_sample_of_the_larger_model_are_as_stored() {
    let (stored, model) = (Stored::load(), Model::named("warm").unwrap());
    let sample: Vec<Product> = model.products().into_iter().step_by(SAMPLE).collect();
    for judged in judge(&sample, &Options::default()).unwrap().judged {
        for claim in Claim::ALL {
            let expected = stored.verdict(&model, &judged.product, claim).expect("a verdict");
            let (name, verdict) = (judged.product.name(), judged.verdict(claim));
            assert_eq!(verdict.name(), expected.name(), "{name}: {}: {REVIEW}", claim.name());
        }
    }
}

/// One product of so many is in the sample. Prime, so that the sample has all features.
const SAMPLE: usize = 83;
