use crate::arguments::{PolicyFile, examples};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::table::{Column, table};
use crate::{policy, progress};
use hearth_modelcheck::{Counterexample, Rounds, WITHIN, check, standard_scenarios};
use hearth_policy::Policy;
use hearth_prove::{
    COVERED, CodeFunction, CodeOptions, CodeReport, Options, ProofCache, Property, Proved, Report, Verdict,
    goals, invariants, prove_code, prove_watched, theorems,
};
use serde::Serialize;
use std::path::PathBuf;

/// Prove a policy: conservation, progress, invariants, waiting
///
/// Translates the policy to WhyML and runs Why3 and its provers. Prints a table of proof obligations. If one
/// does not hold, searches small machines for a counterexample. Exits with 0 only if all obligations hold.
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
    holds: bool,
    #[serde(flatten)]
    report: &'a Report,
    counterexample: Option<&'a Counterexample>,
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
        let report = progress::during("proving", goals(&theorems, &options), |step| {
            prove_watched(policy.ir(), &theorems, &options, step)
        })?;
        // Failure to write the cache only makes the next run slower.
        let _ = options.known.save(&cache);
        let holds = report.holds();
        let search = || counterexample(&policy, &report);
        let counterexample =
            if holds { None } else { progress::meanwhile("searching for a counterexample", search) };
        let counterexample = counterexample.as_ref();
        let content = Printed { holds, report: &report, counterexample };
        let shown = output::print(self.json, &Document { schema: "hearth.prove/1", content }, || {
            let advice = if holds { String::new() } else { advice(&self.source.policy, counterexample) };
            text(&report) + &reused(options.known.used()) + &advice
        })?;
        if holds { Ok(shown) } else { Err(Failure::quiet()) }
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

fn reused(answers: usize) -> String {
    match answers {
        0 => String::new(),
        1 => "1 obligation or part of one was proved by an earlier run (--anew ignores it)\n".into(),
        n => format!("{n} obligations and parts of them were proved by earlier runs (--anew ignores them)\n"),
    }
}

/// States explored of each scenario, which takes a second or two.
const STATES: usize = 2_000;

/// The shortest schedule to a violation of what is not proved, in the first scenario that has one.
fn counterexample(policy: &Policy, report: &Report) -> Option<Counterexample> {
    let open = |property| report.of(property).any(|proved| !proved.verdict.holds());
    let waiting = open(Property::Waiting);
    let options = hearth_modelcheck::Options {
        max_states: STATES,
        cwc: open(Property::Conservation),
        livelock: waiting,
        within: waiting.then_some(WITHIN),
        rounds: waiting.then_some(Rounds { count: 1, overlap: false }),
        ..Default::default()
    };
    let violation = |scenario| check(policy, &scenario, &options).ok()?.violation;
    standard_scenarios().into_iter().find_map(violation)
}

fn advice(policy: &str, counterexample: Option<&Counterexample>) -> String {
    match counterexample {
        Some(found) => {
            format!("\n{found}\n\n`hearth modelcheck {policy}` shows the violations in all scenarios.\n")
        }
        None => format!(
            "\nAn unproved obligation may still hold. The first {STATES} states of each scenario contain no violation;\n\
             `hearth modelcheck {policy}` explores more.\n"
        ),
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for property in Property::ALL {
        let mut obligations = report.of(property).peekable();
        if obligations.peek().is_some() {
            let columns: [Column<&Proved>; 5] = [
                (property.name(), |proved| proved.obligation.id.about.clone()),
                ("obligation", |proved| proved.obligation.id.what.clone()),
                ("line", |proved| match &proved.obligation {
                    o if o.line == 0 => "-".into(),
                    o => format!("{}:{}", o.policy, o.line),
                }),
                ("verdict", |proved| verdict(&proved.verdict)),
                ("s", |proved| format!("{:.2}", proved.seconds)),
            ];
            text += &(table(4, &columns, obligations) + "\n");
        }
    }
    let held = report.obligations.iter().filter(|o| o.verdict.holds()).count();
    let all = report.obligations.len();
    text + &format!("policy `{}`: {held} of {all} obligations hold\n", report.policy)
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds { prover } => format!("holds ({prover})"),
        Verdict::RestsOn { missing } => format!("rests on {missing}"),
        Verdict::NotProved { .. } => "NOT PROVED".into(),
        Verdict::NotModelled { construct } => format!("NOT PROVABLE: not modelled: {construct}"),
    }
}
