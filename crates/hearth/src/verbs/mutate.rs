use crate::arguments::{Jobs, PolicyFile, examples};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::progress;
use hearth_modelcheck::standard_scenarios;
use hearth_mutate::{
    Judge, Judged, ModelChecker, Mutant, Operator, Promise, Prover, Score, Subject, Verdict, judge_all,
    mutants,
};
use hearth_policy::Settings;
use serde::Serialize;
use std::path::Path;

/// Test the checks with mutants of a policy: small bugs
///
/// Each mutant has one change: a bug that real schedulers had. The compiler (`hearth check`) may reject it, and the model checker (`hearth
/// modelcheck`) may refute it: the mutant must keep the properties that the policy itself keeps in each
/// scenario. Prints the verdict on each mutant, and the share of mutants detected. The exit status does not
/// depend on the verdicts.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth mutate ule-cwc --own",
    "hearth mutate ./mine.ipa --list",
]))]
pub struct Args {
    #[command(flatten)]
    source: PolicyFile,

    /// Mutation operators [default: all]
    #[arg(value_name = "OPERATOR")]
    operators: Vec<Operator>,

    /// Mutate the policy's own text only, not its base policies
    #[arg(long)]
    own: bool,

    /// Stop the exploration of a scenario after N states
    #[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_states: u32,

    /// Also run the provers (`hearth prove`) on mutants that are not refuted: a mutant is detected if an
    /// obligation that the policy meets no longer holds. Takes seconds per mutant
    #[arg(long)]
    prove: bool,

    #[command(flatten)]
    jobs: Jobs,

    /// List the mutants without testing them
    #[arg(long)]
    list: bool,

    /// Print JSON (schema hearth.mutate/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    policy: &'a str,
    max_states: u32,
    /// What the policy itself keeps.
    scenarios: Vec<Kept<'a>>,
    score: Score,
    mutants: &'a [Judged],
}

#[derive(Serialize)]
struct Kept<'a> {
    scenario: &'a str,
    #[serde(flatten)]
    promise: Promise,
    complete: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        let subject = Subject::new(hearth_policy::load(&self.source.policy)?);
        let mut wanted = mutants(&subject);
        wanted.retain(|mutant| {
            (self.operators.is_empty() || self.operators.contains(&mutant.operator))
                && (!self.own || subject.is_own(mutant))
        });
        if self.list {
            return output::text(&wanted.iter().map(mutant_text).collect::<String>());
        }
        let states = self.max_states as usize;
        let checker = ModelChecker::new(&subject.policy, standard_scenarios(), Settings::default(), states)
            .map_err(Failure::new)?;
        let prover = if self.prove { Some(Prover::new(&subject.policy)?) } else { None };
        let judges: Vec<&dyn Judge> =
            std::iter::once(&checker as &dyn Judge).chain(prover.iter().map(|prover| prover as _)).collect();
        let judged = progress::during("judging", wanted.len(), |step| {
            judge_all(&subject, wanted, &judges, self.jobs.threads(), step)
        });
        let kept = |(scenario, promise, complete)| Kept { scenario, promise, complete };
        let content = Json {
            policy: subject.policy.name(),
            max_states: self.max_states,
            scenarios: checker.promises().map(kept).collect(),
            score: Score::of(&judged),
            mutants: &judged,
        };
        output::print(self.json, &Document { schema: "hearth.mutate/1", content }, || {
            let mutants = judged.iter().map(|one| mutant_text(&one.mutant) + &verdict_text(&one.verdict));
            mutants.collect::<String>() + "\n" + &summary(&Score::of(&judged))
        })
    }
}

fn summary(score: &Score) -> String {
    let Score { mutants, rejected, refuted, unproved, survive } = score;
    let percent = 100.0 * score.noticed();
    let lose = if *unproved == 0 { String::new() } else { format!("{unproved} lose a proof, ") };
    format!(
        "{mutants} mutants: {rejected} do not compile, {refuted} refuted, {lose}{survive} survive; {percent:.0}% noticed\n"
    )
}

fn mutant_text(mutant: &Mutant) -> String {
    let Mutant { file, line, operator, before, after, .. } = mutant;
    let file = Path::new(file).file_name().map_or_else(|| file.clone(), |name| name.display().to_string());
    format!("{file}:{line}: {operator}\n  - {before}\n  + {after}\n")
}

fn verdict_text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Rejected { code, message } => format!("  does not compile: {code}: {message}\n"),
        Verdict::Refuted(kill) => {
            format!("  refuted by {}: {} after {} steps\n", kill.by, kill.property, kill.steps)
        }
        Verdict::Unproved { obligation } => format!("  loses a proof: {obligation}\n"),
        Verdict::Survives => "  survives\n".to_owned(),
    }
}
