//! Importing traces of other tools.
//!
//! The events of a file are collected, sorted by time (in a file, if there are many), and passed to the assembler, which
//! the recorder uses, too.

mod collect;
mod detect;
mod input;
mod json;
mod perf_data;
mod perfetto;
mod schedviz;
mod sort;
mod survey;
mod text;
mod trace_dat;
mod tracing_data;
mod wrap;

use crate::{Error, Notes};
use collect::{Collected, Collector};
pub use detect::ImportFormat;
use hearth_trace::ftrace::{Assembler, Scope};
use hearth_trace::{CoreId, CoreInfo, Event, Filter, Header, Method, Recording, Sink, Source, Writer};
use perfetto::{Content, Ours};
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

/// Result of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    pub format: ImportFormat,
    pub header: Header,
    pub events: u64,
    /// Number of inserted switches and migrations, which are not in the file.
    pub inferred: u64,
    /// What the trace cannot represent, and what the file lacks.
    pub notes: Vec<String>,
}

/// Converts the file `input` to the trace `output`. Detects the format if none is given.
pub fn import(input: &Path, format: Option<ImportFormat>, output: &Path) -> Result<Imported, Error> {
    let named = |error: Error| error.named(input);
    let file = |path| {
        hearth_base::file::open(path).map_err(|source| Error::File {
            action: "open",
            path: input.into(),
            source,
        })
    };
    let meta = std::fs::metadata(input).map_err(|source| Error::File {
        action: "open",
        path: input.into(),
        source,
    })?;
    if meta.is_dir() {
        return Err(named(if input.join("trace.json").exists() { Error::Hearth } else { Error::Unknown }));
    }
    let reader = BufReader::with_capacity(256 << 10, file(input)?);
    let folder = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (format, parts) = read(reader, format, folder).map_err(named)?;
    let mut writer = Writer::create(output, parts.header())?;
    let imported = parts.pass(format, &mut writer).map_err(named)?;
    writer.commit(&imported.header)?;
    Ok(imported)
}

/// Converts bytes for any sink. Temporary files go to `folder`.
pub fn import_bytes(
    input: impl Read + Seek + Send,
    format: ImportFormat,
    folder: &Path,
    sink: &mut impl Sink,
) -> Result<Imported, Error> {
    let (format, parts) = read(BufReader::new(input), Some(format), folder)?;
    parts.pass(format, sink)
}

/// Detects the format by the first bytes of a file.
pub fn detect(beginning: &[u8]) -> Option<ImportFormat> {
    detect::detect(beginning).ok()
}

/// Name of the format of a file that can be imported, by its first bytes.
pub fn recognised(path: &Path) -> Option<&'static str> {
    let mut reader = BufReader::with_capacity(4096, hearth_base::file::open(path).ok()?);
    let beginning = reader.fill_buf().ok()?;
    wrap::name(beginning).or_else(|| detect::certain(beginning).map(ImportFormat::name))
}

/// The sorted events of a file.
enum Parts {
    Ours(Box<Ours>, Notes),
    /// With the part of the header that is known before the first event.
    Kernel(Box<Collected>, Box<Header>),
}

fn read(
    input: impl BufRead + Seek,
    format: Option<ImportFormat>,
    folder: &Path,
) -> Result<(ImportFormat, Parts), Error> {
    let mut input = wrap::unwrapped(input, folder)?;
    let format = match format {
        Some(format) => format,
        None => detect::detect(input.fill_buf().map_err(Error::read)?)?,
    };
    let mut collector = Collector::new(format.name(), folder);
    match format {
        ImportFormat::Text => text::read(input, &mut collector)?,
        ImportFormat::TraceDat => trace_dat::read(input, &mut collector)?,
        ImportFormat::PerfData => perf_data::read(input, &mut collector)?,
        ImportFormat::Json => json::read(input, &mut collector)?,
        ImportFormat::SchedViz => schedviz::read(input, &mut collector)?,
        ImportFormat::Perfetto => match perfetto::read(input, collector, folder)? {
            Content::Ours(ours, notes) => return Ok((format, Parts::Ours(ours, notes))),
            Content::Kernel(found) => collector = *found,
        },
    }
    let mut collected = collector.collected()?;
    let header = provisional(&mut collected);
    Ok((format, Parts::Kernel(Box::new(collected), Box::new(header))))
}

impl Parts {
    fn pass(self, format: ImportFormat, sink: &mut impl Sink) -> Result<Imported, Error> {
        match self {
            Parts::Ours(ours, notes) => pass_ours(*ours, notes, format, sink),
            Parts::Kernel(collected, header) => pass_kernel(*collected, *header, format, sink),
        }
    }

    /// The part of the header that is known before the first event.
    fn header(&self) -> &Header {
        match self {
            Parts::Ours(ours, _) => &ours.header,
            Parts::Kernel(_, header) => header,
        }
    }
}

fn pass_ours(
    ours: Ours,
    notes: Notes,
    format: ImportFormat,
    sink: &mut impl Sink,
) -> Result<Imported, Error> {
    let (header, mut events) = ours.finish()?;
    header.threads.iter().for_each(|thread| sink.thread(thread));
    let mut count = 0;
    while let Some(event) = events.next()? {
        count += 1;
        sink.event(&event);
    }
    Ok(Imported { format, header, events: count, inferred: 0, notes: notes.lines() })
}

fn pass_kernel(
    mut collected: Collected,
    header: Header,
    format: ImportFormat,
    sink: &mut impl Sink,
) -> Result<Imported, Error> {
    let cpus: Vec<u32> = (0..collected.cores).collect();
    let mut assembler = Assembler::new(header, &cpus, Scope::All, sink);
    collected.describe(&mut assembler);
    for (cpu, count) in &collected.lost {
        assembler.lost(*cpu, Some(*count));
    }
    collected.each(|event| {
        assembler.event(event);
        Ok(())
    })?;
    let assembled = assembler.finish().ok_or(Error::Empty { what: "scheduling" })?;
    let mut notes = std::mem::take(&mut collected.notes);
    if assembled.inferred > 0 {
        notes.add(
            "switches and migrations missing in the file, inserted and counted as lost",
            assembled.inferred,
        );
    }
    let (mut header, events, inferred) = (assembled.header, assembled.events, assembled.inferred);
    if let Source::Recorded(recording) = &mut header.source {
        recording.inferred = inferred;
    }
    Ok(Imported { format, header, events, inferred, notes: notes.lines() })
}

/// The part of the header that is known before the first event.
fn provisional(collected: &mut Collected) -> Header {
    let origin = std::mem::take(&mut collected.origin);
    collected.unrecorded.notes().into_iter().for_each(|note| collected.notes.say(note));
    collected.notes.say("the file has no topology: each core counts as a physical core of one socket");
    let core = |core| CoreInfo { physical: core as CoreId, ..CoreInfo::default() };
    Header {
        source: Source::Recorded(Recording {
            method: Method::Imported { format: origin.method.into() },
            command: origin.command,
            kernel: origin.kernel,
            clock: origin.clock,
            filter: Filter::System,
            unrecorded: collected.unrecorded,
            ..Recording::default()
        }),
        machine: origin.machine,
        cores: (0..collected.cores).map(core).collect(),
        ..Header::default()
    }
}

/// Counts events.
#[derive(Default)]
pub struct Count(pub u64);

impl Sink for Count {
    fn event(&mut self, _: &Event) {
        self.0 += 1;
    }
}
