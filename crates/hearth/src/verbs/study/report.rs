use crate::failure::{Failure, Outcome};
use crate::output::{self, Document, count};
use crate::table::{Column, number, percent, table};
use hearth_features::Model;
use hearth_report::study;
use hearth_study::methodology::{
    Effect, Feature, Finding, Method, Scheduler, Slot, Space, Standing, Verdict, findings,
};
use hearth_study::sweep::read;
use hearth_study::tune::{Pool, importance};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Find the features of a scheduler that matter for each application of a table of `hearth study run`
///
/// Best are the schedulers at most 10% slower than the best one. A feature that more than 80% of them have is good, one that
/// less than 20% have is bad. R is the share of Best with all good features and no bad one; P is the share of Best
/// among all schedulers with these.
#[derive(clap::Args)]
pub struct Args {
    /// The table
    #[arg(value_name = "TABLE.parquet")]
    table: PathBuf,

    /// Show the features and the effects of one workload
    #[arg(long, value_name = "WORKLOAD")]
    application: Option<String>,

    /// The feature model of the table's policies (`hearth features list`)
    #[arg(long, value_name = "MODEL", default_value = "family")]
    model: String,

    /// Leave out schedulers whose times vary by a larger share of their mean (standard deviation)
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = share)]
    unstable: f64,

    /// The share of Best below which a feature is bad
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0, value_parser = share)]
    bad: f64,

    /// Speeds that differ by at most this share are on par
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = share)]
    par: f64,

    /// Write an HTML page with pictures: the schedulers, the features of the best, and what explains the times
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// Print JSON (schema hearth.study.report/1)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Content {
    method: Method,
    applications: Vec<Application>,
}

#[derive(Serialize)]
struct Application {
    #[serde(flatten)]
    finding: Finding,
    /// The importance of each slot in a forest.
    forest: Vec<Importance>,
}

#[derive(Serialize)]
struct Importance {
    slot: String,
    importance: f64,
}

fn share(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    (0.0..=100.0).contains(&percent).then_some(percent).ok_or_else(|| "must be between 0 and 100".into())
}

impl Args {
    pub fn run(self) -> Outcome {
        let model = Model::named(&self.model).map_err(|error| Failure::usage(error).help("try: family"))?;
        let space = hearth_study::tune::space(&model);
        let method = Method {
            unstable: self.unstable / 100.0,
            bad: self.bad / 100.0,
            par: self.par / 100.0,
            ..Method::default()
        };
        self.report.as_deref().map_or(Ok(()), output::check_writable)?;
        let mut applications = findings(&read(&self.table)?, &space, &method);
        if let Some(wanted) = &self.application {
            let all: Vec<String> = applications.iter().map(|one| one.workload.clone()).collect();
            applications.retain(|one| one.workload == *wanted);
            if applications.is_empty() {
                return Err(Failure::new(format_args!(
                    "{}: no stable product of {wanted}",
                    self.table.display()
                ))
                .help(format_args!("the table has: {}", all.join(", "))));
            }
        } else if applications.is_empty() {
            return Err(Failure::new(format_args!(
                "{}: it has no stable product of model {}",
                self.table.display(),
                model.name()
            ))
            .help("make the table with: hearth study run --products MODEL -w WORKLOAD -m MACHINE -o TABLE.parquet"));
        }
        let with_forest = |finding: Finding| Application { forest: forest(&finding, &space), finding };
        let applications = applications.into_par_iter().map(with_forest).collect();
        let text = |found: &Content| match self.application {
            Some(_) => found.applications.iter().map(one).collect(),
            None => all(&found.applications.iter().map(|one| &one.finding).collect::<Vec<_>>()),
        };
        let content = Content { method, applications };
        if let Some(path) = &self.report {
            output::file(path, page(&content, &self.table).as_bytes())?;
        }
        let document = Document { schema: "hearth.study.report/1", content: &content };
        output::print(self.json, &document, || text(&content))
    }
}

