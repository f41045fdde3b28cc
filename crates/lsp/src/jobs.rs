//! Simulations and proofs of an open policy, in the background.

use hearth_ipanema::Compiled;
use hearth_machine::{Governor, Machine};
use hearth_policy::{Policy, Settings};
use hearth_prove::{Options, ProofCache, Property, Report, invariants, prove_watched, theorems};
use hearth_sim::Native;
use hearth_study::{Keep, Matrix, Variant};
use hearth_workload::Workload;
use serde::Deserialize;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Simulate,
    Prove,
}

/// What the client may set in `initializationOptions`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Settled {
    /// What is simulated, as `hearth sim` takes it.
    pub workload: String,
    pub machine: String,
}

impl Default for Settled {
    fn default() -> Self {
        Settled { workload: "configure".into(), machine: "xeon-5218".into() }
    }
}

/// What a job works on: nothing of it changes when the user types.
pub struct Plan {
    pub policy: Compiled,
    /// To compare with.
    pub base: Compiled,
    pub settled: Settled,
}

/// A result, for the lens and for the lines of the policy.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    pub title: String,
    pub remarks: Vec<Remark>,
}

#[derive(Clone, Debug)]
pub struct Remark {
    /// From 1; `None`: about the whole policy.
    pub line: Option<u32>,
    pub text: String,
}

/// Runs of each policy.
const RUNS: u64 = 3;

/// Runs a job. `progress` gets its state as text, from several threads.
pub fn run(kind: Kind, plan: Plan, stop: Arc<AtomicBool>, progress: &(dyn Fn(String) + Sync)) -> Finding {
    let work = || match kind {
        Kind::Simulate => simulate(plan, stop),
        Kind::Prove => prove(&plan, stop, progress),
    };
    let verb = if kind == Kind::Simulate { "simulate" } else { "prove" };
    let failed = |why: String| {
        let title = format!("cannot {verb}: {}", why.lines().next().unwrap_or_default());
        Finding { title, remarks: vec![Remark { line: None, text: format!("cannot {verb}: {why}") }] }
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(finding)) => finding,
        Ok(Err(error)) => failed(error.to_string()),
        Err(_) => failed("this is a bug in hearth; the server's log says where".into()),
    }
}

fn variant(name: &str, compiled: Compiled) -> Result<Variant, Box<dyn Error>> {
    let policy = Arc::new(Native::build(Policy::from(compiled))?);
    Ok(Variant { name: name.into(), source: name.into(), policy, params: Settings::default() })
}

fn simulate(plan: Plan, stop: Arc<AtomicBool>) -> Result<Finding, Box<dyn Error>> {
    let (name, base) = (plan.policy.ir.name.clone(), plan.base.ir.name.clone());
    let Settled { workload, machine } = &plan.settled;
    let variants = vec![variant("base", plan.base)?, variant("policy", plan.policy)?];
    let matrix = Matrix {
        runs: RUNS,
        stop,
        // The other cores are the editor's.
        threads: 1,
        ..Matrix::of(vec![Machine::load(machine)?], vec![Governor::Schedutil.into()], variants)
    };
    let prediction = matrix.predict(&Workload::resolve(workload)?, Vec::new(), &Keep::default(), || ())?;
    let rows = prediction.rows();
    let [before, row] = &rows[..] else { return Err("the simulation has no result".into()) };
    let change = row.against.as_ref().map_or(0.0, |against| against.speedup.value) * 100.0;
    let change = match change {
        change if change.abs() < 0.05 => format!("as fast as {base}"),
        change if change > 0.0 => format!("{change:.1} % faster than {base}"),
        change => format!("{:.1} % slower than {base}", -change),
    };
    let title = format!("{workload} on {machine}: {:.3} s, {change}", row.time.mean);
    let text = format!(
        "{workload} on {machine}, means of {RUNS} runs: {name} {:.4} s and {:.1} J, {base} {:.4} s and {:.1} J: {change}",
        row.time.mean, row.energy.mean, before.time.mean, before.energy.mean
    );
    Ok(Finding { title, remarks: vec![Remark { line: None, text }] })
}

fn prove(
    plan: &Plan,
    stop: Arc<AtomicBool>,
    progress: &(dyn Fn(String) + Sync),
) -> Result<Finding, Box<dyn Error>> {
    let policy = &plan.policy.ir;
    let theorems = theorems(policy, &invariants(policy));
    let cache = hearth_base::paths::cache("proofs");
    let options = Options { known: ProofCache::load(&cache), stop, ..Options::default() };
    let (goals, done) = (hearth_prove::goals(&theorems, &options), AtomicUsize::new(0));
    let step = || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress(format!("proving: {done} of {goals}"));
    };
    let report = prove_watched(policy, &theorems, &options, &step).map_err(|error| match error.help() {
        Some(help) => format!("{error}\n{help}"),
        None => error.to_string(),
    })?;
    // Failure to write the cache only makes the next proof slower.
    let _ = options.known.save(&cache);
    Ok(proved(&report))
}

/// Counts of each property, and the claims that do not hold.
fn proved(report: &Report) -> Finding {
    let counts = Property::ALL.into_iter().filter_map(|property| {
        let all = report.of(property).count();
        let held = report.of(property).filter(|proved| proved.verdict.holds()).count();
        (all > 0).then(|| match held == all {
            true => format!("{} holds", property.name()),
            false => format!("{}: {held} of {all} hold", property.name()),
        })
    });
    let title = counts.collect::<Vec<_>>().join(", ");
    let mut remarks = vec![Remark { line: None, text: title.clone() }];
    let open = report.obligations.iter().filter(|proved| !proved.verdict.holds());
    remarks.extend(open.map(|proved| {
        let obligation = &proved.obligation;
        let own = obligation.policy == report.policy && obligation.line > 0;
        let text = format!("{}: {}: {}", obligation.property.name(), obligation.id, proved.in_words());
        Remark { line: own.then_some(obligation.line), text }
    }));
    Finding { title, remarks }
}
