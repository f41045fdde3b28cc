//! Replays a schedule that the model checker found, as a trace.

use crate::combinations::ReplayFlags;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::policy;
use crate::table::number;
use hearth_modelcheck::{CheckError, Counterexample, HELD, Violation, trace};
use hearth_study::measure::without_percentiles;
use hearth_trace::Summary;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Json<'a> {
    policy: &'a str,
    scenario: &'a str,
    violation: &'a Violation,
    /// The steps as text.
    schedule: &'a [String],
    #[serde(serialize_with = "without_percentiles")]
    summary: &'a Summary,
}

pub fn run(path: &Path, flags: &ReplayFlags<'_>) -> Outcome {
    flags.output.map_or(Ok(()), output::check_trace)?;
    let found = read(path)?;
    let name = flags.policy.unwrap_or(&found.policy);
    if flags.policy.is_none() && !hearth_policy::names().contains(&name) {
        return Err(Failure::new(format_args!(
            "{} is a schedule of policy `{name}`, which is not built in",
            path.display()
        ))
        .help("name the policy's file: --policy FILE.ipa"));
    }
    let policy = policy::load(name)?;
    let trace = trace(&policy, &found).map_err(|error| unfit(path, &error))?;
    let summary = trace.summary();
    if let Some(output) = flags.output {
        trace.write(output)?;
    }
    let content = Json {
        policy: &found.policy,
        scenario: &found.scenario.name,
        violation: &found.violation,
        schedule: &found.schedule,
        summary: &summary,
    };
    output::print(flags.json, &Document { schema: "hearth.replay/1", content }, || text(&found, &summary))
}

fn read(path: &Path) -> Result<Counterexample, Failure> {
    Counterexample::from_json(&output::read("the schedule", path)?).map_err(|error| {
        Failure::new(format_args!("cannot replay {}: {error}", path.display()))
            .help("write a schedule with: hearth modelcheck POLICY --output FILE")
    })
}

fn unfit(path: &Path, error: &CheckError) -> Failure {
    let failure = Failure::new(format_args!("cannot replay {}: {error}", path.display()));
    match error {
        CheckError::OtherPolicy { .. } => failure.help("name the policy of the schedule: --policy"),
        CheckError::OtherShape { .. } | CheckError::Impossible { .. } | CheckError::Harmless { .. } => {
            failure.help("search for a new schedule: hearth modelcheck POLICY --output FILE")
        }
        _ => failure,
    }
}

/// The schedule and the metrics of its trace.
fn text(found: &Counterexample, summary: &Summary) -> String {
    format!(
        "{found}\n\n{} events in {} ms, of which the last {} ms show the final state; overload {} core·ms\n",
        summary.events,
        number(summary.duration_s * 1e3),
        HELD / 1_000_000,
        number(summary.overload_core_ms)
    )
}
