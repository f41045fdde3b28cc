use crate::failure::{Failure, Outcome};
use crate::{output, progress};
use hearth_modelcheck::standard_scenarios;
use hearth_mutate::{
    Judge, Judged, ModelChecker, Mutant, Operator, Prover, Score, Subject, Verdict, judge_all, mutants,
};
use hearth_policy::Settings;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Break a policy in the small ways in which schedulers broke, and look whether anything notices
///
/// Each mutant has one change. It is compiled (`hearth check`), and explored in every scenario in which the policy
/// itself holds (`hearth modelcheck`), for what the policy keeps there; so that a mutant of a policy that is not
/// work-conserving is not held to that. What nobody notices survives. Exits with 0 whatever comes out.
#[derive(clap::Args)]
pub struct Args {
    /// A policy: a built-in one (`hearth list policies`), or the path of an .ipa file
    #[arg(value_name = "POLICY")]
    policy: String,

    /// Only mutants of these operators; without any, of all
    #[arg(value_name = "OPERATOR")]
    operators: Vec<Operator>,

    /// Change the policy's own text only, not that of its bases
    #[arg(long)]
    own: bool,

    /// Stop exploring a scenario behind so many states
    #[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_states: u32,

    /// Ask the provers about those that the checker does not refute: does one lose an obligation that the policy meets
    /// (`hearth prove`)? Takes seconds for each
    #[arg(long)]
    prove: bool,

    /// Mutants at a time [default: one on each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Only list the mutants
    #[arg(long)]
    list: bool,

    /// Print JSON (schema hearth.mutate/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
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
    cwc: bool,
    collisions: bool,
    complete: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        let subject = Subject::new(hearth_policy::load(&self.policy)?);
        let mut wanted = mutants(&subject);
        wanted.retain(|mutant| {
            (self.operators.is_empty() || self.operators.contains(&mutant.operator))
                && (!self.own || subject.is_own(mutant))
        });
        if self.list {
            let all: String = wanted.iter().map(shown).collect();
            output::text(&all)?;
            return Ok(ExitCode::SUCCESS);
        }
        let states = self.max_states as usize;
        let checker = ModelChecker::new(&subject.policy, standard_scenarios(), Settings::default(), states)
            .map_err(Failure::new)?;
        let jobs = self
            .jobs
            .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let prover = if self.prove { Some(Prover::new(&subject.policy)?) } else { None };
        let judges: Vec<&dyn Judge> =
            std::iter::once(&checker as &dyn Judge).chain(prover.iter().map(|prover| prover as _)).collect();
        let bar = progress::bar("judging", wanted.len());
        let judged = judge_all(&subject, wanted, &judges, jobs, &|| bar.inc(1));
        bar.finish_and_clear();
        if self.json {
            let scenarios = checker.promises().map(|(scenario, promise, complete)| Kept {
                scenario,
                cwc: promise.cwc,
                collisions: promise.collisions,
                complete,
            });
            output::json(&Json {
                schema: "hearth.mutate/1",
                policy: subject.policy.name(),
                max_states: self.max_states,
                scenarios: scenarios.collect(),
                score: Score::of(&judged),
                mutants: &judged,
            })?;
        } else {
            let all: String = judged.iter().map(|one| shown(&one.mutant) + &told(&one.verdict)).collect();
            output::text(&format!("{all}\n{}", summary(&Score::of(&judged))))?;
        }
        Ok(ExitCode::SUCCESS)
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

fn shown(mutant: &Mutant) -> String {
    let Mutant { file, line, operator, before, after, .. } = mutant;
    let file = Path::new(file).file_name().map_or_else(|| file.clone(), |name| name.display().to_string());
    format!("{file}:{line}: {operator}\n  - {before}\n  + {after}\n")
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Rejected { code, message } => format!("  does not compile: {code}: {message}\n"),
        Verdict::Refuted(kill) => {
            format!("  refuted by {}: {} after {} steps\n", kill.by, kill.property, kill.steps)
        }
        Verdict::Unproved { obligation } => format!("  loses a proof: {obligation}\n"),
        Verdict::Survives => "  survives\n".to_owned(),
    }
}
