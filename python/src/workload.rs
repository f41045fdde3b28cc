//! The noun Workload.

use crate::error::{raise, text};
use crate::table::{Table, column};
use arrow_array::StringArray;
use hearth_study::{WorkloadFacts, catalogue};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A graph of threads.
///
/// Args:
///     source: a generator or a recorded program (`workloads()`), with parameters as in `configure:tests=20`; the path
///         of a workload file or of an rt-app document (an argument that ends in .json, or contains a `/`); or `A + B`.
///
/// Raises:
///     Error: it cannot be loaded.
#[pyclass(frozen, module = "hearth")]
pub struct Workload {
    pub graph: Arc<hearth_workload::Workload>,
    facts: WorkloadFacts,
}

impl Workload {
    pub fn of(graph: hearth_workload::Workload, notes: Vec<String>) -> Workload {
        Workload { facts: WorkloadFacts::of(&graph, notes), graph: Arc::new(graph) }
    }
}

#[pymethods]
impl Workload {
    #[new]
    fn new(py: Python<'_>, source: PathBuf) -> PyResult<Workload> {
        let source = text(source)?;
        py.detach(|| {
            let resolved = hearth_workload::Workload::resolve_with_notes(&source).map_err(raise)?;
            Ok(Workload::of(resolved.workload, resolved.notes))
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.facts.name
    }

    /// The recorded command, or the generator with its parameters.
    #[getter]
    fn origin(&self) -> &str {
        &self.facts.origin
    }

    #[getter]
    fn threads(&self) -> u64 {
        self.facts.threads
    }

    /// Number of steps, with repeats expanded.
    #[getter]
    fn steps(&self) -> u64 {
        self.facts.steps
    }

    #[getter]
    fn cycles(&self) -> u64 {
        self.facts.cycles
    }

    /// Sum of all delays, in seconds.
    #[getter]
    fn delay_s(&self) -> f64 {
        self.facts.delay_s
    }

    /// What extraction or an importer could not represent.
    #[getter]
    pub fn notes(&self) -> Vec<String> {
        self.facts.notes.clone()
    }

    /// Writes a workload file; it is compressed if the name ends in .zst.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.graph.save(path)).map_err(raise)
    }

    fn __repr__(&self) -> String {
        let WorkloadFacts { name, threads, steps, cycles, .. } = &self.facts;
        format!(
            "<hearth.Workload {name}: {threads} threads, {steps} steps, {:.3} G cycles>",
            *cycles as f64 / 1e9
        )
    }
}

/// The generators of workloads and the recorded programs: `name`, `summary`, `params`.
#[pyfunction]
pub fn workloads() -> PyResult<Table> {
    let all = catalogue::workloads();
    let params = all.iter().map(|one| {
        let params = one.params.iter().map(|param| format!("{}={}", param.name, param.default));
        params.collect::<Vec<_>>().join(", ")
    });
    Table::of([
        column("name", StringArray::from_iter_values(all.iter().map(|one| &one.name))),
        column("summary", StringArray::from_iter_values(all.iter().map(|one| &one.summary))),
        column("params", StringArray::from_iter_values(params)),
    ])
}