/// The importance of each slot for the stable products, the largest first.
fn forest(finding: &Finding, space: &Space) -> Vec<Importance> {
    let stable: Vec<_> = finding.schedulers.iter().filter(|one| one.stable).collect();
    let pool = Pool::from_names(space, stable.iter().map(|one| one.policy.clone()));
    let logs: Vec<f64> = stable.iter().map(|one| one.times.mean.ln()).collect();
    let shares = importance(&pool, &logs, 1);
    let each = |(slot, importance): (&Slot, f64)| Importance { slot: slot.name.clone(), importance };
    let mut all: Vec<Importance> = space.slots.iter().zip(shares).map(each).collect();
    all.sort_by(|a, b| b.importance.total_cmp(&a.importance));
    all
}

/// The page with pictures.
fn page(content: &Content, table: &Path) -> String {
    let name = table.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    // What all have in common is said once.
    let place = |one: &Application| format!(" on {} under {}", one.finding.machine, one.finding.governor);
    let places: BTreeSet<String> = content.applications.iter().map(place).collect();
    let common = places.first().filter(|_| places.len() == 1).cloned().unwrap_or_default();
    study::render(&study::Page {
        provenance: crate::provenance::line(),
        title: "Which features of a scheduler matter".into(),
        subtitle: format!("{}{common}, from {name}.", count(content.applications.len(), "application")),
        best: content.method.best,
        good: content.method.good,
        bad: content.method.bad,
        applications: content
            .applications
            .iter()
            .map(|one| shown(one, if common.is_empty() { place(one) } else { String::new() }))
            .collect(),
    })
}

fn shown(application: &Application, place: String) -> study::Application {
    let found = &application.finding;
    let (baseline, time) = match &found.baseline {
        Some(base) => (base.policy.clone(), base.time_s),
        None => (found.fastest.clone(), found.schedulers.first().map_or(1.0, |one| one.times.mean)),
    };
    let scheduler = |one: &Scheduler| study::Scheduler {
        name: one.policy.clone(),
        mean: one.times.mean / time,
        deviation: one.times.deviation / time,
        stable: one.stable,
    };
    let feature = |one: &Feature| study::Feature {
        slot: one.slot.clone(),
        name: one.feature.clone(),
        share: one.share,
    };
    let effect = |one: &Importance| study::Effect {
        slot: one.slot.clone(),
        alone: explained(found, |slots| slots == [one.slot.clone()]),
        with_another: explained(found, |slots| slots.len() > 1 && slots.contains(&one.slot)),
        forest: one.importance,
    };
    study::Application {
        name: found.workload.clone() + &place,
        summary: summary(found),
        baseline,
        schedulers: found.schedulers.iter().map(scheduler).collect(),
        features: found.features.iter().map(feature).collect(),
        effects: application.forest.iter().map(effect).collect(),
        policies: found.policies.iter().map(|one| (one.policy.clone(), one.time_s / time)).collect(),
    }
}

fn explained(found: &Finding, counts: impl Fn(&[String]) -> bool) -> f64 {
    found.effects.iter().filter(|effect| counts(&effect.slots)).map(|effect| effect.explained).sum()
}

fn summary(found: &Finding) -> String {
    let mut text = standing(found);
    if found.distinguishes() {
        text += &format!(" {}.", fit(found));
    }
    for policy in &found.policies {
        text += &format!(
            " Speed-up of the fastest over {}: {}; {} of the products vary less than it.",
            policy.policy,
            percent(policy.speedup),
            whole(policy.steadier)
        );
    }
    text
}

/// `431 of 486 products are stable, and 385 of these are best. The fastest is A.`
fn standing(found: &Finding) -> String {
    let stable = found.products - found.unstable;
    let are = if stable == 1 { "is" } else { "are" };
    let all = count(found.products, "product");
    let best = match found.distinguishes() {
        true => format!("and {} of these {} best", found.best, if found.best == 1 { "is" } else { "are" }),
        false => "and all of these are best: this workload does not distinguish schedulers".into(),
    };
    format!("{stable} of {all} {are} stable, {best}. The fastest is {}.", found.fastest)
}

/// `R 100%, P 89%`, in words.
fn fit(found: &Finding) -> String {
    format!(
        "Of the best, {} have all good features and no bad one (R); of the products with these, {} are best (P)",
        whole(found.representativeness),
        whole(found.precision)
    )
}

