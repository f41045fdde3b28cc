//! `perf.data` of `perf sched record` or `perf record -e 'sched:*'`.
//!
//! The file has a header with the positions of all parts, the attributes of the events, which define the layout of
//! samples, and the records. The content of a sample is an ftrace event.

mod sample;

use super::collect::Collector;
use super::input::Input;
use super::tracing_data::{self, Formats};
use crate::Error;
use hearth_trace::ftrace::{Decoder, Order};
use sample::{Layout, Sample};
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
/// In every file of perf.
const HOST: u32 = 3;
const OS_RELEASE: u32 = 4;
const CPUS: u32 = 7;
const CPU_MODEL: u32 = 8;
const COMMAND: u32 = 11;

const COMM: u32 = 3;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST: u32 = 2;
const LOST_SAMPLES: u32 = 13;
const COMPRESSED: [u32; 2] = [81, 83];
const AUXTRACE: u32 = 71;

pub fn read(input: impl Read + Seek, collector: &mut Collector) -> Result<(), Error> {
    let mut input = Input::new(input)?;
    let magic = input.bytes(8, "the mark of perf.data")?;
    input.order = match &magic[..] {
        magic if magic == MAGIC => Order::Little,
        magic if magic == MAGIC_BIG_ENDIAN => Order::Big,
        _ => return Err(input.wrong("expected \"PERFILE2\" before it")),
    };
    if input.u64("the header")? < 104 {
        return Err(Error::ByPerf { what: "it was written to a pipe, and has no header" });
    }
    let attribute_size = input.u64("the header")?;
    let attributes = section(&mut input)?;
    let data = section(&mut input)?;
    let _types = section(&mut input)?;
    let mut features = [0; 4];
    for word in &mut features {
        *word = input.u64("the header")?;
    }
    // An array of `long`: on a big-endian machine of 32 bits, the halves of a word are swapped.
    if input.order == Order::Big && features[0] >> HOST & 1 == 0 {
        features.iter_mut().for_each(|word| *word = word.rotate_left(32));
    }
    let attributes = Attributes::read(&mut input, attributes, attribute_size)?;
    let decoder = read_features(&mut input, data, &features, collector)?;
    read_records(&mut input, data, &attributes, &decoder, collector)
}

fn section(input: &mut Input<impl Read + Seek>) -> Result<Section, Error> {
    Ok(Section { offset: input.u64("the header")?, size: input.u64("the header")? })
}

/// Layouts of the samples of each event.
struct Attributes {
    layouts: Vec<Layout>,
    /// Index in `layouts` of each ID of a sample.
    ids: HashMap<u64, usize>,
    order: Order,
}

/// Bytes of `struct perf_event_attr` that are read.
const ATTRIBUTE: u64 = 40;

impl Attributes {
    fn read(input: &mut Input<impl Read + Seek>, section: Section, size: u64) -> Result<Self, Error> {
        if !(80..=4096).contains(&size) {
            return Err(
                input.wrong(format!("its header says that attributes have {size} bytes: it is damaged"))
            );
        }
        let mut attributes = Attributes { layouts: Vec::new(), ids: HashMap::new(), order: input.order };
        let mut left = input.length() / 8;
        for index in 0..section.size / size {
            let at = section.offset.saturating_add(index * size);
            input.seek(at, "the attributes")?;
            let bytes = input.bytes(ATTRIBUTE, "an attribute")?;
            let [format, read_format] = [24, 32].map(|at| input.order.number(&bytes[at..at + 8]));
            input.seek(at.saturating_add(size - 16), "the attributes")?;
            let ids = self::section(input)?;
            input.seek(ids.offset, "the numbers of an event")?;
            left = left
                .checked_sub(ids.size / 8)
                .ok_or_else(|| input.wrong("the numbers of events overlap: the file is damaged"))?;
            for _ in 0..ids.size / 8 {
                let id = input.u64("the numbers of an event")?;
                attributes.ids.insert(id, attributes.layouts.len());
            }
            attributes.layouts.push(Layout { format, read_format });
        }
        match attributes.layouts.is_empty() {
            true => Err(Error::Format("it describes no events".into())),
            false => Ok(attributes),
        }
    }

