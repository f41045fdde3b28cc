//! Perfetto's protobuf: exports of Hearth (without loss), ftrace recordings of Perfetto, and slices of scxsim and wprof.

mod kernel;
mod ours;
mod slices;

use super::collect::Collector;
use crate::error::Place;
use crate::perfetto::{
    CATEGORY, HEADER, PACKET, PROCESSES, THREADS, Track, annotation, bundle, event, ftrace, packet,
};
use crate::wire::{Damaged, Fields, Value};
use crate::{Error, Notes};
use hearth_trace::{Header, ProcessInfo, ThreadInfo};
pub use ours::Ours;
pub use slices::{Slices, stop};
use std::io::{BufRead, Read};
use std::path::Path;

/// Longer packets hold no events and are skipped.
const MOST_PACKET: u64 = 32 << 20;
const MOST_UNPACKED: u64 = 128 << 20;
/// Twice the number of Linux's pids: a compressed list of threads must not fill the memory.
const MOST_THREADS: usize = 8 << 20;

/// Content of a file.
pub enum Content {
    /// An export of Hearth.
    Ours(Box<Ours>, Notes),
    Kernel(Box<Collector>),
}

struct Reader<'a> {
    folder: &'a Path,
    collector: Collector,
    ours: Option<Box<Ours>>,
    slices: Slices,
    /// Position of the current packet.
    at: u64,
}

pub fn read(input: impl BufRead, collector: Collector, folder: &Path) -> Result<Content, Error> {
    let mut reader = Reader { folder, collector, ours: None, slices: Slices::default(), at: 0 };
    let mut packets = Packets { input, at: 0, packet: Vec::new() };
    while let Some(at) = packets.next(&mut reader.collector.notes)? {
        reader.at = at;
        reader.packet(&packets.packet, true)?;
    }
    match reader.ours {
        Some(ours) => Ok(Content::Ours(ours, reader.collector.notes)),
        None => {
            reader.slices.finish(&mut reader.collector)?.map_err(|why| Error::byte(packets.at, why))?;
            Ok(Content::Kernel(Box::new(reader.collector)))
        }
    }
}

/// The packets of a file, one at a time.
struct Packets<R> {
    input: R,
    at: u64,
    packet: Vec<u8>,
}

impl<R: BufRead> Packets<R> {
    /// Reads the next packet. Returns its position.
    fn next(&mut self, notes: &mut Notes) -> Result<Option<u64>, Error> {
        loop {
            let at = self.at;
            let Some(key) = self.varint()? else { return Ok(None) };
            let cut =
                |_: Option<()>| Error::byte(at, "the file ends within a packet: the copy is incomplete");
            if (key & 7, key >> 3) != (2, PACKET.into()) {
                return Err(Error::byte(
                    at,
                    "expected a packet: this is not a Perfetto trace, or it is damaged",
                ));
            }
            let length = self.varint()?.ok_or_else(|| cut(None))?;
            if length > MOST_PACKET {
                let skipped = std::io::copy(&mut (&mut self.input).take(length), &mut std::io::sink());
                if skipped.map_err(Error::read)? < length {
                    return Err(cut(None));
                }
                self.at += length;
                notes.count("skipped packets of more than 32 MiB");
                continue;
            }
            self.packet.clear();
            let read = (&mut self.input).take(length).read_to_end(&mut self.packet).map_err(Error::read)?;
            self.at += read as u64;
            return if (read as u64) < length { Err(cut(None)) } else { Ok(Some(at)) };
        }
    }

    fn varint(&mut self) -> Result<Option<u64>, Error> {
        let begin = self.at;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let mut byte = [0];
            if self.input.read(&mut byte).map_err(Error::read)? == 0 {
                return match shift {
                    0 => Ok(None),
                    _ => Err(Error::byte(begin, "the file ends within a number: the copy is incomplete")),
                };
            }
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte[0] & 0x80 == 0 {
                return Ok(Some(value));
            }
        }
        Err(Error::byte(begin, "a number does not end: this is not a Perfetto trace, or it is damaged"))
    }
}

