//! Tables: what Python gets as a result.

use crate::error::raise;
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::sync::Arc;

/// A stream of the rows.
pub type Rows = Box<dyn RecordBatchReader + Send>;

/// Named columns.
///
/// Whatever reads Arrow's PyCapsule interface takes it without a copy: polars, pandas, pyarrow, DuckDB.
#[pyclass(frozen, subclass, module = "hearth")]
pub struct Table {
    schema: SchemaRef,
    length: usize,
    /// Rows of a stored trace are read only when they are needed.
    open: Box<dyn Fn() -> Result<Rows, ArrowError> + Send + Sync>,
}

/// A column for [`Table::of`].
pub fn column(name: &str, values: impl Array + 'static) -> (&str, ArrayRef) {
    (name, Arc::new(values))
}

impl Table {
    /// A table of columns that are equally long.
    pub fn of<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> PyResult<Table> {
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(nullable)).map_err(raise)?;
        let (schema, length) = (batch.schema(), batch.num_rows());
        let open = move || {
            let rows = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
            Ok(Box::new(rows) as Rows)
        };
        Ok(Table { schema, length, open: Box::new(open) })
    }

    /// A table whose rows `open` reads.
    pub fn streamed(
        schema: SchemaRef,
        length: usize,
        open: impl Fn() -> Result<Rows, ArrowError> + Send + Sync + 'static,
    ) -> Table {
        Table { schema, length, open: Box::new(open) }
    }

    fn rows(&self) -> PyResult<Rows> {
        (self.open)().map_err(raise)
    }
}

/// A column of numbers may lack some, for example the metrics of a run that did not complete.
fn nullable((name, values): (&str, ArrayRef)) -> (&str, ArrayRef, bool) {
    let nullable = values.is_nullable();
    (name, values, nullable)
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.length
    }

    /// The values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Ok(index) = self.schema.index_of(name) else {
            return Err(PyKeyError::new_err(format!(
                "the table has no column `{name}`; it has {}",
                self.columns().join(", ")
            )));
        };
        let list = PyList::empty(py);
        for batch in self.rows()? {
            let batch = batch.map_err(raise)?;
            let value = reader(py, batch.column(index))?;
            (0..batch.num_rows()).try_for_each(|row| list.append(value(row)?))?;
        }
        Ok(list)
    }

    /// The rows as dictionaries.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in self.rows()? {
            let batch = batch.map_err(raise)?;
            let columns = batch.columns().iter().map(|values| reader(py, values));
            let columns: Vec<_> = columns.collect::<PyResult<_>>()?;
            for row in 0..batch.num_rows() {
                let dict = PyDict::new(py);
                for (field, value) in self.schema.fields().iter().zip(&columns) {
                    dict.set_item(field.name(), value(row)?)?;
                }
                list.append(dict)?;
            }
        }
        Ok(list)
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let (class, table) = (this.get_type().name()?, this.get());
        Ok(format!("<hearth.{class}: {} rows of {}>", table.length, table.columns().join(", ")))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The consumer converts the types itself if it needs others, as the interface allows.
        let _ = requested_schema;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(self.rows()?), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(raise)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

type Value<'a, 'py> = Box<dyn Fn(usize) -> PyResult<Bound<'py, PyAny>> + 'a>;

/// Reads the values of a column as Python's.
fn reader<'a, 'py: 'a>(py: Python<'py>, values: &'a ArrayRef) -> PyResult<Value<'a, 'py>> {
    macro_rules! of {
        ($array:expr) => {{
            let array = $array;
            Box::new(move |row| array.is_valid(row).then(|| array.value(row)).into_bound_py_any(py))
        }};
    }
    Ok(match values.data_type() {
        DataType::Utf8 => of!(values.as_string::<i32>()),
        DataType::Boolean => of!(values.as_boolean()),
        DataType::Float64 => of!(values.as_primitive::<Float64Type>()),
        DataType::Int32 => of!(values.as_primitive::<Int32Type>()),
        DataType::Int64 => of!(values.as_primitive::<Int64Type>()),
        DataType::UInt16 => of!(values.as_primitive::<UInt16Type>()),
        DataType::UInt32 => of!(values.as_primitive::<UInt32Type>()),
        DataType::UInt64 => of!(values.as_primitive::<UInt64Type>()),
        DataType::Dictionary(..) => {
            let array = values.as_dictionary::<UInt8Type>();
            let (keys, names) = (array.keys(), array.values().as_string::<i32>());
            Box::new(move |row| names.value(keys.value(row).into()).into_bound_py_any(py))
        }
        other => return Err(raise(format_args!("columns of type {other} can be read through Arrow only"))),
    })
}
