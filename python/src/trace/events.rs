//! The events of a trace, in memory or on disk, as a table.

use crate::table::{Rows, Table};
use arrow_array::types::UInt8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, RecordBatch, RecordBatchIterator, StringArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use hearth_trace::{Error, Event, Header, KIND_NAMES, Reader, Row, Sink, Store, Trace, Writer};
use std::path::Path;
use std::sync::Arc;

#[derive(Clone)]
pub enum Events {
    Memory(Arc<Trace>),
    Stored(Arc<Store>),
}

/// Events of a record batch.
const BATCH: usize = 1 << 17;

impl Events {
    pub fn header(&self) -> &Header {
        match self {
            Events::Memory(trace) => &trace.header,
            Events::Stored(store) => store.header(),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Events::Memory(trace) => trace.events.len(),
            Events::Stored(store) => store.events() as usize,
        }
    }

    /// Passes all events, in groups.
    pub fn each(&self, mut take: impl FnMut(&[Event])) -> Result<(), Error> {
        match self {
            Events::Memory(trace) => take(&trace.events),
            Events::Stored(store) => {
                let mut reader = Reader::of(store.clone())?;
                while let Some(group) = reader.next_group() {
                    take(group?);
                }
            }
        }
        Ok(())
    }

    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let mut writer = Writer::create(path, self.header())?;
        self.each(|events| writer.events(events))?;
        writer.commit(self.header())
    }

    /// The columns of the store, with the names of the kinds.
    pub fn table(&self) -> Table {
        let events = self.clone();
        Table::streamed(schema(), self.len(), move || events.stream())
    }

    fn stream(&self) -> Result<Rows, ArrowError> {
        match self.clone() {
            Events::Memory(trace) => {
                let starts = (0..trace.events.len()).step_by(BATCH);
                let batches = starts.map(move |start| {
                    let end = trace.events.len().min(start + BATCH);
                    batch(&trace.events[start..end])
                });
                Ok(Box::new(RecordBatchIterator::new(batches, schema())))
            }
            Events::Stored(store) => {
                let mut reader = Reader::of(store).map_err(failed)?;
                let batches = std::iter::from_fn(move || {
                    let group = reader.next_group()?;
                    Some(group.map_err(failed).and_then(batch))
                });
                Ok(Box::new(RecordBatchIterator::new(batches, schema())))
            }
        }
    }
}

fn failed(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

fn schema() -> SchemaRef {
    let kind = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
    let columns = [
        ("time", DataType::UInt64),
        ("core", DataType::UInt16),
        ("kind", kind),
        ("thread", DataType::UInt32),
        ("other", DataType::UInt32),
        ("target", DataType::UInt16),
        ("detail", DataType::UInt16),
        ("value", DataType::UInt32),
    ];
    let fields = columns.into_iter().map(|(name, kind)| Field::new(name, kind, false));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn batch(events: &[Event]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<Row> = events.iter().map(|event| Row::of(&event.kind)).collect();
    let wide = |value: fn(&Row) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(value)))
    };
    let narrow = |value: fn(&Row) -> u16| -> ArrayRef {
        Arc::new(UInt16Array::from_iter_values(rows.iter().map(value)))
    };
    // The number of a kind is its position in the list, counted from 1.
    let kinds = UInt8Array::from_iter_values(rows.iter().map(|row| row.kind - 1));
    let names = StringArray::from_iter_values(KIND_NAMES.iter().map(|(_, name)| name));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(events.iter().map(|event| event.time))),
        Arc::new(UInt16Array::from_iter_values(events.iter().map(|event| event.core))),
        Arc::new(DictionaryArray::<UInt8Type>::try_new(kinds, Arc::new(names))?),
        wide(|row| row.thread),
        wide(|row| row.other),
        narrow(|row| row.target),
        narrow(|row| row.detail),
        wide(|row| row.value),
    ];
    RecordBatch::try_new(schema(), columns)
}