/// Fields of a track event.
#[derive(Default)]
struct TrackEvent<'a> {
    kind: u64,
    track: u64,
    counter: u64,
    category: &'a [u8],
    name: &'a [u8],
    annotations: Vec<(&'a [u8], Value<'a>)>,
}

/// Maximum number of annotations.
const MOST_ANNOTATIONS: usize = 64;

impl<'a> TrackEvent<'a> {
    fn read(message: &'a [u8]) -> Result<Self, Damaged> {
        let mut read = TrackEvent::default();
        for field in Fields::of(message) {
            let (field, value) = field?;
            match field {
                event::TYPE => read.kind = value.number(),
                event::TRACK => read.track = value.number(),
                event::COUNTER => read.counter = value.number(),
                event::CATEGORY => read.category = value.bytes(),
                event::NAME => read.name = value.bytes(),
                event::ANNOTATION if read.annotations.len() < MOST_ANNOTATIONS => {
                    read.annotations.extend(annotation_of(value.bytes())?);
                }
                _ => {}
            }
        }
        Ok(read)
    }

    fn annotation(&self, name: &str) -> Option<Value<'a>> {
        let found = self.annotations.iter().find(|(known, _)| *known == name.as_bytes());
        found.map(|(_, value)| *value)
    }
}

fn annotation_of(message: &[u8]) -> Result<Option<(&[u8], Value<'_>)>, Damaged> {
    let (mut name, mut content) = (None, None);
    for field in Fields::of(message) {
        let (field, value) = field?;
        match field {
            annotation::NAME => name = Some(value.bytes()),
            annotation::UINT | annotation::INT | annotation::STRING => content = Some(value),
            _ => {}
        }
    }
    Ok(name.zip(content))
}

