//! Parquet files without nesting, as used by traces.

use super::pages::Pages;
use super::{Error, decode};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{DataType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a page of a table.
const MAX_TABLE_PAGE: usize = 256 << 20;

/// Properties common to all files.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by("hearth-trace version 4".into())
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        // Each column of a group is one data page, plus a dictionary page where used.
        .set_data_page_row_count_limit(super::GROUP_EVENTS)
        .set_write_batch_size(super::GROUP_EVENTS)
        .set_data_page_size_limit(8 << 20)
}

/// Properties of the event files.
pub fn event_properties() -> WriterProperties {
    let time = ColumnPath::from("time");
    properties()
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .build()
}

pub fn schema(text: &str) -> Result<TypePtr, ParquetError> {
    parse_message_type(text).map(Arc::new)
}

/// Writes the columns of a row group in order.
pub struct NextColumn<'a, 'f, W: Write + Send>(pub &'a mut SerializedRowGroupWriter<'f, W>);

impl<W: Write + Send> NextColumn<'_, '_, W> {
    pub fn next<T: DataType>(&mut self, values: &[T::T]) -> Result<(), ParquetError> {
        self.column::<T>(values, None)
    }

    /// Writes an optional column.
    pub fn optional(&mut self, values: impl Iterator<Item = Option<u32>>) -> Result<(), ParquetError> {
        let (mut present, mut known) = (Vec::new(), Vec::new());
        for value in values {
            present.push(value.is_some().into());
            known.extend(value.map(|value| value as i32));
        }
        self.column::<Int32Type>(&known, Some(&present))
    }

    fn column<T: DataType>(&mut self, values: &[T::T], present: Option<&[i16]>) -> Result<(), ParquetError> {
        let column = self.0.next_column()?;
        let mut column = column.ok_or_else(|| ParquetError::General("one column too many".into()))?;
        column.typed::<T>().write_batch(values, present, None)?;
        column.close()
    }
}

/// Writes a complete file with one row group to memory.
pub fn table(
    schema_text: &str,
    fill: impl FnOnce(&mut NextColumn<'_, '_, Vec<u8>>) -> Result<(), ParquetError>,
) -> Result<Vec<u8>, ParquetError> {
    let properties = properties().set_dictionary_enabled(false).set_encoding(Encoding::PLAIN).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(schema_text)?, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    fill(&mut NextColumn(&mut group))?;
    group.close()?;
    writer.into_inner()
}

/// File with at most one row group, in memory.
pub struct Table {
    path: PathBuf,
    bytes: Vec<u8>,
    metadata: ParquetMetaData,
    pub rows: usize,
}

impl Table {
    /// Returns an error if the schema differs or the file has more than `most` rows.
    pub fn open(path: &Path, bytes: Vec<u8>, schema_text: &str, most: usize) -> Result<Self, Error> {
        let read = || {
            let metadata = metadata(&bytes)?;
            check_schema(&metadata, schema_text)?;
            let rows = match metadata.row_groups() {
                [] => 0,
                [group] => usize::try_from(group.num_rows())?,
                _ => return Err(ParquetError::General("it has more than one row group".into())),
            };
            if rows > most {
                return Err(ParquetError::General(format!("it has {rows} rows; the maximum is {most}")));
            }
            Ok((metadata, rows))
        };
        let (metadata, rows) = read().map_err(Error::reading(path))?;
        Ok(Table { path: path.into(), bytes, metadata, rows })
    }

    /// Decodes a column with `decode`.
    pub fn column<T: Default>(
        &self,
        index: usize,
        decode: impl FnOnce(Pages) -> Result<T, &'static str>,
    ) -> Result<T, Error> {
        let Some(group) = self.metadata.row_groups().first() else { return Ok(T::default()) };
        let chunk = chunk(&self.bytes, 0, group.column(index));
        let decoded = chunk.and_then(|(bytes, codec)| decode(Pages::new(bytes, codec, MAX_TABLE_PAGE)));
        decoded.map_err(|what| Error::corrupt(&self.path, format!("column {index}: {what}")))
    }

    pub fn integers(&self, index: usize) -> Result<Vec<i32>, Error> {
        self.column(index, |pages| decode::integers(pages, self.rows))
    }

    pub fn optional(&self, index: usize) -> Result<Vec<Option<u32>>, Error> {
        self.column(index, |pages| decode::optional(pages, self.rows))
    }

    pub fn strings(&self, index: usize, most: usize) -> Result<Vec<String>, Error> {
        self.column(index, |pages| decode::strings(pages, self.rows, most))
    }
}

/// Bytes and compression of a column chunk. `bytes` is the part of the file that starts at `begin`.
pub fn chunk<'a>(
    bytes: &'a [u8],
    begin: u64,
    column: &ColumnChunkMetaData,
) -> Result<(&'a [u8], Compression), &'static str> {
    let first = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let range = || {
        let from = usize::try_from(u64::try_from(first).ok()?.checked_sub(begin)?).ok()?;
        let to = from.checked_add(usize::try_from(column.compressed_size()).ok()?)?;
        bytes.get(from..to)
    };
    Ok((range().ok_or("it is outside its group")?, column.compression()))
}

/// Parses the metadata at the end of a Parquet file: metadata, length of the metadata, `PAR1`.
pub fn metadata(end: &[u8]) -> Result<ParquetMetaData, ParquetError> {
    let read = || {
        let (rest, magic) = end.split_last_chunk::<4>()?;
        let (rest, length) = rest.split_last_chunk::<4>()?;
        let from = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
        (magic == b"PAR1").then_some(&rest[from..])
    };
    let metadata = read().ok_or_else(|| ParquetError::General("it has no valid Parquet footer".into()))?;
    ParquetMetaDataReader::decode_metadata(metadata)
}

/// Returns an error if the columns differ from `schema_text`.
pub fn check_schema(metadata: &ParquetMetaData, schema_text: &str) -> Result<(), ParquetError> {
    let expected = SchemaDescriptor::new(schema(schema_text)?);
    let found = metadata.file_metadata().schema_descr();
    if found.columns() != expected.columns() {
        return Err(ParquetError::General("its columns are not those of a trace".into()));
    }
    Ok(())
}
