mod check;

use crate::arguments::{PolicyFile, examples};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::table::{Column, table};
use crate::{policy, progress};
use check::Check;
use hearth_modelcheck::Counterexample;
use hearth_policy::Policy;
use hearth_prove::{
    COVERED, CodeFunction, CodeOptions, CodeReport, Id, Options, ProofCache, Property, Proved, Report,
    Theorems, assumptions, fails_too, goals, invariants, prove_code, prove_watched, theorems,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Prove a policy: conservation, progress, invariants, waiting
///
/// Checks small machines first, as `hearth modelcheck` does: what that refutes is never called proved. Then translates the
/// policy to WhyML and runs Why3 and its provers. Prints a table of proof obligations: first those that a change of a
/// base broke, if the policy extends one. Exits with 0 only if all obligations hold and nothing is refuted.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth prove ule --property conservation",
    "hearth prove ./mine.ipa --why theorems",
]))]
pub struct Args {
    #[command(flatten)]
    source: PolicyFile,
    /// Prove this property only. Repeatable
    #[arg(long = "property", value_name = "PROPERTY", value_parser = ["conservation", "progress", "invariants", "waiting"])]
    properties: Vec<String>,
    /// Ignore the proofs of earlier runs, which are stored in ~/.cache/hearth/proofs
    #[arg(long)]
    anew: bool,
    /// Prove the emitted C instead: its searches and steals do what the policy says. Needs Frama-C
    #[arg(long, conflicts_with_all = ["properties", "anew"])]
    code: bool,
    /// Write the WhyML files, or with --code the C with its contracts, to this folder
    #[arg(long, value_name = "DIR")]
    why: Option<PathBuf>,
    /// Print JSON (schema hearth.prove/1, with --code hearth.prove-code/1) instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Printed<'a> {
    /// All obligations hold, and nothing is refuted.
    holds: bool,
    #[serde(flatten)]
    report: &'a Report,
    check: &'a Check,
    base: Option<&'a Base>,
    counterexample: Option<&'a Counterexample>,
    assumptions: Vec<&'static str>,
}

/// The policy that the proved one changes.
#[derive(Serialize)]
struct Base {
    policy: String,
    /// The obligations that hold of neither.
    fails_too: BTreeSet<Id>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let policy = policy::load(&self.source.policy)?;
        if self.code {
            return self.run_code(&policy);
        }
        let mut options = Options { keep: self.why.clone(), ..Options::default() };
        if !self.properties.is_empty() {
            options.properties.retain(|p| self.properties.iter().any(|name| name == p.name()));
        }
        let theorems = theorems(policy.ir(), &invariants(policy.ir()));
        let cache = hearth_base::paths::cache("proofs");
        if !self.anew {
            options.known = ProofCache::load(&cache);
        }
        let survey = check::explore(&policy, &options.properties)?;
        let report = progress::during("proving", goals(&theorems, &options), |step| {
            prove_watched(policy.ir(), &theorems, &options, step)
        })?;
        // The base matters only for what went wrong.
        let changed = hearth_policy::base(&self.source.policy, &policy)
            .filter(|_| !report.holds() || !survey.violations().is_empty());
        let base = changed.as_ref().map(|base| Base::new(base, &report, &theorems, &options)).transpose()?;
        // Failure to write the cache only makes the next run slower.
        let _ = options.known.save(&cache);
        let check = Check::new(&policy, changed.as_ref(), &options.properties, &theorems, &report, &survey)?;
        let refutation = check.refutation();
        let holds = report.holds() && refutation.is_none();
        let counterexample = refutation.map(|found| &found.schedule);
        let content = Printed {
            holds,
            report: &report,
            check: &check,
            base: base.as_ref(),
            counterexample,
            assumptions: assumptions(&report),
        };
        let shown = output::print(self.json, &Document { schema: "hearth.prove/1", content }, || {
            let contradicted = check.contradiction().map_or(&[][..], |(_, proved)| proved);
            let refuted = refutation.map(|found| format!("\n{}", found.explain(changed.as_ref())));
            change(&report, base.as_ref())
                + &text(&report, contradicted)
                + &reused(options.known.used())
                + &check.summary()
                + &rests_on(&report)
                + &refuted.unwrap_or_default()
                + &advice(&self.source.policy, holds, refutation.is_some())
        })?;
        match check.contradiction() {
            Some((found, proved)) => Err(bug(&policy, found, proved)),
            None if holds => Ok(shown),
            None => Err(Failure::quiet()),
        }
    }

    fn run_code(&self, policy: &Policy) -> Outcome {
        let options = CodeOptions { keep: self.why.clone(), ..CodeOptions::default() };
        let report =
            progress::meanwhile("proving the C, which takes minutes", || prove_code(policy.ir(), &options))?;
        let holds = report.holds();
        let content = PrintedCode { holds, report: &report };
        let document = Document { schema: "hearth.prove-code/1", content };
        let shown = output::print(self.json, &document, || code(&report))?;
        if holds { Ok(shown) } else { Err(Failure::quiet()) }
    }
}

#[derive(Serialize)]
struct PrintedCode<'a> {
    holds: bool,
    #[serde(flatten)]
    report: &'a CodeReport,
}

