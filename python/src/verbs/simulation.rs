//! One simulation.

use super::matrix;
use crate::error::{raise, raise_with_help};
use crate::interrupt::interruptible;
use crate::json;
use crate::machine::Machine;
use crate::policy::Policy;
use crate::trace::Trace;
use crate::workload::Workload;
use hearth_sim::{Job, Outcome, run};
use hearth_study::Error;
use hearth_study::measure::Unknown;
use hearth_trace::{Event, Summary};
use pyo3::prelude::*;
use std::sync::atomic::AtomicBool;

/// The result of `simulate`.
#[pyclass(frozen, module = "hearth")]
pub struct Simulation {
    outcome: Outcome,
    /// The trace, if it was requested.
    #[pyo3(get)]
    trace: Option<Py<Trace>>,
}

#[pymethods]
impl Simulation {
    /// From the start of the workload to its last exit, in seconds.
    #[getter]
    fn time_s(&self) -> f64 {
        self.outcome.time_s
    }

    /// Energy of the whole machine, in joules.
    #[getter]
    fn energy_j(&self) -> f64 {
        self.outcome.energy_j
    }

    /// Number of events of the trace.
    #[getter]
    fn events(&self) -> u64 {
        self.outcome.events
    }

    #[getter]
    fn trace_hash(&self) -> &str {
        &self.outcome.trace_hash
    }

    /// The metrics of `hearth report`. Latencies have a mean and no percentiles, which are None.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let energy_j = Some(self.outcome.energy_j);
        let summary = Summary { energy_j, lost_events: Some(0), ..self.outcome.summary.clone() };
        json(py, &Unknown::IN_SIMULATIONS.known(&summary).map_err(raise)?)
    }

    fn __repr__(&self) -> String {
        let Outcome { time_s, energy_j, events, .. } = self.outcome;
        format!("<hearth.Simulation: {time_s:.4} s, {energy_j:.1} J, {events} events>")
    }
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python calls it with keywords")]
pub fn simulate(
    py: Python<'_>,
    workload: &Workload,
    machine: &Machine,
    policy: &Policy,
    governor: &str,
    seed: u64,
    noise: f64,
    world: Option<&str>,
    trace: bool,
) -> PyResult<Simulation> {
    let (governor, noise) = (matrix::governor(governor)?, matrix::noise(noise)?);
    let world = matrix::world(world)?;
    let mut events: Option<Vec<Event>> = trace.then(Vec::new);
    let simulated = interruptible(py, &AtomicBool::new(false), || -> Result<Outcome, Error> {
        let variant = policy.0.variant(String::new())?;
        let job = Job {
            governor,
            params: &variant.params,
            seed,
            noise,
            world,
            ..Job::new(&workload.graph, &machine.0, &variant.policy)
        };
        Ok(run(&job, &mut events)?)
    })?;
    let outcome = simulated.map_err(raise_with_help)?;
    let trace = events.map(|events| {
        let header = outcome.header.clone();
        Py::new(py, Trace::simulated(hearth_trace::Trace { header, events })).map_err(raise)
    });
    Ok(Simulation { trace: trace.transpose()?, outcome })
}
