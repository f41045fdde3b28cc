//! Studies: many workloads under many settings, and which features matter.

use super::matrix::Settings;
use crate::error::{raise, raise_with_help};
use crate::interrupt::interruptible;
use crate::table::{Table, column};
use crate::workload::Workload;
use arrow_array::{Float64Array, Int32Array, Int64Array, StringArray, UInt64Array};
use hearth_features::Model;
use hearth_study::methodology::{Effect, Feature, Finding, Method, Slot, Space, Verdict, findings};
use hearth_study::sweep::{GiveUp, Row, Sweep, read};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// The result of `study`: a row for each run, with the columns of `hearth study run`.
#[pyclass(frozen, extends = Table, module = "hearth")]
pub struct Study {
    rows: Vec<Row>,
}

#[pymethods]
impl Study {
    /// Which features of a feature model are good or bad for each application, as `hearth study report`.
    ///
    /// `best` is the number of schedulers with the feature among those at most 10% slower than the best one.
    #[pyo3(signature = (model="family"))]
    fn features(&self, model: &str) -> PyResult<Table> {
        let found = self.findings(model)?;
        let rows: Vec<(&Finding, &Feature)> = with(&found, |one| &one.features);
        let text = |value: fn(&Feature) -> &str| {
            StringArray::from_iter_values(rows.iter().map(|(_, one)| value(one)))
        };
        Table::of(application(&rows).into_iter().chain([
            column("slot", text(|one| &one.slot)),
            column("feature", text(|one| &one.feature)),
            column("verdict", text(|one| verdict(one.verdict))),
            column("best", UInt64Array::from_iter_values(rows.iter().map(|(_, one)| one.count as u64))),
            column("share", Float64Array::from_iter_values(rows.iter().map(|(_, one)| one.share))),
        ]))
    }

    /// The share of the variance of log(time) that each slot of a feature model explains, or two together.
    #[pyo3(signature = (model="family"))]
    fn effects(&self, model: &str) -> PyResult<Table> {
        let found = self.findings(model)?;
        let rows: Vec<(&Finding, &Effect)> = with(&found, |one| &one.effects);
        let slots = rows.iter().map(|(_, one)| one.slots.join(" × "));
        Table::of(application(&rows).into_iter().chain([
            column("slots", StringArray::from_iter_values(slots)),
            column("explained", Float64Array::from_iter_values(rows.iter().map(|(_, one)| one.explained))),
        ]))
    }
}

impl Study {
    fn of(py: Python<'_>, rows: Vec<Row>) -> PyResult<Py<Study>> {
        let table = table(&rows)?;
        Py::new(py, PyClassInitializer::from(table).add_subclass(Study { rows }))
    }

    fn findings(&self, model: &str) -> PyResult<Vec<Finding>> {
        let model = Model::named(model).map_err(raise)?;
        let slots = model.slots().iter().map(|slot| Slot {
            name: slot.name.clone(),
            features: slot.features.clone(),
            optional: slot.optional,
        });
        let space = Space { base: model.name().to_owned(), slots: slots.collect() };
        Ok(findings(&self.rows, &space, &Method::default()))
    }
}

/// The items of each finding, with it.
fn with<T>(found: &[Finding], items: fn(&Finding) -> &Vec<T>) -> Vec<(&Finding, &T)> {
    found.iter().flat_map(|one| items(one).iter().map(move |item| (one, item))).collect()
}

fn application<'a, T>(rows: &[(&Finding, &T)]) -> [(&'a str, arrow_array::ArrayRef); 3] {
    let of =
        |value: fn(&Finding) -> &str| StringArray::from_iter_values(rows.iter().map(|(one, _)| value(one)));
    [
        column("workload", of(|one| &one.workload)),
        column("machine", of(|one| &one.machine)),
        column("governor", of(|one| &one.governor)),
    ]
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::Bad => "bad",
        Verdict::Neutral => "neutral",
    }
}

/// The columns of `hearth study run`.
fn table(rows: &[Row]) -> PyResult<Table> {
    let text = |value: fn(&Row) -> &str| StringArray::from_iter_values(rows.iter().map(value));
    let number = |value: fn(&Row) -> Option<f64>| Float64Array::from_iter(rows.iter().map(value));
    let count = |value: fn(&Row) -> Option<i64>| Int64Array::from_iter(rows.iter().map(value));
    let few = |value: fn(&Row) -> Option<i32>| Int32Array::from_iter(rows.iter().map(value));
    Table::of([
        column("workload", text(|row| &row.workload)),
        column("machine", text(|row| &row.machine)),
        column("governor", text(|row| &row.governor)),
        column("policy", text(|row| &row.policy)),
        column("params", text(|row| &row.params)),
        column("seed", Int64Array::from_iter_values(rows.iter().map(|row| row.seed))),
        column("end", text(|row| &row.end)),
        column("time_s", number(|row| row.time_s)),
        column("energy_j", number(|row| row.energy_j)),
        column("underload_per_s", number(|row| row.underload_per_s)),
        column("overload_core_ms", number(|row| row.overload_core_ms)),
        column("inversion_core_ms", number(|row| row.inversion_core_ms)),
        column("busy_ghz_mean", number(|row| row.busy_ghz_mean)),
        column("cores_used", few(|row| row.cores_used)),
        column("sockets_used", few(|row| row.sockets_used)),
        column("migrations", count(|row| row.migrations)),
        column("context_switches", count(|row| row.context_switches)),
        column("wakeup_mean_us", number(|row| row.wakeup_mean_us)),
        column("spin_core_ms", number(|row| row.spin_core_ms)),
        column("events", count(|row| row.events)),
        column("trace_hash", StringArray::from_iter(rows.iter().map(|row| row.trace_hash.as_deref()))),
    ])
}

/// `slower`: see [`GiveUp::slower`].
#[pyfunction]
pub fn study(
    py: Python<'_>,
    workloads: Vec<Py<Workload>>,
    settings: Settings,
    slower: Option<f64>,
) -> PyResult<Py<Study>> {
    if workloads.is_empty() {
        return Err(raise("there is nothing to simulate; give a workload at least"));
    }
    let (plan, stop) = (settings.plan()?, Arc::default());
    let workloads: Vec<_> = workloads.iter().map(|one| one.get().graph.as_ref().clone()).collect();
    let rows = interruptible(py, &stop, || {
        let give_up = GiveUp { slower, ..GiveUp::default() };
        Sweep { workloads, matrix: plan.matrix(&stop)?, give_up }.table()
    })?;
    Study::of(py, rows.map_err(raise_with_help)?)
}

/// Reads a table that `hearth study run` wrote.
///
/// Raises:
///     Error: it is no such table.
#[pyfunction]
pub fn read_study(py: Python<'_>, path: PathBuf) -> PyResult<Py<Study>> {
    let rows = py.detach(|| read(&path)).map_err(raise_with_help)?;
    Study::of(py, rows)
}
