//! Parquet, as far as a trace needs it: files of required columns without nesting.

use super::Error;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What all files have in common.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by("hearth-trace version 2".into())
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        // A column of a group is one page, but for the one with the dictionary.
        .set_data_page_row_count_limit(super::GROUP_EVENTS)
        .set_write_batch_size(super::GROUP_EVENTS)
        .set_data_page_size_limit(8 << 20)
}

/// Properties of the files of events.
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

/// Takes the columns of a row group, in their order.
pub struct NextColumn<'a, 'f, W: Write + Send>(pub &'a mut SerializedRowGroupWriter<'f, W>);

impl<W: Write + Send> NextColumn<'_, '_, W> {
    pub fn next<T: DataType>(&mut self, values: &[T::T]) -> Result<(), ParquetError> {
        let column = self.0.next_column()?;
        let mut column = column.ok_or_else(|| ParquetError::General("one column too many".into()))?;
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()
    }
}

/// A whole file with one row group.
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

/// A file with one row group, in memory.
pub struct Table {
    path: PathBuf,
    bytes: bytes::Bytes,
    metadata: ParquetMetaData,
    rows: usize,
}

impl Table {
    /// An error if it is not of this schema, or has more than `most` rows.
    pub fn open(path: &Path, bytes: Vec<u8>, schema_text: &str, most: usize) -> Result<Self, Error> {
        let bytes = bytes::Bytes::from(bytes);
        let read = || {
            let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes)?;
            check_schema(&metadata, schema_text)?;
            let rows = match metadata.row_groups() {
                [] => 0,
                [group] => usize::try_from(group.num_rows())?,
                _ => return Err(ParquetError::General("it has more than one row group".into())),
            };
            if rows > most {
                return Err(ParquetError::General(format!("it has {rows} rows, of at most {most}")));
            }
            Ok((metadata, rows))
        };
        let (metadata, rows) = read().map_err(Error::reading(path))?;
        Ok(Table { path: path.into(), bytes, metadata, rows })
    }

    /// The values of a column, as many as there are rows.
    pub fn column<T: DataType>(&self, index: usize) -> Result<Vec<T::T>, Error> {
        if self.metadata.num_row_groups() == 0 {
            return Ok(Vec::new());
        }
        let column = self.metadata.row_group(0).column(index);
        let read = || {
            let source = Arc::new(self.bytes.clone());
            let pages = SerializedPageReader::new(source, column, self.rows, None)?;
            let reader = get_column_reader(column.column_descr_ptr(), Box::new(pages));
            let mut values = Vec::new();
            read_exactly(get_typed_column_reader::<T>(reader), self.rows, &mut values)?;
            Ok(values)
        };
        read().map_err(Error::reading(&self.path))
    }
}

/// Decodes `rows` values; it is an error if there are fewer.
pub fn read_exactly<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
) -> Result<(), ParquetError> {
    values.clear();
    reader.read_records(rows, None, None, values)?;
    if values.len() != rows {
        return Err(ParquetError::General(format!("a column has {} rows of {rows}", values.len())));
    }
    Ok(())
}

/// An error if the columns are not those of `schema_text`.
pub fn check_schema(metadata: &ParquetMetaData, schema_text: &str) -> Result<(), ParquetError> {
    let expected = SchemaDescriptor::new(schema(schema_text)?);
    let found = metadata.file_metadata().schema_descr();
    if found.columns() != expected.columns() {
        return Err(ParquetError::General("its columns are not those of a trace".into()));
    }
    Ok(())
}
