use crate::arguments::{Jobs, examples};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::progress;
use crate::table::{Column, Plain, table};
use clap::Subcommand;
use hearth_features::{
    Claim, Judgement, Model, NAMES, Product, ProductVerdicts, Stored, Verdict, Verdicts, doc, judge, when,
};
use hearth_prove::{Options, ProofCache};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

/// The feature model: schedulers as products of independent features
///
/// A product is named by its features, joined with `+`. Every verb takes this name where it takes a policy:
/// `hearth sim -p rbtree+split+nrRun+llc+each+idle ...`
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth features list",
    "hearth features diff cfs-like ule-like",
]))]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    List(List),
    Count(Count),
    Show(Show),
    Diff(Diff),
    Prove(Prove),
}

/// List the slots of a model, their features, and named products
#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    model: ModelArg,
    /// Print JSON (schema hearth.features/1) instead of text
    #[arg(long)]
    json: bool,
}

/// Count the features and products of a model
#[derive(clap::Args)]
struct Count {
    #[command(flatten)]
    model: ModelArg,
    /// Print JSON (schema hearth.features-count/1) instead of text
    #[arg(long)]
    json: bool,
}

/// Show a product: its features, its parameters, and what is proved and refuted of it
#[derive(clap::Args)]
struct Show {
    #[command(flatten)]
    product: ProductArg,
    /// Print JSON (schema hearth.product/1) instead of text
    #[arg(long)]
    json: bool,
}

/// Show in which slots two products differ, and in which verdicts
#[derive(clap::Args)]
struct Diff {
    /// A product: its features, joined with `+`; a named one, or the path of an .ipa file
    #[arg(value_name = "PRODUCT")]
    first: String,
    /// The other product
    #[arg(value_name = "PRODUCT")]
    second: String,
    /// Print JSON (schema hearth.products/1) instead of text
    #[arg(long)]
    json: bool,
}

/// Prove and refute the claims on all products of a model, or on some
///
/// The model checker searches schedules that violate a claim. What it does not refute goes to the provers, each
/// goal once for all products. Needs Why3 and its provers.
#[derive(clap::Args)]
struct Prove {
    #[command(flatten)]
    model: ModelArg,
    /// Products: their features, joined with `+` [default: all of the model]
    #[arg(value_name = "PRODUCT")]
    products: Vec<String>,
    /// Ignore the proofs of earlier runs, which are stored in ~/.cache/hearth/proofs
    #[arg(long)]
    anew: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// Print JSON (schema hearth.verdicts/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ModelArg {
    /// The feature model
    #[arg(long, value_name = "MODEL", default_value = NAMES[0], value_parser = NAMES)]
    model: String,
}

impl ModelArg {
    fn load(&self) -> Result<Model, Failure> {
        Ok(Model::named(&self.model)?)
    }
}

#[derive(clap::Args)]
struct ProductArg {
    /// A product: its features, joined with `+`; a named one, or the path of an .ipa file
    #[arg(value_name = "PRODUCT")]
    product: String,
}

/// A product and its model, which the name may begin with.
fn find(name: &str) -> Result<(Model, Product), Failure> {
    let model = Model::of_product(name)?;
    let product = model.product_of(name)?;
    Ok((model, product))
}

impl Args {
    pub fn run(self) -> Outcome {
        match self.what {
            What::List(args) => args.run(),
            What::Count(args) => args.run(),
            What::Show(args) => args.run(),
            What::Diff(args) => args.run(),
            What::Prove(args) => args.run(),
        }
    }
}

#[derive(Serialize)]
struct FeatureEntry {
    slot: String,
    feature: String,
    doc: String,
}

#[derive(Serialize)]
struct Listed {
    model: String,
    features: Vec<FeatureEntry>,
    constraints: Vec<String>,
    /// Named products, with their features.
    named: BTreeMap<&'static str, String>,
}

