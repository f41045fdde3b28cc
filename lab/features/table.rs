//! Writes `lab/results/features.md`: the verdicts that `policies/features/verdicts.json` stores.
//!
//! `cargo run --release -p hearth-lab --bin lab-features`

use hearth_features::{Claim, Model, NAMES, Stored, Verdict, Verdicts, doc, when};
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results/features.md");

const HEAD: &str = "\
# Features and verdicts

*Evidence: the features of [the feature models](../../docs/src/study.md#the-feature-models), and what is proved and refuted of their products.*

`hearth features prove --anew` computes these verdicts; with `--model warm` that takes some eight minutes of CPU time. A *refuted*
claim has a schedule that violates it, found by the model checker; `hearth modelcheck PRODUCT -s SCENARIO` shows it. An *open* one has neither a proof nor a schedule.

";

const TAIL: &str = "
## How the products are proved at once

1. The model checker tries a few small scenarios for each claim. What it refutes has a schedule, and needs no prover.
2. The obligations of all other claims go to the prover, which proves each different goal once.
3. What is not proved is searched in all standard scenarios. If nothing is found either, it is open.

No theorem about composition is needed, and nothing is assumed of a part. The obligations of each product are derived from the
composed policy, as for any policy. The WhyML of a goal contains only what the goal depends on: a placement, a steal, an order, a
tick. Features are independent, so products that share the features on which a goal depends have the same text to the byte, and
the same text has the same proof. How the goals of one product compose to its claims are the theorems of
`proofs/composition.mlw` and `proofs/waiting.mlw`, which hold for any policy ([Proofs](../../docs/src/proofs.md)).

## The tests

| claim | test |
|---|---|
| uvllang and a SAT solver find the same products | `scripts/test tests` |
| all products of `family` compile without warnings, to different C | `cargo test -p hearth-ipanema --test features` |
| a sample in which each feature occurs simulates, with the checks of debug builds | `cargo test -p hearth-features --test products` |
| a sample passes the kernel's verifier and schedules a virtual machine | `make test-all` |
| these verdicts, which `policies/features/verdicts.json` stores: all of `family`, and a sample of `warm` | `make test-all`; a part `make test` |

`cargo run --release -p hearth-lab --bin lab-products -- family hackbench:groups=1,loops=20 xeon-e5645` simulates all
products of a model and prints a table.

## What the model does not have

- The thesis measured on Linux 4.19. Its library of features is not public, so results need not agree with it.
- Weights (nice) matter to `rbtree` only. Loads count threads or time.
- The count of `nrRunBlock` is an estimate: a wake-up elsewhere at the time of a block may lose an update.
";

fn main() -> std::io::Result<()> {
    std::fs::write(PAGE, page())
}

/// The stored verdicts on the built-in models, as Markdown.
fn page() -> String {
    let mut text = HEAD.to_owned();
    for claim in Claim::ALL {
        let _ = writeln!(text, "- **{}**: {}", claim.name(), claim.doc());
    }
    let stored = Stored::load();
    features(&mut text);
    let models: Vec<Model> = NAMES.iter().filter_map(|name| Model::named(name).ok()).collect();
    for model in &models {
        if let Some(verdicts) = stored.models.get(model.name()) {
            section(model, verdicts, &mut text);
        }
    }
    named(&models, &stored, &mut text);
    text + TAIL
}

/// The built-in features, as their files say.
fn features(text: &mut String) {
    *text += "\n## Features\n\n| slot | feature | |\n|---|---|---|\n";
    let mut seen = Vec::new();
    for model in NAMES.iter().filter_map(|name| Model::named(name).ok()) {
        for (slot, feature) in
            model.slots().iter().flat_map(|slot| slot.features.iter().map(|f| (&slot.name, f)))
        {
            if !seen.contains(feature) {
                let _ = writeln!(text, "| {slot} | `{feature}` | {} |", doc(feature));
                seen.push(feature.clone());
            }
        }
    }
}

/// The named products, in all models.
fn named(models: &[Model], stored: &Stored, text: &mut String) {
    let claims = Claim::ALL.map(Claim::name).join(" | ");
    let _ = writeln!(
        text,
        "\n## Named products\n\n| product | features | {claims} |\n|---|---|---|---|---|---|---|"
    );
    for (name, product) in models.iter().flat_map(Model::points) {
        let Some(verdicts) = stored.named.get(name) else { continue };
        let cell = |verdict: &Verdict| match verdict {
            Verdict::Refuted { scenario, steps } => format!("refuted: `{scenario}`, {steps} steps"),
            other => other.name().to_owned(),
        };
        let cells: Vec<String> = verdicts.iter().map(cell).collect();
        let _ = writeln!(text, "| `{name}` | `{}` | {} |", product.name(), cells.join(" | "));
    }
}

fn section(model: &Model, verdicts: &Verdicts, text: &mut String) {
    let _ = writeln!(
        text,
        "\n## `{}`\n\n{} products of {} features. {} obligations went to the prover, of which {} differ; each of these was \
         proved once.\n\n| claim | verdict | products | features | example |\n|---|---|--:|---|---|",
        model.name(),
        verdicts.products,
        model.features().count(),
        verdicts.obligations,
        verdicts.goals
    );
    for rules in &verdicts.claims {
        for rule in &rules.rules {
            let schedule = match &rule.verdict {
                Verdict::Refuted { scenario, steps } => format!(": `{scenario}`, {steps} steps"),
                _ => String::new(),
            };
            let (claim, verdict, features) = (rules.claim.name(), rule.verdict.name(), when(rule));
            let (products, example) = (rule.products, &rule.example);
            let _ =
                writeln!(text, "| {claim} | {verdict} | {products} | {features} | `{example}`{schedule} |");
        }
    }
}
