//! A schedule that the model checker found, once more: as a trace.

use crate::combinations::ReplayFlags;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::policy;
use crate::table::number;
use hearth_modelcheck::{CheckError, Counterexample, HELD, Violation, trace};
use hearth_trace::Summary;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    policy: &'a str,
    scenario: &'a str,
    violation: &'a Violation,
    /// For people, line by line.
    schedule: &'a [String],
    summary: &'a Summary,
}

pub fn run(path: &Path, flags: &ReplayFlags<'_>) -> Outcome {
    flags.output.map_or(Ok(()), output::check_trace)?;
    let found = read(path)?;
    // Where the schedule's own policy is not built in, somebody must say where it is.
    let name = flags.policy.unwrap_or(&found.policy);
    if flags.policy.is_none() && !hearth_policy::names().contains(&name) {
        return Err(Failure::new(format_args!(
            "{} is of policy `{name}`, which is not built in",
            path.display()
        ))
        .help("name its file: --policy FILE.ipa"));
    }
    let policy = policy::load(name)?;
    let trace = trace(&policy, &found).map_err(|error| unfit(path, &error))?;
    let summary = trace.summary();
    if let Some(output) = flags.output {
        trace.write(output)?;
    }
    if flags.json {
        output::json(&Json {
            schema: "hearth.replay/1",
            policy: &found.policy,
            scenario: &found.scenario.name,
            violation: &found.violation,
            schedule: &found.schedule,
            summary: &summary,
        })?;
    } else {
        output::text(&text(&found, &summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Counterexample, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::new(format_args!("cannot read the schedule {shown}: {error}")))?;
    Counterexample::from_json(&text).map_err(|error| {
        Failure::new(format_args!("cannot replay {shown}: {error}"))
            .help("write one: hearth modelcheck POLICY --output FILE")
    })
}

fn unfit(path: &Path, error: &CheckError) -> Failure {
    let failure = Failure::new(format_args!("cannot replay {}: {error}", path.display()));
    match error {
        CheckError::OtherPolicy { .. } => failure.help("name the policy that it was found in: --policy"),
        CheckError::OtherShape { .. } | CheckError::Impossible { .. } | CheckError::Harmless { .. } => {
            failure.help("look for a new one: hearth modelcheck POLICY --output FILE")
        }
        _ => failure,
    }
}

/// The schedule, and what its trace amounts to.
fn text(found: &Counterexample, summary: &Summary) -> String {
    format!(
        "{found}\n\n{} events in {} ms, the last {} ms of which show the state at the end; overload {} core·ms\n",
        summary.events,
        number(summary.duration_s * 1e3),
        HELD / 1_000_000,
        number(summary.overload_core_ms)
    )
}
