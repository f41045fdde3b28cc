//! Events as CSV, and as JSON lines.

use super::row::{COLUMNS, Row};
use hearth_trace::{Event, Header};
use std::io::{self, Write};

pub struct Csv<W: Write>(csv::Writer<W>);

impl<W: Write> Csv<W> {
    pub fn new(out: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(COLUMNS)?;
        Ok(Csv(csv))
    }

    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        self.0.write_field(row.time.to_string())?;
        self.0.write_field(row.core.to_string())?;
        self.0.write_field(row.kind)?;
        self.number(row.thread)?;
        self.0.write_field(row.thread_name.unwrap_or_default())?;
        self.number(row.other)?;
        self.number(row.target.map(u32::from))?;
        self.0.write_field(row.detail.unwrap_or_default())?;
        self.number(row.value)?;
        self.number(row.tid)?;
        self.number(row.pid)?;
        self.0.write_field(row.process.unwrap_or_default())?;
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    fn number(&mut self, value: Option<u32>) -> io::Result<()> {
        Ok(self.0.write_field(value.map(|value| value.to_string()).unwrap_or_default())?)
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// One JSON value per line: the header, then the events, with the field names of `hearth_trace`.
pub struct Lines<W: Write>(W);

impl<W: Write> Lines<W> {
    pub fn new(header: &Header, out: W) -> io::Result<Self> {
        let mut lines = Lines(out);
        lines.line(header)?;
        Ok(lines)
    }

    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.line(event)
    }

    fn line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, value)?;
        self.0.write_all(b"\n")
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}
