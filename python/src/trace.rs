//! The noun Trace.

mod events;
mod slices;

use crate::error::raise;
use crate::json;
use crate::table::{Table, column};
use crate::workload::Workload;
use arrow_array::{BooleanArray, StringArray, UInt16Array, UInt32Array};
use events::Events;
use hearth_study::measure::Unknown;
use hearth_trace::{CoreInfo, Error, Header, Metrics, Sink, Store, Summary};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A recorded or simulated trace. Its events are read when they are needed.
///
/// Args:
///     path: the folder of the trace.
///
/// Raises:
///     Error: it is no trace, or damaged. Methods that read events raise it too.
#[pyclass(frozen, module = "hearth")]
pub struct Trace {
    events: Events,
}

impl Trace {
    /// The trace of a simulation, in memory.
    pub fn simulated(trace: hearth_trace::Trace) -> Trace {
        Trace { events: Events::Memory(Arc::new(trace)) }
    }

    fn header(&self) -> &Header {
        self.events.header()
    }

    /// As `hearth report` measures it.
    fn summary(&self) -> Result<Summary, Error> {
        let header = self.header();
        let mut metrics = Metrics::new(header);
        self.events.each(|events| metrics.events(events))?;
        Ok(Summary {
            lost_events: Some(header.lost.iter().fold(0, |sum, lost| sum.saturating_add(*lost))),
            energy_j: (header.energy_uj > 0).then_some(header.energy_uj as f64 / 1e6),
            ..metrics.finish(header.duration)
        })
    }

    fn extract(&self) -> Result<Workload, Error> {
        let found = match &self.events {
            Events::Memory(trace) => hearth_workload::extract(trace),
            Events::Stored(store) => hearth_workload::Workload::extract(store)?,
        };
        Ok(Workload::of(found.workload, found.report.warnings()))
    }
}

#[pymethods]
impl Trace {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Trace> {
        let store = py.detach(|| Store::open(path)).map_err(raise)?;
        Ok(Trace { events: Events::Stored(Arc::new(store)) })
    }

    /// `None` if the trace is in memory only.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        match &self.events {
            Events::Memory(_) => None,
            Events::Stored(store) => Some(store.path().to_owned()),
        }
    }

    #[getter]
    fn machine(&self) -> &str {
        &self.header().machine
    }

    /// Where the trace comes from, as in its trace.json.
    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json(py, &self.header().source)
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.header().duration as f64 / 1e9
    }

    /// Lowest and highest frequency of the machine; `None` if they are unknown.
    #[getter]
    fn ghz_range(&self) -> Option<(f64, f64)> {
        let (low, high) = self.header().khz_range;
        (high > 0).then_some((f64::from(low) / 1e6, f64::from(high) / 1e6))
    }

    /// Reasons for placements, by number.
    #[getter]
    fn reasons(&self) -> Vec<String> {
        self.header().reasons.clone()
    }

    /// False if its writer was interrupted.
    #[getter]
    fn complete(&self) -> bool {
        match &self.events {
            Events::Memory(_) => true,
            Events::Stored(store) => store.complete(),
        }
    }

    fn __len__(&self) -> usize {
        self.events.len()
    }

    /// All events, with the columns of the trace's files. `kind` is a name. Times are nanoseconds.
    fn events(&self) -> Table {
        self.events.table()
    }

    /// Intervals in which a core ran one thread at one frequency.
    ///
    /// The columns are `core`, `thread`, `name`, `start`, `stop` and `ghz`. Times are nanoseconds.
    fn slices(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| slices::of(&self.events)).map_err(raise)?.table()
    }

    /// A row for each thread: `thread`, `name`, `parent`, `traced`, `tid`, `pid`, `process`.
    ///
    /// Unknown numbers are null.
    fn threads(&self) -> PyResult<Table> {
        let Header { threads, processes, .. } = self.header();
        let pid = |process: u32| Some(processes.get(process as usize)?.pid);
        Table::of([
            column("thread", UInt32Array::from_iter_values(threads.iter().map(|one| one.tid))),
            column("name", StringArray::from_iter_values(threads.iter().map(|one| &one.name))),
            column("parent", UInt32Array::from_iter_values(threads.iter().map(|one| one.parent))),
            column("traced", BooleanArray::from_iter(threads.iter().map(|one| Some(one.traced)))),
            column("tid", UInt32Array::from_iter(threads.iter().map(|one| one.kernel_tid))),
            column("pid", UInt32Array::from_iter(threads.iter().map(|one| one.process.and_then(pid)))),
            column("process", UInt32Array::from_iter(threads.iter().map(|one| one.process))),
        ])
    }

    /// A row for each core: `core`, `physical`, `llc`, `numa`, `socket`.
    fn cores(&self) -> PyResult<Table> {
        let cores = &self.header().cores;
        let of = |number: fn(&CoreInfo) -> u16| UInt16Array::from_iter_values(cores.iter().map(number));
        Table::of([
            column("core", UInt16Array::from_iter_values(0..cores.len() as u16)),
            column("physical", of(|core| core.physical)),
            column("llc", of(|core| core.llc)),
            column("numa", of(|core| core.numa)),
            column("socket", of(|core| core.socket)),
        ])
    }

    /// The metrics of `hearth report`. What the trace cannot tell is None.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let summary = py.detach(|| self.summary()).map_err(raise)?;
        json(py, &Unknown::from(&self.header().source).known(&summary).map_err(raise)?)
    }

    /// The workload that the trace shows.
    fn workload(&self, py: Python<'_>) -> PyResult<Workload> {
        py.detach(|| self.extract()).map_err(raise)
    }

    /// Writes the trace to a new folder.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.events.write(path)).map_err(raise)
    }

    fn __repr__(&self) -> String {
        let (machine, events, seconds) = (self.machine(), self.events.len(), self.duration_s());
        format!("<hearth.Trace on {machine}: {seconds:.3} s, {events} events>")
    }
}
