//! Exporting a trace. Memory use does not depend on the length of the trace.

mod parquet;
mod perfetto;
mod programs;
mod row;
mod table;
mod tracks;

use crate::{Error, Notes};
use hearth_base::file::AtomicFile;
use hearth_trace::series::UnderloadMeter;
use hearth_trace::{Event, Header, Kind, Reader};
use parquet::Parquet;
use programs::Programs;
use row::Rows;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use table::{Csv, Lines};

/// Formats of exported traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExportFormat {
    Perfetto,
    Csv,
    Parquet,
    JsonLines,
}

impl ExportFormat {
    /// Detects the format by the extension of a file's name.
    pub fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "pftrace" | "perfetto-trace" | "perfetto" | "pb" => ExportFormat::Perfetto,
            "csv" => ExportFormat::Csv,
            "parquet" => ExportFormat::Parquet,
            "jsonl" | "ndjson" => ExportFormat::JsonLines,
            _ => return None,
        })
    }

    /// Describes what the format cannot represent.
    fn leaves_out(self) -> &'static [&'static str] {
        match self {
            ExportFormat::Csv => {
                &["CSV has no header (machine, parents of threads, losses): Parquet and JSON lines have one"]
            }
            _ => &[],
        }
    }
}

/// Result of an export.
#[derive(Clone, Debug)]
pub struct Exported {
    pub events: u64,
    pub bytes: u64,
    /// What the output does not represent.
    pub notes: Vec<String>,
}

/// Writes the trace `input` to `output`, which is replaced atomically.
pub fn export(input: &Path, output: &Path, format: ExportFormat) -> Result<Exported, Error> {
    let created = |source| Error::File { action: "create", path: output.into(), source };
    let mut file = Counted { out: AtomicFile::create(output).map_err(created)?, bytes: 0 };
    let events = write(input, format, &mut file).map_err(|error| error.named(output))?;
    file.out.commit().map_err(created)?;
    exported(input, format, events, file.bytes)
}

fn exported(input: &Path, format: ExportFormat, events: u64, bytes: u64) -> Result<Exported, Error> {
    let mut notes = Notes::default();
    format.leaves_out().iter().for_each(|note| notes.say(*note));
    let reader = Reader::open(input)?;
    reader.header().source.unrecorded().notes().iter().for_each(|note| notes.say(*note));
    let lost: u64 = reader.header().lost.iter().sum();
    if lost > 0 {
        notes.add("events that the recorder lost", lost);
    }
    Ok(Exported { events, bytes, notes: notes.lines() })
}

struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write(input: &Path, format: ExportFormat, out: &mut (impl Write + Send)) -> Result<u64, Error> {
    let programs = match format {
        ExportFormat::Perfetto => programs_of(input)?,
        _ => Programs::default(),
    };
    let reader = Reader::open(input)?;
    let header = reader.header().clone();
    write_events(&header, &programs, reader, format, out)
}

/// Reads which programs the threads execute: the exporter needs them before the first event.
fn programs_of(input: &Path) -> Result<Programs, Error> {
    let mut programs = Programs::default();
    let reader = Reader::open(input)?;
    if !reader.header().names.is_empty() {
        for event in reader {
            programs.event(&event?);
        }
    }
    Ok(programs)
}

/// Writes events in a format. Returns their number.
fn write_events(
    header: &Header,
    programs: &Programs,
    events: impl Iterator<Item = Result<Event, hearth_trace::Error>>,
    format: ExportFormat,
    out: &mut (impl Write + Send),
) -> Result<u64, Error> {
    let mut out = BufWriter::with_capacity(256 << 10, out);
    let mut count = 0;
    match format {
        ExportFormat::Perfetto => {
            let mut exporter = perfetto::Exporter::new(header, programs, &mut out).map_err(Error::write)?;
            exporter.watts().map_err(Error::write)?;
            let mut underload = Underload::new(header);
            for event in events {
                let event = event?;
                count += 1;
                underload.event(&event, &mut exporter).map_err(Error::write)?;
                exporter.event(&event).map_err(Error::write)?;
            }
            underload.finish(header, &mut exporter).map_err(Error::write)?;
            exporter.finish().map_err(Error::write)?;
        }
        ExportFormat::JsonLines => {
            let mut lines = Lines::new(header, &mut out).map_err(Error::write)?;
            for event in events {
                count += 1;
                lines.event(&event?).map_err(Error::write)?;
            }
            lines.finish().map_err(Error::write)?;
        }
        ExportFormat::Csv => {
            let (mut rows, mut csv) = (Rows::new(header), Csv::new(&mut out).map_err(Error::write)?);
            for event in events {
                count += 1;
                csv.row(&rows.row(&event?)).map_err(Error::write)?;
            }
            csv.finish().map_err(Error::write)?;
        }
        ExportFormat::Parquet => {
            let (mut rows, mut file) =
                (Rows::new(header), Parquet::new(header, &mut out).map_err(Error::write)?);
            for event in events {
                count += 1;
                file.row(&rows.row(&event?)).map_err(Error::write)?;
            }
            file.finish().map_err(Error::write)?;
        }
    }
    out.flush().map_err(Error::write)?;
    Ok(count)
}

