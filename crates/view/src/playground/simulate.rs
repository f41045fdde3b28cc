//! A policy and a baseline, simulated: numbers, and traces for the viewer.

use crate::playground::document::Document;
use crate::playground::jobs::Deadline;
use crate::playground::runs::Run;
use crate::server::{Refusal, View, Viewed, viewer};
use axum::http::StatusCode;
use hearth_ipanema::builtin;
use hearth_machine::{Governor, Machine};
use hearth_policy::{Policy, Settings};
use hearth_sim::{Job, Native, Outcome, SimError, run};
use hearth_trace::{Event, Sink, Trace};
use hearth_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

/// A simulation takes hundredths of a second; a policy that goes round in circles is stopped after this time.
pub const MOST_TIME: Duration = Duration::from_secs(20);
/// Events of one trace, which stays in memory.
pub const MOST_EVENTS: u64 = 4_000_000;
/// Simulated time, as a limit for policies that starve a thread.
const MOST_SIMULATED: Duration = Duration::from_secs(600);

/// The name of the baseline that is the file as it was opened.
pub const OPENED: &str = "as opened";

/// What to simulate.
#[derive(Clone, Deserialize)]
pub struct SimulateRequest {
    pub text: String,
    pub machine: String,
    pub workload: String,
    #[serde(default = "schedutil")]
    pub governor: String,
    #[serde(default = "one")]
    pub seed: u64,
    /// A built-in policy, or [`OPENED`].
    pub baseline: String,
    /// Values of parameters, in their units' base.
    #[serde(default)]
    pub params: BTreeMap<String, i64>,
}

fn schedutil() -> String {
    "schedutil".into()
}

fn one() -> u64 {
    1
}

/// The answer. It has no times of this computer: the same question has the same answer, to the byte.
#[derive(Serialize)]
struct Simulated<'a> {
    /// The viewer's page is at `runs/RUN/`.
    run: &'a str,
    machine: &'a str,
    workload: &'a str,
    governor: &'a str,
    seed: u64,
    /// The policy, then the baseline.
    rows: Vec<Row>,
    speedup: f64,
    energy_saving: f64,
}

#[derive(Serialize)]
struct Row {
    policy: String,
    time_s: f64,
    energy_j: f64,
    wakeup_mean_us: f64,
    underload_per_s: f64,
    overload_core_ms: f64,
    cores_used: u32,
    busy_ghz_mean: Option<f64>,
    migrations: u64,
    /// Counts by reason.
    placements: BTreeMap<String, u64>,
    trace_hash: String,
}

/// Machines and workloads that the command line named; a request names no path.
#[derive(Default)]
pub struct Inputs {
    pub machines: BTreeMap<String, Machine>,
    pub workloads: BTreeMap<String, Workload>,
}

impl Inputs {
    pub fn machine(&self, name: &str) -> Result<Machine, Refusal> {
        match self.machines.get(name) {
            Some(machine) => Ok(machine.clone()),
            None => Machine::builtin(name).map_err(|error| refused(error, "see `hearth list machines`")),
        }
    }

    fn workload(&self, spec: &str) -> Result<Workload, Refusal> {
        if let Some(workload) = self.workloads.get(spec) {
            return Ok(workload.clone());
        }
        if spec.contains('/') || spec.contains(".json") {
            let help = "name the file on the command line: hearth view POLICY --workload FILE";
            return Err(refused(format_args!("the page reads no files: '{spec}'"), help));
        }
        Workload::resolve(spec).map_err(|error| refused(error, "see `hearth list workloads`"))
    }
}

pub fn refused(error: impl ToString, help: impl ToString) -> Refusal {
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error, help)
}

/// The error of a text that has diagnostics.
pub fn rejected(failed: &hearth_ipanema::Failed) -> Refusal {
    let first = failed.diagnostics.iter().find(|found| found.is_error());
    refused(first.map_or("the policy has errors", |found| &found.message), "mend the errors in the editor")
}

/// One policy with everything that decides its trace.
struct Side {
    policy: Native,
    params: Settings,
}

impl Side {
    fn new(policy: Policy, params: &BTreeMap<String, i64>) -> Result<Side, Refusal> {
        let known = policy.params().iter().map(|param| &param.name);
        // A parameter that the text no longer has is still on the page's sliders for a moment.
        let kept: Vec<_> = known.filter_map(|name| Some((&**name, *params.get(name)?))).collect();
        let params =
            Settings::from_pairs(&policy, kept).map_err(|error| refused(error, "move the slider"))?;
        let policy = Native::build(policy).map_err(|error| {
            Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                error,
                "the terminal of `hearth view` may say more",
            )
        })?;
        Ok(Side { policy, params })
    }

    /// What decides its trace.
    fn key(&self) -> String {
        let policy = self.policy.policy();
        format!("{}\n{:?}", policy.c(), self.params.shown(policy).collect::<Vec<_>>())
    }
}

fn baseline(document: &Document, name: &str) -> Result<Policy, Refusal> {
    if name == OPENED {
        return document.compile(document.opened()).map_err(|failed| {
            let help = "choose a built-in policy as the baseline";
            let first = failed.diagnostics.first().map_or("", |found| &found.message);
            refused(format_args!("the file as it was opened does not compile: {first}"), help)
        });
    }
    if builtin::source(name).is_none() {
        return Err(refused(
            format_args!("there is no built-in policy '{name}'"),
            "see `hearth list policies`",
        ));
    }
    hearth_policy::load(name).map_err(|error| refused(error, "see `hearth list policies`"))
}

