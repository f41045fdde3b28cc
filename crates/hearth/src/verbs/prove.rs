use crate::failure::{Failure, Outcome};
use crate::output;
use crate::policy;
use crate::table::Plain;
use hearth_modelcheck::{Counterexample, check, standard_scenarios};
use hearth_policy::Policy;
use hearth_prove::{Options, ProofCache, Property, Proved, Report, Verdict, invariants, prove, theorems};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prove a policy: work conservation, progress of steals, invariants
///
/// Makes WhyML of it, which Why3 and its provers check. Exits with 0 only if all obligations hold. Where
/// one does not, small machines are searched for a schedule that goes wrong.
#[derive(clap::Args)]
pub struct Args {
    /// A policy file, or the name of a built-in policy
    #[arg(value_name = "FILE.ipa")]
    policy: String,
    /// Prove only this; may be given more than once
    #[arg(long = "property", value_name = "PROPERTY", value_parser = ["conservation", "progress", "invariants"])]
    properties: Vec<String>,
    /// Prove everything anew, also what was proved by an earlier run (which is kept in ~/.cache/hearth/proofs)
    #[arg(long)]
    anew: bool,
    /// Keep the WhyML in this folder
    #[arg(long, value_name = "DIR")]
    why: Option<PathBuf>,
    /// Print JSON (schema hearth.prove/1) instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Printed<'a> {
    schema: &'static str,
    holds: bool,
    #[serde(flatten)]
    report: &'a Report,
    counterexample: Option<&'a Counterexample>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let policy = policy::load(&self.policy)?;
        let mut options = Options { keep: self.why.clone(), ..Options::default() };
        if !self.properties.is_empty() {
            options.properties.retain(|p| self.properties.iter().any(|name| name == p.name()));
        }
        let theorems = theorems(policy.ir(), &invariants(policy.ir()));
        let cache = hearth_base::paths::cache("proofs");
        if !self.anew {
            options.known = ProofCache::load(&cache);
        }
        let report = prove(policy.ir(), &theorems, &options)?;
        // Without it the next run takes longer, and that is all.
        let _ = options.known.save(&cache);
        let counterexample = if report.holds() { None } else { counterexample(&policy) };
        if self.json {
            let holds = report.holds();
            let counterexample = counterexample.as_ref();
            output::json(&Printed { schema: "hearth.prove/1", holds, report: &report, counterexample })?;
        } else {
            output::text(&table(&report))?;
            output::text(&reused(options.known.used()))?;
            if !report.holds() {
                output::text(&advice(&self.policy, counterexample.as_ref()))?;
            }
        }
        if report.holds() { Ok(ExitCode::SUCCESS) } else { Err(Failure::quiet()) }
    }
}

fn reused(answers: usize) -> String {
    match answers {
        0 => String::new(),
        1 => "One of them, or a part of one, was proved by an earlier run (--anew proves all again)\n".into(),
        n => format!("{n} of them and their parts were proved by earlier runs (--anew proves all again)\n"),
    }
}

/// How many states of each scenario are looked at: that takes a second or two.
const STATES: usize = 2_000;

/// The shortest schedule of the first scenario in which something goes wrong.
fn counterexample(policy: &Policy) -> Option<Counterexample> {
    let options = hearth_modelcheck::Options { max_states: STATES, cwc: true, ..Default::default() };
    let violation = |scenario| check(policy, &scenario, &options).ok()?.violation;
    standard_scenarios().into_iter().find_map(violation)
}

fn advice(policy: &str, counterexample: Option<&Counterexample>) -> String {
    match counterexample {
        Some(found) => {
            format!("\n{found}\n\n`hearth modelcheck {policy}` shows all that it finds on small machines.\n")
        }
        None => format!(
            "\nWhat is not proved may still hold. No counter-example is among the first {STATES} states of each scenario;\n\
             `hearth modelcheck {policy}` looks at more.\n"
        ),
    }
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    for property in Property::ALL {
        let obligations: Vec<&Proved> = report.of(property).collect();
        if obligations.is_empty() {
            continue;
        }
        let mut table = Plain::new(4);
        table.head(&[property.name(), "obligation", "line", "verdict", "s"]);
        for proved in &obligations {
            let o = &proved.obligation;
            let line = if o.line == 0 { "-".into() } else { format!("{}:{}", o.policy, o.line) };
            let seconds = format!("{:.2}", proved.seconds);
            table.row(&[&o.id.about, &o.id.what, &line, &verdict(&proved.verdict), &seconds]);
        }
        text += &table.render();
        text += "\n";
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
