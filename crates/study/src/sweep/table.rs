//! The table of a sweep: one row per run, as a Parquet file.

use crate::Error;
use crate::prediction::Setting;
use hearth_base::file::AtomicFile;
use hearth_sim::{Outcome, SimError};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Field, RecordWriter};
use parquet_derive::ParquetRecordWriter;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// One run of a sweep. The names of the fields are those of the columns, which only grow in number.
///
/// The metrics are empty if the run did not complete.
#[derive(Clone, PartialEq, Debug, ParquetRecordWriter)]
pub struct Row {
    pub workload: String,
    pub machine: String,
    pub governor: String,
    pub policy: String,
    /// Parameters that differ from their defaults: `NAME=VALUE,...`.
    pub params: String,
    pub seed: i64,
    /// See [`End`].
    pub end: String,
    pub time_s: Option<f64>,
    pub energy_j: Option<f64>,
    pub underload_per_s: Option<f64>,
    pub overload_core_ms: Option<f64>,
    pub inversion_core_ms: Option<f64>,
    pub busy_ghz_mean: Option<f64>,
    pub cores_used: Option<i32>,
    pub sockets_used: Option<i32>,
    pub migrations: Option<i64>,
    pub context_switches: Option<i64>,
    pub wakeup_mean_us: Option<f64>,
    pub spin_core_ms: Option<f64>,
    pub events: Option<i64>,
    pub trace_hash: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Completed,
    /// It took longer than the sweep allows.
    TimeLimit,
    /// All threads waited for each other.
    Stuck,
    /// The policy violated a rule of SaaKM.
    Illegal,
    /// Earlier seeds showed that the policy is much slower than the first one, so this seed was not run.
    GivenUp,
}

impl End {
    const ALL: [End; 5] = [End::Completed, End::TimeLimit, End::Stuck, End::Illegal, End::GivenUp];

    fn name(self) -> &'static str {
        match self {
            End::Completed => "completed",
            End::TimeLimit => "time limit",
            End::Stuck => "stuck",
            End::Illegal => "illegal",
            End::GivenUp => "given up",
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Row {
    /// # Errors
    /// If the run could not start at all: a parameter, an affinity or the workload is not valid.
    pub fn of(
        workload: &str,
        setting: &Setting,
        seed: u64,
        run: Result<Outcome, SimError>,
    ) -> Result<Row, SimError> {
        let row = Row::without_metrics(workload, setting, seed, End::Completed);
        let end = match run {
            Ok(outcome) => return Ok(row.with(outcome)),
            Err(SimError::TimeLimit { .. }) => End::TimeLimit,
            Err(SimError::Stuck { .. }) => End::Stuck,
            Err(SimError::Illegal { .. }) => End::Illegal,
            Err(error) => return Err(error),
        };
        Ok(Row { end: end.to_string(), ..row })
    }

    pub fn without_metrics(workload: &str, setting: &Setting, seed: u64, end: End) -> Row {
        let params = setting.params.iter().map(|(name, value)| format!("{name}={value}"));
        Row {
            workload: workload.to_owned(),
            machine: setting.machine.clone(),
            governor: setting.governor.clone(),
            policy: setting.policy.clone(),
            params: params.collect::<Vec<_>>().join(","),
            seed: seed as i64,
            end: end.to_string(),
            time_s: None,
            energy_j: None,
            underload_per_s: None,
            overload_core_ms: None,
            inversion_core_ms: None,
            busy_ghz_mean: None,
            cores_used: None,
            sockets_used: None,
            migrations: None,
            context_switches: None,
            wakeup_mean_us: None,
            spin_core_ms: None,
            events: None,
            trace_hash: None,
        }
    }

    fn with(self, outcome: Outcome) -> Row {
        let summary = outcome.summary;
        Row {
            time_s: Some(outcome.time_s),
            energy_j: Some(outcome.energy_j).filter(|joules| joules.is_finite()),
            underload_per_s: Some(summary.underload_per_s),
            overload_core_ms: Some(summary.overload_core_ms),
            inversion_core_ms: Some(summary.inversion_core_ms),
            busy_ghz_mean: summary.busy_ghz_mean,
            cores_used: Some(summary.cores_used as i32),
            sockets_used: Some(summary.sockets_used as i32),
            migrations: Some(summary.migrations as i64),
            context_switches: Some(summary.context_switches as i64),
            wakeup_mean_us: Some(summary.wakeup_latency_us.mean),
            spin_core_ms: Some(summary.spin_core_ms),
            events: Some(outcome.events as i64),
            trace_hash: Some(outcome.trace_hash),
            ..self
        }
    }

    /// `None` if the table comes from a newer Hearth that has other ends.
    pub fn end(&self) -> Option<End> {
        End::ALL.into_iter().find(|end| end.name() == self.end)
    }
}

/// Key of the sweep's name in the metadata of a table.
const SWEEP: &str = "hearth.sweep";

/// Writes a table, whole or not at all. `sweep` says of which sweep it is, or a part of which.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, sweep: &str, rows: &[Row]) -> Result<(), Error> {
    let failed = |what: &dyn fmt::Display| Error::sweep(path, format_args!("cannot be written: {what}"));
    let file = AtomicFile::create(path).map_err(|error| failed(&error))?;
    let written = || -> Result<AtomicFile, ParquetError> {
        let properties = WriterProperties::builder()
            .set_created_by("hearth".into())
            .set_key_value_metadata(Some(vec![KeyValue::new(SWEEP.into(), sweep.to_owned())]))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let mut writer = SerializedFileWriter::new(file, rows.schema()?, Arc::new(properties))?;
        for rows in rows.chunks(ROWS_OF_A_GROUP) {
            let mut group = writer.next_row_group()?;
            rows.write_to_row_group(&mut group)?;
            group.close()?;
        }
        writer.into_inner()
    };
    written().map_err(|error| failed(&error))?.commit().map_err(|error| failed(&error))
}

/// The sweep that a table is of. `None` if the file is no such table.
pub fn sweep_of(path: &Path) -> Option<String> {
    let reader = SerializedFileReader::new(File::open(path).ok()?).ok()?;
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == SWEEP)?.value.clone()
}

