//! Predictions: one workload under many settings.

use super::matrix::Settings;
use crate::error::raise_with_help;
use crate::interrupt::interruptible;
use crate::table::{Table, column};
use crate::workload::Workload;
use arrow_array::{Float64Array, StringArray, UInt64Array};
use hearth_study::statistics::Change;
use hearth_study::{Keep, Row, Run};
use pyo3::prelude::*;
use std::sync::Arc;

/// The result of `predict`: a row for each setting, with means over its runs.
///
/// `speedup` and `energy_saving` compare with the baseline of the machine: 0.1 is 10% better. `_low` and `_high` are
/// the ends of the 95% confidence interval. All are null for the baseline.
#[pyclass(frozen, extends = Table, module = "hearth")]
pub struct Prediction {
    prediction: hearth_study::Prediction,
}

#[pymethods]
impl Prediction {
    #[getter]
    fn workload(&self) -> &str {
        &self.prediction.workload.name
    }

    /// What extraction or an importer could not represent.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.prediction.workload.notes.clone()
    }

    /// A row for each run.
    fn runs(&self) -> PyResult<Table> {
        let runs = &self.prediction.runs;
        let text = |value: fn(&Run) -> String| StringArray::from_iter_values(runs.iter().map(value));
        let number = |value: fn(&Run) -> f64| Float64Array::from_iter_values(runs.iter().map(value));
        let count = |value: fn(&Run) -> u64| UInt64Array::from_iter_values(runs.iter().map(value));
        Table::of([
            column("machine", text(|run| run.setting.machine.clone())),
            column("governor", text(|run| run.setting.governor.clone())),
            column("policy", text(|run| run.setting.label())),
            column("seed", count(|run| run.seed)),
            column("time_s", number(|run| run.time_s)),
            column("energy_j", number(|run| run.energy_j)),
            column("underload_per_s", number(|run| run.underload_per_s)),
            column("overload_core_ms", number(|run| run.overload_core_ms)),
            column("inversion_core_ms", number(|run| run.inversion_core_ms)),
            column("busy_ghz_mean", Float64Array::from_iter(runs.iter().map(|run| run.busy_ghz_mean))),
            column("cores_used", count(|run| run.cores_used.into())),
            column("sockets_used", count(|run| run.sockets_used.into())),
            column("migrations", count(|run| run.migrations)),
            column("events", count(|run| run.events)),
            column("trace_hash", text(|run| run.trace_hash.clone())),
        ])
    }
}

/// A row for each setting.
fn table(rows: &[Row]) -> PyResult<Table> {
    let text = |value: fn(&Row) -> String| StringArray::from_iter_values(rows.iter().map(value));
    let mean = |value: fn(&Row) -> f64| Float64Array::from_iter_values(rows.iter().map(value));
    let known = |value: fn(&Row) -> Option<f64>| Float64Array::from_iter(rows.iter().map(value));
    let speedup = |row: &Row| row.against.map(|against| against.speedup);
    let saving = |row: &Row| row.against.map(|against| against.saving);
    let end = |change: Option<Change>, end: usize| Some(change?.ci95?[end]);
    let of = |change: fn(&Row) -> Option<Change>| {
        let all = |part: &dyn Fn(Option<Change>) -> Option<f64>| {
            Float64Array::from_iter(rows.iter().map(|row| part(change(row))))
        };
        [all(&|one| Some(one?.value)), all(&|one| end(one, 0)), all(&|one| end(one, 1))]
    };
    let ([speedup, speedup_low, speedup_high], [saving, saving_low, saving_high]) = (of(speedup), of(saving));
    Table::of([
        column("machine", text(|row| row.setting.machine.clone())),
        column("governor", text(|row| row.setting.governor.clone())),
        column("policy", text(|row| row.setting.label())),
        column("runs", UInt64Array::from_iter_values(rows.iter().map(|row| row.runs.len() as u64))),
        column("time_s", mean(|row| row.time.mean)),
        column("time_sd_s", mean(|row| row.time.deviation)),
        column("speedup", speedup),
        column("speedup_low", speedup_low),
        column("speedup_high", speedup_high),
        column("energy_j", mean(|row| row.energy.mean)),
        column("energy_saving", saving),
        column("energy_saving_low", saving_low),
        column("energy_saving_high", saving_high),
        column("underload_per_s", mean(|row| row.mean(|run| run.underload_per_s))),
        column("overload_core_ms", mean(|row| row.mean(|run| run.overload_core_ms))),
        column("inversion_core_ms", mean(|row| row.mean(|run| run.inversion_core_ms))),
        column("busy_ghz_mean", known(|row| Some(row.busy_ghz()).filter(|ghz| !ghz.is_nan()))),
        column("cores_used", mean(|row| row.mean(|run| run.cores_used.into()))),
        column("sockets_used", mean(|row| row.mean(|run| run.sockets_used.into()))),
        column("migrations", mean(|row| row.mean(|run| run.migrations as f64))),
    ])
}

#[pyfunction]
pub fn predict(py: Python<'_>, workload: &Workload, settings: Settings) -> PyResult<Py<Prediction>> {
    let (plan, stop) = (settings.plan()?, Arc::default());
    let predicted = interruptible(py, &stop, || {
        plan.matrix(&stop)?.predict(&workload.graph, workload.notes(), &Keep::default(), || ())
    })?;
    let prediction = predicted.map_err(raise_with_help)?;
    let table = table(&prediction.rows())?;
    Py::new(py, PyClassInitializer::from(table).add_subclass(Prediction { prediction }))
}
