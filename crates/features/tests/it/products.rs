//! Products compile, have the names of the model, and simulate.

use hearth_features::{Claim, Model, NAMES, Product, Stored};
use hearth_machine::Machine;
use hearth_policy::load;
use hearth_sim::{Job, Native, World, run};
use hearth_trace::{Event, Trace};
use hearth_workload::Workload;

#[test]
fn the_compiler_gives_products_the_names_of_the_model() {
    for model in NAMES {
        let products = Model::named(model).unwrap().products();
        let step = (products.len() / hearth_tests::cases(40, 400) as usize).max(1);
        for product in products.into_iter().step_by(step) {
            let policy = load(&product.name()).unwrap_or_else(|error| panic!("{}:\n{error}", product.name()));
            assert_eq!(policy.name(), product.name());
            assert!(policy.warnings().is_empty(), "{}", product.name());
        }
    }
}

/// Runs a workload with the checks of debug builds. All its threads must end, and the trace must be sound.
fn simulate(product: &Product, workload: &Workload, seed: u64) {
    let policy = Native::build(load(&product.name()).unwrap()).unwrap();
    let machine = Machine::builtin("xeon-e5645").unwrap();
    let job = Job { seed, world: World::EMPTY, ..Job::new(workload, &machine, &policy) };
    let mut events: Vec<Event> = Vec::new();
    let outcome = run(&job, &mut events).unwrap_or_else(|error| panic!("{}: {error}", product.name()));
    let trace = Trace { header: outcome.header, events };
    assert_eq!(trace.check(), [], "{}", product.name());
}

/// A sample in which each feature occurs.
#[test]
fn a_sample_of_products_simulates() {
    if hearth_tests::everything() {
        sample_simulates("family", 7);
        sample_simulates("warm", 131);
    } else {
        sample_simulates("family", 37);
    }
}

fn sample_simulates(model: &str, step: usize) {
    let model = Model::named(model).unwrap();
    let workloads = ["hackbench:groups=1,fds=3,loops=20", "fork-wait:iterations=20"];
    let workloads = workloads.map(|spec| Workload::resolve(spec).unwrap());
    let products = model.products();
    let sample: Vec<&Product> = products.iter().step_by(step).collect();
    let all: Vec<&str> = sample.iter().flat_map(|product| &product.features).map(String::as_str).collect();
    assert!(model.features().all(|feature| all.contains(&feature)));
    for (seed, product) in sample.into_iter().enumerate() {
        workloads.iter().for_each(|workload| simulate(product, workload, seed as u64));
    }
}

#[test]
fn each_product_has_one_stored_verdict_on_each_claim() {
    let stored = Stored::load();
    assert!(stored.models.contains_key("family") && stored.named.len() == 6);
    for (name, verdicts) in stored.models {
        let model = Model::named(&name).unwrap();
        assert_eq!(verdicts.products, model.products().len());
        for rules in &verdicts.claims {
            for product in model.products() {
                let matching = rules.rules.iter().filter(|rule| rule.matches(&model, &product)).count();
                assert_eq!(matching, 1, "{}: {}", product.name(), rules.claim.name());
            }
            let products: usize = rules.rules.iter().map(|rule| rule.products).sum();
            assert_eq!(products, verdicts.products);
        }
    }
}

#[test]
#[ignore = "a minute: make test-all"]
fn the_book_counts_the_stored_verdicts() {
    let (stored, model) = (Stored::load(), Model::named("warm").unwrap());
    let products = model.products();
    let verdict = |product| stored.verdict(&model, product, Claim::Conserves).expect("a verdict");
    let count = |name| products.iter().filter(|product| verdict(product).name() == name).count();
    let [proved, refuted, open] = ["proved", "refuted", "open"].map(count);
    let sentence = format!("{proved} conserve work; this is refuted for {refuted} and open for {open}.");
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/study.md");
    let book = std::fs::read_to_string(book).unwrap().replace(',', "");
    assert!(book.contains(&sentence), "docs/src/study.md should say: {sentence}");
}