fn code(report: &CodeReport) -> String {
    let columns: [Column<&CodeFunction>; 4] = [
        ("function", |f| f.name.clone()),
        ("line", |f| if f.line == 0 { "-".into() } else { format!("{}:{}", f.policy, f.line) }),
        ("goals", |f| format!("{} of {}", f.proved, f.goals)),
        ("verdict", |f| if f.holds() { "proved".into() } else { "NOT PROVED".into() }),
    ];
    let mut text = table(3, &columns, report.functions.iter()) + "\n";
    for function in report.functions.iter().filter(|f| !f.holds()) {
        for open in &function.open {
            text += &format!("{}: open: {open}\n", function.name);
        }
        for gap in &function.gaps {
            text += &format!("{}: no contract for {gap}\n", function.name);
        }
    }
    for word in &report.open_words {
        text += &format!("the axiom `{word}` about words is not proved\n");
    }
    if COVERED.iter().all(|(policy, _)| *policy != report.policy) {
        let covered = COVERED.map(|(policy, _)| policy).join(" and ");
        text += &format!("the C of `{}` is not covered yet; that of {covered} is\n", report.policy);
    }
    let held = report.functions.iter().filter(|f| f.holds()).count();
    text + &format!("policy `{}`: {held} of {} functions proved\n", report.policy, report.functions.len())
}

fn rests_on(report: &Report) -> String {
    let lines = assumptions(report).into_iter().map(|line| format!("  {line}\n"));
    format!("\nThe verdict rests on:\n{}", lines.collect::<String>())
}

fn reused(answers: usize) -> String {
    match answers {
        0 => String::new(),
        1 => "1 obligation or part of one was proved by an earlier run (--anew ignores it)\n".into(),
        n => format!("{n} obligations and parts of them were proved by earlier runs (--anew ignores them)\n"),
    }
}

impl Base {
    fn new(base: &Policy, report: &Report, of: &Theorems, options: &Options) -> Result<Base, Failure> {
        let prove = || fails_too(report, of, base.ir(), options);
        let fails_too = progress::meanwhile("proving what the base fails too", prove)?;
        Ok(Base { policy: base.name().to_owned(), fails_too })
    }
}

/// A verdict of the prover that the model checker refutes.
fn bug(policy: &Policy, found: &check::Violation, proved: &[Id]) -> Failure {
    let Counterexample { scenario, violation, steps, .. } = &found.schedule;
    Failure::new(format_args!(
        "hearth has a bug: of policy `{}`, {} is proved and refuted\non scenario {}, after {}: {violation}",
        policy.name(),
        check::names(proved),
        scenario.name,
        output::count(steps.len(), "step"),
    ))
    .help("do not rely on the proofs of this policy; please report it, with the policy")
}

fn advice(policy: &str, holds: bool, refuted: bool) -> String {
    match (holds, refuted) {
        (true, _) => String::new(),
        (false, true) => format!("\n`hearth modelcheck {policy}` shows the violations in all scenarios.\n"),
        (false, false) => format!(
            "\nAn unproved obligation may still hold. `hearth modelcheck {policy}` explores more states of each scenario.\n"
        ),
    }
}

/// What the change of the base broke, and what the base fails as well.
fn change(report: &Report, base: Option<&Base>) -> String {
    let Some(Base { policy: base, fails_too }) = base.filter(|_| !report.holds()) else {
        return String::new();
    };
    let (before, now): (Vec<&Proved>, Vec<&Proved>) = report
        .obligations
        .iter()
        .filter(|one| !one.verdict.holds())
        .partition(|one| fails_too.contains(&one.obligation.id));
    let mut text = match now.is_empty() {
        true => format!("the change of `{base}` breaks no obligation\n"),
        false => format!("the change of `{base}` breaks:\n{}", obligations("broken", now, &[])),
    };
    if !before.is_empty() {
        let ids: Vec<Id> = before.iter().map(|one| one.obligation.id.clone()).collect();
        text += &format!("the base `{base}` fails these too: {}\n", check::names(&ids));
    }
    text + "\n"
}

/// A table of obligations.
fn obligations<'r>(
    title: &'static str,
    all: impl IntoIterator<Item = &'r Proved>,
    contradicted: &[Id],
) -> String {
    let rows = all.into_iter().map(|proved| (proved, contradicted.contains(&proved.obligation.id)));
    let columns: [Column<(&Proved, bool)>; 5] = [
        (title, |(proved, _)| proved.obligation.id.about.clone()),
        ("obligation", |(proved, _)| proved.obligation.id.what.clone()),
        ("line", |(proved, _)| match &proved.obligation {
            o if o.line == 0 => "-".into(),
            o => format!("{}:{}", o.policy, o.line),
        }),
        ("verdict", |(proved, contradicted)| match contradicted {
            true => "PROVED AND REFUTED".into(),
            false => proved.in_words(),
        }),
        ("s", |(proved, _)| format!("{:.2}", proved.seconds)),
    ];
    table(4, &columns, rows)
}

fn text(report: &Report, contradicted: &[Id]) -> String {
    let mut text = String::new();
    for property in Property::ALL {
        let mut all = report.of(property).peekable();
        if all.peek().is_some() {
            text += &(obligations(property.name(), all, contradicted) + "\n");
        }
    }
    let holds = |o: &&Proved| o.verdict.holds() && !contradicted.contains(&o.obligation.id);
    let held = report.obligations.iter().filter(holds).count();
    let all = report.obligations.len();
    text + &format!("policy `{}`: {held} of {all} obligations hold\n", report.policy)
}