impl List {
    fn run(self) -> Outcome {
        let model = self.model.load()?;
        let entry = |slot: &str, feature: &String| FeatureEntry {
            slot: slot.to_owned(),
            feature: feature.clone(),
            doc: doc(feature),
        };
        let of = |slot: &hearth_features::Slot| {
            slot.features.iter().map(|feature| entry(&slot.name, feature)).collect::<Vec<_>>()
        };
        let listed = Listed {
            model: model.name().to_owned(),
            features: model.slots().iter().flat_map(of).collect(),
            constraints: model.constraints().map(str::to_owned).collect(),
            named: model.points().into_iter().map(|(name, product)| (name, product.name())).collect(),
        };
        output::print(self.json, &Document { schema: "hearth.features/1", content: &listed }, || {
            let columns: [Column<&FeatureEntry>; 3] = [
                ("slot", |entry| entry.slot.clone()),
                ("feature", |entry| entry.feature.clone()),
                ("", |entry| sentence(&entry.doc)),
            ];
            let mut named = Plain::new(2);
            for (name, product) in &listed.named {
                named.row(&[name, product.as_str()]);
            }
            table(3, &columns, &listed.features) + "\n" + &named.render()
        })
    }
}

/// The first sentence of a comment.
fn sentence(doc: &str) -> String {
    doc.split_once(". ").map_or_else(|| doc.trim_end_matches('.').to_owned(), |(first, _)| first.to_owned())
}

#[derive(Serialize)]
struct Counted {
    model: String,
    slots: usize,
    features: usize,
    products: usize,
}

impl Count {
    fn run(self) -> Outcome {
        let model = self.model.load()?;
        let counted = Counted {
            model: model.name().to_owned(),
            slots: model.slots().len(),
            features: model.features().count(),
            products: model.products().len(),
        };
        output::print(self.json, &Document { schema: "hearth.features-count/1", content: &counted }, || {
            format!(
                "{} features in {} slots, {} products\n",
                counted.features, counted.slots, counted.products
            )
        })
    }
}

#[derive(Serialize)]
struct Param {
    name: String,
    default: String,
    doc: String,
}

#[derive(Serialize)]
struct ProductDetails {
    product: String,
    model: String,
    /// The feature for each slot; `no` for none.
    features: Vec<(String, String)>,
    params: Vec<Param>,
    /// `null` for a product that is not judged.
    verdicts: Vec<(Claim, Option<Verdict>)>,
}

impl ProductDetails {
    fn of(name: &str) -> Result<ProductDetails, Failure> {
        let (model, product) = find(name)?;
        let policy = crate::policy::load(&product.name())?;
        let param = |param: &hearth_policy::Param| Param {
            name: param.name.clone(),
            default: param.unit.show(param.initial),
            doc: param.doc.clone(),
        };
        let stored = Stored::load();
        let verdict = |claim| (claim, stored.verdict(&model, &product, claim));
        let slots = model.slots().iter().map(|slot| (slot.name.clone(), slot.value(&product).to_owned()));
        Ok(ProductDetails {
            product: product.name(),
            model: model.name().to_owned(),
            features: slots.collect(),
            params: policy.params().iter().map(param).collect(),
            verdicts: Claim::ALL.into_iter().map(verdict).collect(),
        })
    }
}

impl Show {
    fn run(self) -> Outcome {
        let shown = ProductDetails::of(&self.product.product)?;
        output::print(self.json, &Document { schema: "hearth.product/1", content: &shown }, || {
            let mut features = Plain::new(3);
            for (slot, feature) in &shown.features {
                features.row(&[slot, feature, &sentence(&doc(feature))]);
            }
            let mut params = Plain::new(3);
            for param in &shown.params {
                params.row(&[&param.name, &param.default, &param.doc]);
            }
            let mut verdicts = Plain::new(3);
            for (claim, verdict) in &shown.verdicts {
                verdicts.row(&[claim.name(), name(verdict), &schedule(verdict)]);
            }
            let parts = [features.render(), params.render(), verdicts.render()];
            format!("{}\n\n{}", shown.product, parts.join("\n"))
        })
    }
}

fn name(verdict: &Option<Verdict>) -> &'static str {
    verdict.as_ref().map_or("not judged", Verdict::name)
}

/// Where a violation is found, or how to get a verdict; empty for another verdict.
fn schedule(verdict: &Option<Verdict>) -> String {
    match verdict {
        Some(Verdict::Refuted { scenario, .. }) => format!("for example in scenario {scenario}"),
        Some(_) => String::new(),
        None => "run: hearth features prove --model MODEL PRODUCT".into(),
    }
}

#[derive(Serialize)]
struct Compared {
    products: [ProductDetails; 2],
}

