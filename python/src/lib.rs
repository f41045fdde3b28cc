//! The module `hearth._hearth`: the nouns, simulations and studies as Python classes and functions.
//!
//! `python/hearth/_hearth.pyi` documents what Python sees. Results are `Table`s.

mod error;
mod interrupt;
mod machine;
mod policy;
mod table;
mod trace;
mod verbs;
mod workload;

use pyo3::prelude::*;

#[pymodule]
mod _hearth {
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::machine::{Machine, machines};
    #[pymodule_export]
    use crate::policy::{Policy, policies, products};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::trace::Trace;
    #[pymodule_export]
    use crate::verbs::{Prediction, Simulation, Study, predict, read_study, simulate, study};
    #[pymodule_export]
    use crate::workload::{Workload, workloads};

    #[pymodule_export]
    const COLOURS: &str = hearth_base::colour::JSON;
}

/// A value that serializes, as Python's `json` reads it.
fn json<'py>(py: Python<'py>, value: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(error::raise)?;
    py.import("json")?.call_method1("loads", (text,))
}