/// The underload counter: one value per interval, written when it changes.
struct Underload {
    meter: UnderloadMeter,
    /// Last underload that was not 0, and the end of its interval.
    last: Option<(u32, u64)>,
}

impl Underload {
    fn new(header: &Header) -> Self {
        Underload { meter: UnderloadMeter::new(header), last: None }
    }

    fn event<W: Write>(&mut self, event: &Event, exporter: &mut perfetto::Exporter<W>) -> io::Result<()> {
        // Other events do not change it.
        if matches!(event.kind, Kind::Queue { .. } | Kind::Tick { .. } | Kind::Set { .. }) {
            return Ok(());
        }
        let point = self.meter.event(event);
        point.map_or(Ok(()), |point| self.point(point.time, point.underload, exporter))
    }

    fn point<W: Write>(
        &mut self,
        time: u64,
        value: u32,
        exporter: &mut perfetto::Exporter<W>,
    ) -> io::Result<()> {
        match self.last {
            Some((_, end)) if end < time => exporter.underload(end, 0)?,
            None if time > 0 => exporter.underload(0, 0)?,
            _ => {}
        }
        let end = time + hearth_trace::UNDERLOAD_INTERVAL;
        let same = self.last.is_some_and(|last| last == (value, time));
        self.last = Some((value, end));
        if same { Ok(()) } else { exporter.underload(time, value) }
    }

    fn finish<W: Write>(mut self, header: &Header, exporter: &mut perfetto::Exporter<W>) -> io::Result<()> {
        let meter = std::mem::replace(&mut self.meter, UnderloadMeter::new(&Header::default()));
        for point in meter.finish(header.duration) {
            self.point(point.time, point.underload, exporter)?;
        }
        match self.last {
            Some((_, end)) if end < header.duration => exporter.underload(end, 0),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfetto::{PACKET, Track, event, packet};
    use crate::wire::{Fields, Value};
    use hearth_trace::{CoreInfo, Stop, ThreadInfo};

    /// The counters of a track in an exported file.
    fn counters(file: &[u8], track: Track) -> Vec<(u64, u64)> {
        let number = |message, wanted| {
            let found = Fields::of(message).map(Result::unwrap).find(|(field, _)| *field == wanted);
            found.map(|(_, value): (u32, Value)| value)
        };
        let mut counters = Vec::new();
        for (field, packet) in Fields::of(file).map(Result::unwrap) {
            assert_eq!(field, PACKET);
            let Some(content) = number(packet.bytes(), packet::TRACK_EVENT) else { continue };
            if number(content.bytes(), event::TRACK) == Some(Value::Number(track.uuid())) {
                let time = number(packet.bytes(), packet::TIMESTAMP).unwrap().number();
                counters.push((time, number(content.bytes(), event::COUNTER).unwrap().number()));
            }
        }
        counters
    }

    /// A thread that runs on two cores in one interval is an underload of one core.
    #[test]
    fn underload_sets_and_power_are_counters() {
        let at = |ms: u64, core, kind| Ok(Event { time: ms * 1_000_000, core, kind });
        let run = |next| Kind::Switch { prev: 0, stop: Stop::Preempted, next };
        let stop = |prev| Kind::Switch { prev, stop: Stop::Blocked, next: 0 };
        let events = vec![
            at(1, 0, Kind::Set { set: 0, member: true }),
            at(2, 1, Kind::Set { set: 0, member: true }),
            at(5, 0, run(1)),
            at(6, 0, stop(1)),
            at(
                6,
                0,
                Kind::Wakeup { thread: 1, waker: hearth_trace::Waker::Interrupt, target: 1, sync: false },
            ),
            at(7, 1, run(1)),
            at(9, 0, Kind::Set { set: 0, member: false }),
            at(30, 1, stop(1)),
        ];
        let header = Header {
            cores: vec![CoreInfo::default(); 2],
            threads: vec![ThreadInfo { tid: 1, name: "t".into(), traced: true, ..ThreadInfo::default() }],
            sets: vec!["primary".into()],
            duration: 30_000_000,
            energy_by_time: vec![(10_000_000, 25_000), (30_000_000, 125_000)],
            ..Header::default()
        };
        let mut file = Vec::new();
        write_events(&header, &Programs::default(), events.into_iter(), ExportFormat::Perfetto, &mut file)
            .unwrap();
        assert_eq!(counters(&file, Track::Underload), [(0, 0), (4_000_000, 1), (8_000_000, 0)]);
        assert_eq!(counters(&file, Track::SetSize(0)), [(1_000_000, 1), (2_000_000, 2), (9_000_000, 1)]);
        // In milliwatts.
        assert_eq!(counters(&file, Track::Power), [(0, 2_500), (10_000_000, 5_000)]);
    }
}