impl Reader<'_> {
    fn wrong(&self, why: impl std::fmt::Display) -> Error {
        Error::at(Place::Byte(self.at), format!("in the packet that begins there: {why}"))
    }

    fn damaged(&self, damaged: Damaged) -> Error {
        self.wrong(format_args!("it is damaged, {} bytes before the end of a message", damaged.left))
    }

    fn packet(&mut self, packet: &[u8], whole: bool) -> Result<(), Error> {
        let mut time = None;
        for field in Fields::of(packet) {
            let (field, value) = field.map_err(|damaged| self.damaged(damaged))?;
            match field {
                packet::TIMESTAMP => time = Some(value.number()),
                packet::FTRACE_EVENTS => self.bundle(value.bytes())?,
                packet::PROCESS_TREE if self.ours.is_none() => {
                    kernel::process_tree(value.bytes(), &mut self.collector)?;
                }
                packet::SYSTEM_INFO => kernel::system_info(value.bytes(), &mut self.collector.origin),
                packet::COMPRESSED if whole => self.compressed(value.bytes())?,
                _ => {}
            }
        }
        // The time may follow the event.
        for field in Fields::of(packet) {
            let (field, value) = field.map_err(|damaged| self.damaged(damaged))?;
            if field == packet::TRACK_EVENT {
                self.track_event(time, value.bytes())?;
            }
        }
        Ok(())
    }

    /// Reads compressed packets.
    fn compressed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut unpacked = Vec::new();
        let decoder = flate2::read::ZlibDecoder::new(bytes);
        let read = decoder.take(MOST_UNPACKED).read_to_end(&mut unpacked);
        let length = read.map_err(|why| self.wrong(format_args!("it cannot be decompressed: {why}")))?;
        if length as u64 == MOST_UNPACKED {
            return Err(self.wrong("decompressed it is longer than 128 MiB"));
        }
        for field in Fields::of(&unpacked) {
            let (field, value) = field.map_err(|damaged| self.damaged(damaged))?;
            if field == PACKET {
                self.packet(value.bytes(), false)?;
            }
        }
        Ok(())
    }

    fn bundle(&mut self, message: &[u8]) -> Result<(), Error> {
        let (mut cpu, mut lost) = (0, false);
        for field in Fields::of(message) {
            match field.map_err(|damaged| self.damaged(damaged))? {
                (bundle::CPU, value) => cpu = value.number().min(u32::MAX.into()) as u32,
                (bundle::LOST, value) => lost = value.number() != 0,
                _ => {}
            }
        }
        if lost {
            self.collector.lost(cpu, 1);
        }
        for field in Fields::of(message) {
            let (field, value) = field.map_err(|damaged| self.damaged(damaged))?;
            match field {
                bundle::EVENT => self.ftrace_event(cpu, value.bytes())?,
                bundle::COMPACT if self.ours.is_none() => {
                    let taken = kernel::compact(cpu, value.bytes(), &mut self.collector)?;
                    taken.map_err(|why| self.wrong(why))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn ftrace_event(&mut self, cpu: u32, message: &[u8]) -> Result<(), Error> {
        let (mut time, mut pid, mut flags, mut content) = (None, 0, 0, None);
        for field in Fields::of(message) {
            let (field, value) = field.map_err(|damaged| self.damaged(damaged))?;
            match field {
                ftrace::TIME => time = Some(value.number()),
                ftrace::PID => pid = value.number() as u32,
                ftrace::FLAGS => flags = value.number(),
                other => content = Some((other, value.bytes())),
            }
        }
        let Some((field, content)) = content else { return Ok(()) };
        let time = time.ok_or_else(|| self.wrong("an event has no time"))?;
        let at = kernel::At { cpu, time, pid, flags };
        let taken = match &mut self.ours {
            Some(ours) => ours.kernel(at, field, content)?,
            None => kernel::event(at, field, content, &mut self.collector)?,
        };
        taken.map_err(|why| self.wrong(why))
    }

    fn track_event(&mut self, time: Option<u64>, message: &[u8]) -> Result<(), Error> {
        let event = TrackEvent::read(message).map_err(|damaged| self.damaged(damaged))?;
        let track = Track::of(event.track).filter(|_| event.category == CATEGORY.as_bytes());
        if track == Some(Track::About) {
            return self.about(&event);
        }
        let Some(time) = time else { return Ok(()) };
        let taken = match (&mut self.ours, track) {
            (Some(ours), Some(track)) => ours.own(time, track, &event)?,
            (Some(_), None) => Ok(()),
            (None, _) => self.slices.event(time, &event, &mut self.collector)?,
        };
        taken.map_err(|why| self.wrong(why))
    }

    /// Reads the header of an export of Hearth.
    fn about(&mut self, event: &TrackEvent) -> Result<(), Error> {
        let json =
            |why: serde_json::Error| Error::byte(self.at, format!("Hearth's header is invalid: {why}"));
        if let Some(header) = event.annotation(HEADER) {
            if self.collector.events() > 0 || self.ours.is_some() {
                return Err(self.wrong(
                    "Hearth's header is not at the beginning, or there are two (are these two files in one?)",
                ));
            }
            let header = serde_json::from_slice(header.bytes()).map_err(json)?;
            self.ours = Some(Box::new(Ours::new(header, self.folder)));
        } else if let Some(ours) = &mut self.ours {
            let Header { threads, processes, .. } = &mut ours.header;
            if let Some(more) = event.annotation(THREADS) {
                threads.extend(serde_json::from_slice::<Vec<ThreadInfo>>(more.bytes()).map_err(json)?);
            }
            if let Some(more) = event.annotation(PROCESSES) {
                processes.extend(serde_json::from_slice::<Vec<ProcessInfo>>(more.bytes()).map_err(json)?);
            }
            if threads.len().max(processes.len()) > MOST_THREADS {
                return Err(
                    self.wrong(format_args!("it names more than {MOST_THREADS} threads or processes"))
                );
            }
        }
        Ok(())
    }
}
