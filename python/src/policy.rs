//! The noun Policy.

use crate::error::{raise, raise_with_help, text};
use crate::table::{Table, column};
use arrow_array::StringArray;
use hearth_features::Model;
use hearth_policy::{Assignment, Settings, Spec, load};
use hearth_sim::Native;
use hearth_study::{Variant, catalogue};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A policy and values of its parameters.
///
/// Args:
///     source: the name of a built-in policy (`policies()`) or of a product of a feature model (`products()`), or the
///         path of an .ipa file. May be followed by parameters: `nest:r_max=0`.
///     params: values by name, with units as on the command line: `r_max=0`, `s_max="4ticks"`, `attachment=False`.
///
/// Raises:
///     Error: it cannot be loaded, or a parameter is not valid.
#[pyclass(frozen, module = "hearth")]
pub struct Policy(pub Arc<Loaded>);

/// A policy with its parameters.
pub struct Loaded {
    source: String,
    policy: hearth_policy::Policy,
    settings: Settings,
    /// Compiled by the first simulation.
    native: OnceLock<Arc<Native>>,
}

impl Loaded {
    fn native(&self) -> Result<Arc<Native>, hearth_study::Error> {
        if let Some(native) = self.native.get() {
            return Ok(native.clone());
        }
        let native = Arc::new(Native::build(self.policy.clone())?);
        Ok(self.native.get_or_init(|| native).clone())
    }

    /// The policy in a matrix, where its name is `name`.
    pub fn variant(&self, name: String) -> Result<Variant, hearth_study::Error> {
        let (source, params) = (self.source.clone(), self.settings.clone());
        Ok(Variant { name, source, policy: self.native()?, params })
    }

    pub fn name(&self) -> &str {
        self.policy.name()
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether both are the same policy with the same parameters.
    pub fn is(&self, other: &Loaded) -> bool {
        self.source == other.source
            && self.settings == other.settings
            && self.policy.ir().to_json() == other.policy.ir().to_json()
    }
}

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (source, /, **params))]
    fn new(py: Python<'_>, source: PathBuf, params: Option<&Bound<'_, PyDict>>) -> PyResult<Policy> {
        let mut spec: Spec = text(source)?.parse().map_err(raise)?;
        for (name, value) in params.into_iter().flatten() {
            spec.params.push(Assignment { name: name.extract()?, value: value_of(&value)? });
        }
        py.detach(|| {
            let policy = load(&spec.source).map_err(raise_with_help)?;
            let settings = Settings::parse(&policy, &spec.params).map_err(raise_with_help)?;
            Ok(Policy(Arc::new(Loaded { source: spec.source, policy, settings, native: OnceLock::new() })))
        })
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The comment at its declaration.
    #[getter]
    fn doc(&self) -> &str {
        self.0.policy.doc()
    }

    /// The policy that it extends.
    #[getter]
    fn base(&self) -> Option<&str> {
        self.0.policy.ir().bases.first().map(String::as_str)
    }

    /// Parameters that differ from their defaults.
    #[getter]
    fn settings(&self) -> BTreeMap<String, String> {
        self.0.settings.shown(&self.0.policy).collect()
    }

    /// Reasons for placements, by number.
    #[getter]
    fn reasons(&self) -> Vec<String> {
        self.0.policy.reasons().to_vec()
    }

    /// Names of its core sets, by number.
    #[getter]
    fn sets(&self) -> Vec<String> {
        self.0.policy.set_names()
    }

    /// A row for each parameter: `name`, `value`, `default`, `min`, `max`, `doc`.
    fn params(&self) -> PyResult<Table> {
        let params = self.0.policy.params();
        let values = self.0.settings.values(&self.0.policy).map_err(raise_with_help)?;
        let of = |show: fn(&hearth_policy::Param) -> String| {
            StringArray::from_iter_values(params.iter().map(show))
        };
        let values = params.iter().zip(values).map(|(param, value)| param.unit.show(value));
        Table::of([
            column("name", of(|param| param.name.clone())),
            column("value", StringArray::from_iter_values(values)),
            column("default", of(|param| param.unit.show(param.initial))),
            column("min", of(|param| param.unit.show(param.min))),
            column("max", of(|param| param.unit.show(param.max))),
            column("doc", of(|param| param.doc.clone())),
        ])
    }

    /// The C code that the simulator and the kernel run.
    fn c(&self) -> String {
        self.0.policy.c()
    }

    fn __repr__(&self) -> String {
        let settings = self.settings();
        let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let separator = if settings.is_empty() { "" } else { ":" };
        format!("<hearth.Policy {}{separator}{}>", self.name(), settings.join(","))
    }
}

/// A parameter's value in the syntax of the command line.
fn value_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyBool>() {
        Ok(value) => Ok(value.is_true().to_string()),
        Err(_) => Ok(value.str()?.to_cow()?.into_owned()),
    }
}

/// The built-in policies: `name`, `summary`, `base`.
#[pyfunction]
pub fn policies() -> PyResult<Table> {
    let all = catalogue::policies().map_err(raise_with_help)?;
    Table::of([
        column("name", StringArray::from_iter_values(all.iter().map(|one| &one.name))),
        column("summary", StringArray::from_iter_values(all.iter().map(|one| &one.summary))),
        column("base", StringArray::from_iter(all.iter().map(|one| one.extends.as_ref()))),
    ])
}

/// A row for each product of a feature model: its `name`, and its feature in each slot.
#[pyfunction]
#[pyo3(signature = (model="family"))]
pub fn products(model: &str) -> PyResult<Table> {
    let model = Model::named(model).map_err(raise)?;
    let products = model.products();
    let names = StringArray::from_iter_values(products.iter().map(|one| one.name()));
    let slots = model.slots().iter().map(|slot| {
        let values = products.iter().map(|product| slot.value(product));
        column(slot.name.as_str(), StringArray::from_iter_values(values))
    });
    Table::of([column("name", names)].into_iter().chain(slots))
}
