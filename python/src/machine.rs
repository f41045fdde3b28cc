//! The noun Machine.

use crate::error::{raise, raise_with_help, text};
use crate::table::{Table, column};
use arrow_array::{Float64Array, StringArray, UInt16Array, UInt64Array};
use hearth_study::catalogue;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Topology, frequencies and power of a machine.
///
/// Args:
///     source: the name of a built-in machine (`machines()`), or the path of a TOML file. May be followed by other
///         values: `xeon-5218:frequency.turbo.release_us=0`.
///
/// Raises:
///     Error: it cannot be loaded.
#[pyclass(frozen, module = "hearth")]
pub struct Machine(pub Arc<hearth_machine::Machine>);

#[pymethods]
impl Machine {
    #[new]
    fn new(source: PathBuf) -> PyResult<Machine> {
        let machine = hearth_machine::Machine::load(&text(source)?).map_err(raise)?;
        Ok(Machine(Arc::new(machine)))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Product name of the processor.
    #[getter]
    fn model(&self) -> &str {
        &self.0.model
    }

    #[getter]
    fn sockets(&self) -> u16 {
        self.0.topology.shape().sockets
    }

    /// Number of hardware threads.
    #[getter]
    fn cores(&self) -> usize {
        self.0.topology.core_count()
    }

    #[getter]
    fn min_ghz(&self) -> f64 {
        ghz(self.0.frequency.min_khz)
    }

    #[getter]
    fn nominal_ghz(&self) -> f64 {
        ghz(self.0.frequency.nominal_khz)
    }

    #[getter]
    fn turbo_ghz(&self) -> f64 {
        ghz(self.0.frequency.max_khz())
    }

    /// A row for each core: `core`, `physical`, `llc`, `numa`, `socket`.
    fn topology(&self) -> PyResult<Table> {
        let cores = &self.0.topology.cores;
        let of = |number: fn(&hearth_machine::Core) -> u16| {
            UInt16Array::from_iter_values(cores.iter().map(number))
        };
        Table::of([
            column("core", of(|core| core.id)),
            column("physical", of(|core| core.physical)),
            column("llc", of(|core| core.llc)),
            column("numa", of(|core| core.numa)),
            column("socket", of(|core| core.socket)),
        ])
    }

    /// The text of its machine file, without comments.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    fn __repr__(&self) -> String {
        let (name, model, sockets) = (self.name(), self.model(), self.sockets());
        let plural = if sockets == 1 { "" } else { "s" };
        format!("<hearth.Machine {name}: {model}, {sockets} socket{plural}, {} cores>", self.cores())
    }
}

fn ghz(khz: u32) -> f64 {
    f64::from(khz) / 1e6
}

/// The built-in machines: `name`, `model`, `sockets`, `cores`, and frequencies.
#[pyfunction]
pub fn machines() -> PyResult<Table> {
    let all = catalogue::machines().map_err(raise_with_help)?;
    let ghz =
        |value: fn(&catalogue::MachineEntry) -> f64| Float64Array::from_iter_values(all.iter().map(value));
    Table::of([
        column("name", StringArray::from_iter_values(all.iter().map(|one| one.name))),
        column("model", StringArray::from_iter_values(all.iter().map(|one| &one.model))),
        column("sockets", UInt16Array::from_iter_values(all.iter().map(|one| one.sockets))),
        column("cores", UInt64Array::from_iter_values(all.iter().map(|one| one.cores as u64))),
        column("min_ghz", ghz(|one| one.min_ghz)),
        column("nominal_ghz", ghz(|one| one.nominal_ghz)),
        column("turbo_ghz", ghz(|one| one.turbo_ghz)),
    ])
}
