//! Events as one Parquet file: the columns of the CSV, typed, and the header as its metadata.

use super::row::Row;
use hearth_trace::Header;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::Arc;

const SCHEMA: &str = "message events {
    REQUIRED INT64 time_ns;
    REQUIRED INT32 core (INTEGER(16, false));
    REQUIRED BYTE_ARRAY kind (STRING);
    OPTIONAL INT32 thread (INTEGER(32, false));
    OPTIONAL BYTE_ARRAY thread_name (STRING);
    OPTIONAL INT32 other (INTEGER(32, false));
    OPTIONAL INT32 target (INTEGER(16, false));
    OPTIONAL BYTE_ARRAY detail (STRING);
    OPTIONAL INT32 value (INTEGER(32, false));
    OPTIONAL INT32 tid (INTEGER(32, false));
    OPTIONAL INT32 pid (INTEGER(32, false));
    OPTIONAL BYTE_ARRAY process (STRING);
}";

/// Number of rows in memory.
const ROWS: usize = 128 << 10;

pub struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    times: Vec<i64>,
    cores: Vec<i32>,
    kinds: Vec<ByteArray>,
    threads: Optional<i32>,
    names: Optional<ByteArray>,
    others: Optional<i32>,
    targets: Optional<i32>,
    details: Optional<ByteArray>,
    values: Optional<i32>,
    tids: Optional<i32>,
    pids: Optional<i32>,
    processes: Optional<ByteArray>,
}

/// A column with gaps: its values, and for each row whether it has one.
struct Optional<T> {
    values: Vec<T>,
    present: Vec<i16>,
}

impl<T> Default for Optional<T> {
    fn default() -> Self {
        Optional { values: Vec::new(), present: Vec::new() }
    }
}

impl<T> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.present.push(value.is_some().into());
        self.values.extend(value);
    }

    /// Writes the column and clears it.
    fn write<D: DataType<T = T>, W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> io::Result<()> {
        column::<D, W>(group, &self.values, Some(&self.present))?;
        self.values.clear();
        self.present.clear();
        Ok(())
    }
}

impl<W: Write + Send> Parquet<W> {
    pub fn new(header: &Header, out: W) -> io::Result<Self> {
        let schema = parse_message_type(SCHEMA).map_err(failed)?;
        let header = KeyValue::new("hearth.header".to_owned(), serde_json::to_string(header)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_key_value_metadata(Some(vec![header]))
            .build();
        let writer =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(Parquet {
            writer,
            times: Vec::new(),
            cores: Vec::new(),
            kinds: Vec::new(),
            threads: Optional::default(),
            names: Optional::default(),
            others: Optional::default(),
            targets: Optional::default(),
            details: Optional::default(),
            values: Optional::default(),
            tids: Optional::default(),
            pids: Optional::default(),
            processes: Optional::default(),
        })
    }

    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        let unsigned = |value: u32| value as i32; // the bits; the schema says that they are unsigned
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        self.times.push(row.time as i64);
        self.cores.push(row.core.into());
        self.kinds.push(ByteArray::from(row.kind.as_bytes().to_vec()));
        self.threads.push(row.thread.map(unsigned));
        self.names.push(row.thread_name.map(text));
        self.others.push(row.other.map(unsigned));
        self.targets.push(row.target.map(i32::from));
        self.details.push(row.detail.map(text));
        self.values.push(row.value.map(unsigned));
        self.tids.push(row.tid.map(unsigned));
        self.pids.push(row.pid.map(unsigned));
        self.processes.push(row.process.map(text));
        if self.times.len() == ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(failed)?;
        column::<Int64Type, W>(&mut group, &self.times, None)?;
        column::<Int32Type, W>(&mut group, &self.cores, None)?;
        column::<ByteArrayType, W>(&mut group, &self.kinds, None)?;
        self.threads.write::<Int32Type, W>(&mut group)?;
        self.names.write::<ByteArrayType, W>(&mut group)?;
        self.others.write::<Int32Type, W>(&mut group)?;
        self.targets.write::<Int32Type, W>(&mut group)?;
        self.details.write::<ByteArrayType, W>(&mut group)?;
        self.values.write::<Int32Type, W>(&mut group)?;
        self.tids.write::<Int32Type, W>(&mut group)?;
        self.pids.write::<Int32Type, W>(&mut group)?;
        self.processes.write::<ByteArrayType, W>(&mut group)?;
        group.close().map_err(failed)?;
        self.times.clear();
        self.cores.clear();
        self.kinds.clear();
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<()> {
        if !self.times.is_empty() {
            self.flush()?;
        }
        self.writer.close().map_err(failed)?;
        Ok(())
    }
}

fn column<D: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[D::T],
    present: Option<&[i16]>,
) -> io::Result<()> {
    let column = group.next_column().map_err(failed)?;
    let mut column = column.ok_or_else(|| io::Error::other("the file has fewer columns than its schema"))?;
    column.typed::<D>().write_batch(values, present, None).map_err(failed)?;
    column.close().map_err(failed)
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