/// A line for each application, and what they have in common.
fn all(found: &[&Finding]) -> String {
    let named = |found: &Finding, verdict| {
        let named =
            found.features.iter().filter(|one| one.verdict == verdict).map(|one| one.feature.as_str());
        named.collect::<Vec<_>>().join(" ")
    };
    let columns: [Column<(&Finding, String, String)>; 10] = [
        ("application", |(one, ..)| one.workload.clone()),
        ("machine", |(one, ..)| one.machine.clone()),
        ("good", |(_, good, _)| good.clone()),
        ("bad", |(.., bad)| bad.clone()),
        ("fastest", |(one, ..)| one.fastest.clone()),
        ("stable", |(one, ..)| format!("{} of {}", one.products - one.unstable, one.products)),
        ("best", |(one, ..)| one.best.to_string()),
        ("R", |(one, ..)| whole(one.representativeness)),
        ("P", |(one, ..)| whole(one.precision)),
        ("speed-up", |(one, ..)| {
            one.baseline.as_ref().map_or_else(String::new, |base| percent(base.speedup))
        }),
    ];
    let rows = found.iter().map(|&one| (one, named(one, Verdict::Good), named(one, Verdict::Bad)));
    let mut text = table(5, &columns, rows);
    text += "\nR: share of the best with all good features and no bad one. P: share of the best among the products with these.\n";
    let alike: Vec<&str> =
        found.iter().filter(|one| !one.distinguishes()).map(|one| one.workload.as_str()).collect();
    if !alike.is_empty() {
        text += &format!(
            "{} not distinguish schedulers, because all stable products are best: {}.\n",
            if alike.len() == 1 {
                "One application does".into()
            } else {
                format!("{} applications do", alike.len())
            },
            alike.join(", ")
        );
    }
    let compared: Vec<_> = found.iter().filter_map(|one| one.baseline.as_ref()).collect();
    if let Some(first) = compared.first() {
        let of = |standing| compared.iter().filter(|base| base.standing == standing).count();
        let (better, worse) = (of(Standing::Better), of(Standing::Worse));
        let steadier = compared.iter().filter(|base| base.steadier > 0.5).count();
        text += &format!(
            "The fastest product against {}: better for {better} of {}, worse for {worse}, on par for the others.\n\
             {} varies more than most products for {}.\n",
            first.policy,
            count(compared.len(), "application"),
            first.policy,
            count(steadier, "application"),
        );
    }
    text
}

/// The features and effects of one application.
fn one(application: &Application) -> String {
    let found = &application.finding;
    let features: [Column<&Feature>; 5] = [
        ("slot", |one| one.slot.clone()),
        ("feature", |one| one.feature.clone()),
        ("", |one| verdict(one.verdict).into()),
        ("in best", |one| one.count.to_string()),
        ("share", |one| whole(one.share)),
    ];
    let effects: [Column<&Effect>; 2] = [
        ("slots", |one| one.slots.join(" × ")),
        ("explained", |one| format!("{:.1}%", one.explained * 100.0)),
    ];
    let mut text =
        format!("{} on {} under {}: {}\n\n", found.workload, found.machine, found.governor, standing(found));
    text += &table(3, &features, &found.features);
    text += &format!("\n{}.\n", fit(found));
    for base in &found.policies {
        text += &format!(
            "Speed-up of the fastest product over {1}: {0}. {2} of the products vary less than {3}, whose times vary by {4}%.\n",
            percent(base.speedup),
            base.policy,
            whole(base.steadier),
            base.policy,
            number(base.deviation * 100.0)
        );
    }
    let large: Vec<&Effect> = found.effects.iter().filter(|one| one.explained >= 0.001).collect();
    text += &format!("\n{}", table(1, &effects, large));
    let importance: [Column<&Importance>; 2] =
        [("slot", |one| one.slot.clone()), ("in a forest", |one| format!("{:.1}%", one.importance * 100.0))];
    text + "\n" + &table(1, &importance, &application.forest) + "\n"
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Bad => "bad",
        Verdict::Neutral => "",
    }
}

/// A share in whole per cent.
fn whole(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