/// What a simulation needs, checked.
pub struct Plan {
    machine: Machine,
    workload: Workload,
    governor: Governor,
    sides: [Side; 2],
    names: [String; 2],
    request: SimulateRequest,
}

impl Plan {
    pub fn new(document: &Document, named: &Inputs, request: SimulateRequest) -> Result<Plan, Refusal> {
        let policy = document.compile(&request.text).map_err(|failed| rejected(&failed))?;
        let base = baseline(document, &request.baseline)?;
        let names = [policy.name().to_owned(), request.baseline.clone()];
        Ok(Plan {
            machine: named.machine(&request.machine)?,
            workload: named.workload(&request.workload)?,
            governor: request.governor.parse().map_err(|error| refused(error, "see `hearth sim --help`"))?,
            sides: [Side::new(policy, &request.params)?, Side::new(base, &BTreeMap::new())?],
            names,
            request,
        })
    }

    /// Names all that decides the traces.
    pub fn id(&self) -> String {
        let Plan { machine, workload, governor, sides, request, .. } = self;
        let key = (
            sides.each_ref().map(Side::key),
            machine.to_toml(),
            &workload.name,
            governor.name(),
            request.seed,
        );
        let text = format!("{} {key:?} {:?}", env!("CARGO_PKG_VERSION"), (&request.workload, &self.names));
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Simulates both policies.
    pub fn run(
        &self,
        id: String,
        views: &[View],
        limit: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Result<Run, Refusal> {
        let deadline = Deadline::new(limit, stop);
        let [policy, base] = &self.sides;
        let [mine, theirs] = [
            self.trace(policy, stop, &deadline, &self.names[0])?,
            self.trace(base, stop, &deadline, &self.names[1])?,
        ];
        let rows: Vec<Row> = [&mine, &theirs]
            .into_iter()
            .zip(&self.names)
            .map(|((outcome, _), name)| Row::new(name, outcome))
            .collect();
        let answer = Simulated {
            run: &id,
            machine: &self.request.machine,
            workload: &self.request.workload,
            governor: &self.request.governor,
            seed: self.request.seed,
            speedup: rows[1].time_s / rows[0].time_s - 1.0,
            energy_saving: 1.0 - rows[0].energy_j / rows[1].energy_j,
            rows,
        };
        let answer = serde_json::to_string(&answer).map_err(failed)?;
        let events = mine.0.events + theirs.0.events;
        let viewed = |(outcome, events): (Outcome, Vec<Event>), name: &str| {
            Viewed::in_memory(name.into(), Trace { header: outcome.header, events }).map_err(Refusal::from)
        };
        let baseline = format!("baseline: {}", self.names[1]);
        let viewer = viewer(vec![viewed(mine, &self.names[0])?, viewed(theirs, &baseline)?], views.to_vec());
        Ok(Run { id, viewer, answer, events })
    }

    fn trace(
        &self,
        side: &Side,
        stop: &Arc<AtomicBool>,
        deadline: &Deadline,
        name: &str,
    ) -> Result<(Outcome, Vec<Event>), Refusal> {
        let job = Job {
            governor: self.governor,
            params: &side.params,
            seed: self.request.seed,
            limit: MOST_SIMULATED,
            stop: Some(stop),
            ..Job::new(&self.workload, &self.machine, &side.policy)
        };
        let mut kept = EventBuffer { events: Vec::new(), stop, full: false };
        let outcome = run(&job, &mut kept);
        let EventBuffer { events, full, .. } = kept;
        match outcome {
            Ok(outcome) if !full => Ok((outcome, events)),
            Ok(_) | Err(SimError::Stopped) if full => {
                let error = format!("{name}: the simulation has more than {MOST_EVENTS} events");
                Err(refused(error, "choose a shorter workload; `hearth sim` has no such limit"))
            }
            Err(SimError::Stopped) if deadline.over() => {
                let error = format!("{name}: the simulation took more than {:?}", deadline.limit);
                Err(refused(
                    error,
                    "does the policy move or preempt threads without end? Or choose a shorter workload",
                ))
            }
            Err(SimError::Stopped) => Err(superseded()),
            Err(error) => Err(refused(error, "the verdict may name a schedule that shows why")),
            Ok(_) => Err(superseded()),
        }
    }
}

/// The answer to a request that a newer one of its page replaces.
pub fn superseded() -> Refusal {
    Refusal::new(StatusCode::CONFLICT, "a newer request of this page took its place", "nothing to do")
}

pub fn failed(error: impl ToString) -> Refusal {
    let help = "please report this with hearth's version and the policy";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error, help)
}

/// Keeps the events, up to a limit.
struct EventBuffer<'s> {
    events: Vec<Event>,
    stop: &'s AtomicBool,
    full: bool,
}

impl Sink for EventBuffer<'_> {
    fn event(&mut self, event: &Event) {
        if self.events.len() as u64 >= MOST_EVENTS {
            self.full = true;
            self.stop.store(true, Ordering::Relaxed);
        } else {
            self.events.push(*event);
        }
    }
}

impl Row {
    fn new(policy: &str, outcome: &Outcome) -> Row {
        let summary = &outcome.summary;
        Row {
            policy: policy.to_owned(),
            time_s: outcome.time_s,
            energy_j: outcome.energy_j,
            wakeup_mean_us: summary.wakeup_latency_us.mean,
            underload_per_s: summary.underload_per_s,
            overload_core_ms: summary.overload_core_ms,
            cores_used: summary.cores_used,
            busy_ghz_mean: summary.busy_ghz_mean,
            migrations: summary.migrations,
            placements: summary.placements.clone(),
            trace_hash: outcome.trace_hash.clone(),
        }
    }
}