impl Diff {
    fn run(self) -> Outcome {
        let compared =
            Compared { products: [ProductDetails::of(&self.first)?, ProductDetails::of(&self.second)?] };
        let [a, b] = &compared.products;
        if a.model != b.model {
            return Err(Failure::new(format_args!(
                "the products are of two models: {} and {}",
                a.model, b.model
            )));
        }
        output::print(self.json, &Document { schema: "hearth.products/1", content: &compared }, || {
            let [a, b] = &compared.products;
            let mut table = Plain::new(3);
            for ((slot, first), (_, second)) in a.features.iter().zip(&b.features) {
                if first != second {
                    table.row(&[slot, first, second]);
                }
            }
            for ((claim, first), (_, second)) in a.verdicts.iter().zip(&b.verdicts) {
                if name(first) != name(second) {
                    table.row(&[claim.name(), name(first), name(second)]);
                }
            }
            let text = table.render();
            if text.is_empty() { "the products are the same\n".into() } else { text }
        })
    }
}

#[derive(Serialize)]
struct JudgedProduct<'a> {
    product: String,
    verdicts: Vec<(Claim, &'a Verdict)>,
}

#[derive(Serialize)]
struct Judgements<'a> {
    model: &'a str,
    obligations: usize,
    goals: usize,
    products: Vec<JudgedProduct<'a>>,
}

impl Prove {
    fn run(self) -> Outcome {
        let start = Instant::now();
        let model = self.model.load()?;
        let some: Vec<Product> =
            self.products.iter().map(|name| model.product_of(name)).collect::<Result<_, _>>()?;
        let products = if some.is_empty() { model.products() } else { some };
        let mut options = Options::default();
        if self.jobs.threads() > 0 {
            options.at_once = self.jobs.threads();
        }
        let cache = hearth_base::paths::cache("proofs");
        if !self.anew {
            options.known = ProofCache::load(&cache);
        }
        let judgement = progress::meanwhile("proving", || judge(&products, &options))?;
        // Failure to write the cache only makes the next run slower.
        let _ = options.known.save(&cache);
        let content = Judgements {
            model: model.name(),
            obligations: judgement.obligations,
            goals: judgement.goals,
            products: judgement.judged.iter().map(judged_product).collect(),
        };
        output::print(self.json, &Document { schema: "hearth.verdicts/1", content }, || {
            let table = match self.products.is_empty() {
                true => rules(&model, &judgement),
                false => rows(&judgement),
            };
            let Judgement { judged, obligations, goals } = &judgement;
            format!(
                "{table}\n{} products, {obligations} obligations of which {goals} differ, {:.0} s\n",
                judged.len(),
                start.elapsed().as_secs_f64()
            )
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn judged_product(judged: &ProductVerdicts) -> JudgedProduct<'_> {
    let verdicts = Claim::ALL.into_iter().map(|claim| (claim, judged.verdict(claim))).collect();
    JudgedProduct { product: judged.product.name(), verdicts }
}

/// The verdicts by features.
fn rules(model: &Model, judgement: &Judgement) -> String {
    let verdicts = Verdicts::of(model, judgement);
    let mut table = Plain::new(5);
    table.head(&["claim", "verdict", "products", "features", "schedule"]);
    for rules in &verdicts.claims {
        for rule in &rules.rules {
            let schedule = match &rule.verdict {
                Verdict::Refuted { scenario, steps } => {
                    format!("{scenario}, {steps} steps: {}", rule.example)
                }
                _ => String::new(),
            };
            let products = rule.products.to_string();
            table.row(&[rules.claim.name(), rule.verdict.name(), &products, &when(rule), &schedule]);
        }
    }
    table.render()
}

/// The verdicts on each product.
fn rows(judgement: &Judgement) -> String {
    let mut table = Plain::new(1 + Claim::ALL.len());
    let names = Claim::ALL.map(Claim::name);
    table.head(&[&["product"], &names[..]].concat());
    for judged in &judgement.judged {
        let cell = |verdict: &Verdict| match verdict {
            Verdict::Refuted { scenario, steps } => format!("refuted: {scenario}, {steps} steps"),
            other => other.name().to_owned(),
        };
        let cells: Vec<String> = judged.verdicts.iter().map(cell).collect();
        table.row(&[&[judged.product.name()], &cells[..]].concat());
    }
    table.render()
}