    /// Layout of a sample. If events have different layouts, its first word is an ID.
    fn of(&self, sample: &[u8]) -> Option<Layout> {
        let first = self.layouts.first()?;
        if first.format & sample::IDENTIFIER == 0 {
            return self.layouts.iter().all(|other| other == first).then_some(*first);
        }
        let id = self.order.number(sample.first_chunk::<8>()?);
        self.layouts.get(*self.ids.get(&id)?).copied()
    }
}

/// Reads the parts after the data: the formats of the events, and where they were recorded.
fn read_features(
    input: &mut Input<impl Read + Seek>,
    data: Section,
    features: &[u64; 4],
    collector: &mut Collector,
) -> Result<Decoder, Error> {
    let mut formats = None;
    input.seek(data.offset.saturating_add(data.size), "what is behind the data")?;
    let present = (0..256u32).filter(|bit| features[*bit as usize / 64] >> (bit % 64) & 1 == 1);
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
        let mut part = Input::of(Cursor::new(bytes), input.order)?;
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
        None => Err(Error::Empty { what: "scheduling" }),
    }
}

fn read_formats(part: &mut Input<Cursor<Vec<u8>>>) -> Result<Formats, Error> {
    tracing_data::start(part)?;
    let mut formats = Formats::of(part.order);
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
        let (kind, _misc, size) = (input.u32("a record")?, input.u16("a record")?, input.u16("a record")?);
        let length = size
            .checked_sub(8)
            .ok_or_else(|| Error::byte(at, "a record says that it is shorter than its head"))?;
        input.fill(&mut body, length.into(), "a record")?;
        match kind {
            SAMPLE => read_sample(at, &body, attributes, decoder, collector)?,
            COMM => {
                if let (Some([process, thread]), Some(comm)) = (numbers(&body, input.order), body.get(8..)) {
                    let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
                    collector.name(thread, &comm[..end])?;
                    collector.member(thread, process);
                }
            }
            // Process, its parent; thread, its creator. Those of threads that exist when perf begins come first.
            FORK => {
                if let Some([process, parent, thread]) = numbers(&body, input.order) {
                    collector.member(thread, process);
                    if thread == process {
                        collector.parent(process, parent);
                    }
                }
            }
            LOST | LOST_SAMPLES => {
                // `id, lost` or `lost`.
                let at = if kind == LOST { 8 } else { 0 };
                let count = body.get(at..at + 8).map_or(1, |count| input.order.number(count));
                collector.notes.add("events that perf lost, of unknown cores", count);
                collector.lost(0, count);
            }
            AUXTRACE => {
                let more = body.get(..8).map_or(0, |size| input.order.number(size));
                input.skip(more, "traces of the processor")?;
            }
            compressed if COMPRESSED.contains(&compressed) => {
                return Err(Error::ByPerf { what: "it is compressed" });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first numbers of a record, of 32 bits each.
fn numbers<const N: usize>(body: &[u8], order: Order) -> Option<[i32; N]> {
    let bytes = body.get(..4 * N)?;
    Some(std::array::from_fn(|i| order.number(&bytes[4 * i..4 * i + 4]) as i32))
}

fn read_sample(
    at: u64,
    body: &[u8],
    attributes: &Attributes,
    decoder: &Decoder,
    collector: &mut Collector,
) -> Result<(), Error> {
    let Some(layout) = attributes.of(body) else {
        collector.notes.count("samples of unknown events");
        return Ok(());
    };
    let wrong = |why: &str| Error::byte(at, format!("this sample is invalid: {why}"));
    let Sample { time, cpu, running, raw } =
        layout.sample(body, attributes.order).ok_or_else(|| wrong("it ends within a field"))?;
    let Some(raw) = raw else {
        collector.notes.count("samples without the event's content (they were not recorded with -R)");
        return Ok(());
    };
    let time = time.ok_or_else(|| wrong("it has no time (record with `perf sched record`)"))?;
    let cpu = cpu.ok_or_else(|| wrong("it has no core (record with `perf sched record`)"))?;
    match decoder.decode(cpu, time, raw) {
        Some(event) => {
            if let Some((process, _)) = running.filter(|(_, thread)| *thread == event.pid) {
                collector.runs_in(&event, process)?;
            }
            collector.event(&event)?.map_err(|why| wrong(&why))
        }
        None => {
            collector.notes.count("events of unsupported kinds");
            Ok(())
        }
    }
}
