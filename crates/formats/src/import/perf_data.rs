//! `perf.data` of `perf sched record` or `perf record -e 'sched:*'`.
//!
//! The file has a header with the positions of all parts, the attributes of the events, which define the layout of
//! samples, and the records. The content of a sample is an ftrace event.

use super::collect::Collector;
use super::input::Input;
use super::tracing_data::{self, Formats};
use crate::Error;
use hearth_trace::ftrace::Decoder;
use linux_perf_event_reader::{
    Endianness, PerfEventAttr, RawData, RawEventRecord, RecordParseInfo, RecordType, SampleFormat,
};
use std::collections::HashMap;
use std::io::{Cursor, Read, Seek};

pub const MAGIC: &[u8; 8] = b"PERFILE2";
pub const MAGIC_BIG_ENDIAN: &[u8; 8] = b"2ELIFREP";

/// Position of a part of the file.
#[derive(Clone, Copy, Debug)]
struct Section {
    offset: u64,
    size: u64,
}

/// `HEADER_TRACING_DATA` and the others of `tools/perf/util/header.h`.
const TRACING_DATA: u32 = 1;
const OS_RELEASE: u32 = 4;
const CPUS: u32 = 7;
const CPU_MODEL: u32 = 8;
const COMMAND: u32 = 11;

const COMM: u32 = 3;
const SAMPLE: u32 = 9;
const LOST: u32 = 2;
const LOST_SAMPLES: u32 = 13;
const COMPRESSED: [u32; 2] = [81, 83];
const AUXTRACE: u32 = 71;

pub fn read(input: impl Read + Seek, collector: &mut Collector) -> Result<(), Error> {
    let mut input = Input::new(input)?;
    let magic = input.bytes(8, "the mark of perf.data")?;
    if magic == MAGIC_BIG_ENDIAN {
        return Err(input.wrong("it is from a big-endian machine, which is not supported"));
    }
    if magic != MAGIC {
        return Err(input.wrong("expected \"PERFILE2\" before it"));
    }
    if input.u64("the header")? < 104 {
        return Err(input.wrong(
            "it was written to a pipe, and has no header: let perf write a file (`perf sched record -o FILE`)",
        ));
    }
    let attribute_size = input.u64("the header")?;
    let attributes = section(&mut input)?;
    let data = section(&mut input)?;
    let _types = section(&mut input)?;
    let features = input.bytes(32, "the header")?;
    let attributes = Attributes::read(&mut input, attributes, attribute_size)?;
    let decoder = read_features(&mut input, data, &features, collector)?;
    read_records(&mut input, data, &attributes, &decoder, collector)
}

fn section(input: &mut Input<impl Read + Seek>) -> Result<Section, Error> {
    Ok(Section { offset: input.u64("the header")?, size: input.u64("the header")? })
}

/// Layouts of the samples of each event.
struct Attributes {
    infos: Vec<(RecordParseInfo, SampleFormat)>,
    /// Index in `infos` of each ID of a sample.
    ids: HashMap<u64, usize>,
}

impl Attributes {
    fn read(input: &mut Input<impl Read + Seek>, section: Section, size: u64) -> Result<Self, Error> {
        if !(80..=4096).contains(&size) {
            return Err(
                input.wrong(format!("its header says that attributes have {size} bytes: it is damaged"))
            );
        }
        let mut attributes = Attributes { infos: Vec::new(), ids: HashMap::new() };
        let mut left = input.length() / 8;
        for index in 0..section.size / size {
            input.seek(section.offset.saturating_add(index * size), "the attributes")?;
            let bytes = input.bytes(size - 16, "an attribute")?;
            let ids = self::section(input)?;
            let at = input.at();
            let (attr, _) = PerfEventAttr::parse::<_, byteorder::LittleEndian>(&bytes[..])
                .map_err(|why| Error::byte(at, format!("an invalid attribute before it: {why}")))?;
            input.seek(ids.offset, "the numbers of an event")?;
            left = left
                .checked_sub(ids.size / 8)
                .ok_or_else(|| input.wrong("the numbers of events overlap: the file is damaged"))?;
            for _ in 0..ids.size / 8 {
                let id = input.u64("the numbers of an event")?;
                attributes.ids.insert(id, attributes.infos.len());
            }
            let info = RecordParseInfo::new(&attr, Endianness::LittleEndian);
            attributes.infos.push((info, attr.sample_format));
        }
        match attributes.infos.is_empty() {
            true => Err(Error::Format("it describes no events".into())),
            false => Ok(attributes),
        }
    }

    /// Layout of a sample. If events have different layouts, its first word is an ID.
    fn of(&self, sample: &[u8]) -> Option<&RecordParseInfo> {
        let (first, format) = self.infos.first()?;
        if !format.contains(SampleFormat::IDENTIFIER) {
            let same = self.infos.iter().all(|(_, other)| other == format);
            return same.then_some(first);
        }
        let id = u64::from_le_bytes(*sample.first_chunk()?);
        Some(&self.infos.get(*self.ids.get(&id)?)?.0)
    }
}