const ROWS_OF_A_GROUP: usize = 1 << 16;

/// Reads a table.
///
/// # Errors
/// If the file cannot be read, or is no table of a sweep.
pub fn read(path: &Path) -> Result<Vec<Row>, Error> {
    let failed = |what: &dyn fmt::Display| Error::sweep(path, format_args!("is no table of a sweep: {what}"));
    let file =
        File::open(path).map_err(|error| Error::sweep(path, format_args!("cannot be read: {error}")))?;
    let reader = SerializedFileReader::new(file).map_err(|error| failed(&error))?;
    let rows = reader.get_row_iter(None).map_err(|error| failed(&error))?;
    rows.map(|row| {
        let row = row.map_err(|error| failed(&error))?;
        let fields: HashMap<&str, &Field> =
            row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
        Fields(fields).row().map_err(|name| failed(&format_args!("it has no column `{name}`")))
    })
    .collect()
}

struct Fields<'a>(HashMap<&'a str, &'a Field>);

impl Fields<'_> {
    /// # Errors
    /// The name of a column that is missing or has another type.
    fn row(&self) -> Result<Row, &'static str> {
        Ok(Row {
            workload: self.text("workload")?,
            machine: self.text("machine")?,
            governor: self.text("governor")?,
            policy: self.text("policy")?,
            params: self.text("params")?,
            seed: self.long("seed")?.ok_or("seed")?,
            end: self.text("end")?,
            time_s: self.double("time_s")?,
            energy_j: self.double("energy_j")?,
            underload_per_s: self.double("underload_per_s")?,
            overload_core_ms: self.double("overload_core_ms")?,
            inversion_core_ms: self.double("inversion_core_ms")?,
            busy_ghz_mean: self.double("busy_ghz_mean")?,
            cores_used: self.int("cores_used")?,
            sockets_used: self.int("sockets_used")?,
            migrations: self.long("migrations")?,
            context_switches: self.long("context_switches")?,
            wakeup_mean_us: self.double("wakeup_mean_us")?,
            spin_core_ms: self.double("spin_core_ms")?,
            events: self.long("events")?,
            trace_hash: self.optional("trace_hash", |field| match field {
                Field::Str(text) => Some(text.clone()),
                _ => None,
            })?,
        })
    }

    fn optional<T>(
        &self,
        name: &'static str,
        value: impl Fn(&Field) -> Option<T>,
    ) -> Result<Option<T>, &'static str> {
        match self.0.get(name).ok_or(name)? {
            Field::Null => Ok(None),
            field => value(field).map(Some).ok_or(name),
        }
    }

    fn text(&self, name: &'static str) -> Result<String, &'static str> {
        let text = |field: &Field| match field {
            Field::Str(text) => Some(text.clone()),
            _ => None,
        };
        self.optional(name, text)?.ok_or(name)
    }

    fn double(&self, name: &'static str) -> Result<Option<f64>, &'static str> {
        self.optional(name, |field| match field {
            Field::Double(value) => Some(*value),
            _ => None,
        })
    }

    fn int(&self, name: &'static str) -> Result<Option<i32>, &'static str> {
        self.optional(name, |field| match field {
            Field::Int(value) => Some(*value),
            _ => None,
        })
    }

    fn long(&self, name: &'static str) -> Result<Option<i64>, &'static str> {
        self.optional(name, |field| match field {
            Field::Long(value) => Some(*value),
            _ => None,
        })
    }
}