/// Reads the parts after the data: the formats of the events, and where they were recorded.
fn read_features(
    input: &mut Input<impl Read + Seek>,
    data: Section,
    features: &[u8],
    collector: &mut Collector,
) -> Result<Decoder, Error> {
    let mut formats = None;
    input.seek(data.offset.saturating_add(data.size), "what is behind the data")?;
    let present = (0..256u32)
        .filter(|bit| features.get(*bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1));
    let mut places = Vec::new();
    for feature in present {
        places.push((feature, section(input)?));
    }
    for (feature, place) in places {
        if !matches!(feature, TRACING_DATA | OS_RELEASE | CPUS | CPU_MODEL | COMMAND) {
            continue;
        }
        input.seek(place.offset, "a part behind the data")?;
        let bytes = input.bytes(place.size, "a part behind the data")?;
        let mut part = Input::new(Cursor::new(bytes))?;
        match feature {
            TRACING_DATA => formats = Some(read_formats(&mut part)?),
            OS_RELEASE => collector.origin.kernel = text(&mut part)?,
            CPU_MODEL => collector.origin.machine = text(&mut part)?,
            CPUS => collector.origin.cores = part.u32("the number of cores")?,
            _ => {
                for _ in 0..part.u32("the command")?.min(1000) {
                    let word = text(&mut part)?;
                    collector.origin.command.push(word);
                }
            }
        }
    }
    match formats {
        Some(formats) => formats.decoder(),
        None => Err(Error::Empty {
            help: "It has no tracepoints: record with `perf sched record`, or `perf record -e 'sched:*' -a`",
        }),
    }
}

fn read_formats(part: &mut Input<Cursor<Vec<u8>>>) -> Result<Formats, Error> {
    tracing_data::start(part)?;
    let mut formats = Formats::default();
    formats.header_info(part)?;
    Formats::skip_ftrace(part)?;
    formats.events(part)?;
    Ok(formats)
}

fn text(part: &mut Input<Cursor<Vec<u8>>>) -> Result<String, Error> {
    let length = part.u32("a text")?;
    let bytes = part.bytes(length.into(), "a text")?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn read_records(
    input: &mut Input<impl Read + Seek>,
    data: Section,
    attributes: &Attributes,
    decoder: &Decoder,
    collector: &mut Collector,
) -> Result<(), Error> {
    input.seek(data.offset, "the data")?;
    if data.size > input.rest() {
        return Err(
            input.wrong("the data ends early: the recorder was interrupted, or the copy is incomplete")
        );
    }
    let end = data.offset + data.size;
    let mut body = Vec::new();
    while input.at() < end {
        let at = input.at();
        let (kind, misc, size) = (input.u32("a record")?, input.u16("a record")?, input.u16("a record")?);
        let length = size
            .checked_sub(8)
            .ok_or_else(|| Error::byte(at, "a record says that it is shorter than its head"))?;
        input.fill(&mut body, length.into(), "a record")?;
        match kind {
            SAMPLE => read_sample(at, misc, &body, attributes, decoder, collector)?,
            COMM => {
                if let (Some(tid), Some(comm)) =
                    (body.get(4..8).and_then(|tid| tid.first_chunk()), body.get(8..))
                {
                    let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
                    collector.name(i32::from_le_bytes(*tid), &comm[..end])?;
                }
            }
            LOST | LOST_SAMPLES => {
                // `id, lost` or `lost`.
                let at = if kind == LOST { 8 } else { 0 };
                let count = body
                    .get(at..)
                    .and_then(|count| count.first_chunk())
                    .map_or(1, |count| u64::from_le_bytes(*count));
                collector.notes.add("events that perf lost, of unknown cores", count);
                collector.lost(0, count);
            }
            AUXTRACE => {
                let more = body.first_chunk().map_or(0, |size| u64::from_le_bytes(*size));
                input.skip(more, "traces of the processor")?;
            }
            compressed if COMPRESSED.contains(&compressed) => {
                return Err(Error::byte(
                    at,
                    "it is compressed: record without `-z`, or `perf inject` it first",
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn read_sample(
    at: u64,
    misc: u16,
    body: &[u8],
    attributes: &Attributes,
    decoder: &Decoder,
    collector: &mut Collector,
) -> Result<(), Error> {
    let Some(info) = attributes.of(body) else {
        collector.notes.count("samples of unknown events");
        return Ok(());
    };
    let record = RawEventRecord {
        record_type: RecordType(SAMPLE),
        misc,
        data: RawData::Single(body),
        parse_info: *info,
    };
    let wrong = |why: &str| Error::byte(at, format!("this sample is invalid: {why}"));
    let parsed = record.parse().map_err(|why| wrong(&why.to_string()))?;
    let linux_perf_event_reader::EventRecord::Sample(sample) = parsed else { return Ok(()) };
    let Some(raw) = sample.raw else {
        collector.notes.count("samples without the event's content (they were not recorded with -R)");
        return Ok(());
    };
    let time = sample.timestamp.ok_or_else(|| wrong("it has no time (record with `perf sched record`)"))?;
    let cpu = sample.cpu.ok_or_else(|| wrong("it has no core (record with `perf sched record`)"))?;
    match decoder.decode(cpu, time, &raw.as_slice()) {
        Some(event) => collector.event(&event)?.map_err(|why| wrong(&why)),
        None => {
            collector.notes.count("events of unsupported kinds");
            Ok(())
        }
    }
}
