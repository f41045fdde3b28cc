//! `trace.dat` of trace-cmd, versions 6 and 7.
//!
//! The file has the description of the events, then the pages of the kernel's buffers, core by core. Version 7 holds
//! both in sections, which may be compressed.

mod sections;

use super::collect::Collector;
use super::input::Input;
use super::tracing_data::{Formats, command_lines, start};
use crate::Error;
use hearth_trace::ftrace::{Decoder, Missed, Page, PageLayout};
use std::io::{Read, Seek};

/// Position of the pages of a core.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pages {
    cpu: u32,
    offset: u64,
    bytes: u64,
    page_size: u32,
    packing: Packing,
}

/// Compression of the pages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Packing {
    None,
    Zlib,
    Zstd,
}

/// Content of the file except for the pages.
struct Described {
    formats: Formats,
    pages: Vec<Pages>,
    clock: String,
}

/// Page sizes of all kernels.
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 1 << 10..=1 << 16;
/// Maximum size of a chunk of pages.
const MOST_CHUNK: u32 = 64 << 20;

pub fn read(input: impl Read + Seek, collector: &mut Collector) -> Result<(), Error> {
    let mut input = Input::new(input)?;
    let start = start(&mut input)?;
    let described = match start.version.as_str() {
        "6" => version_6(&mut input, start.page_size, collector)?,
        "7" => sections::describe(&mut input, collector)?,
        other => {
            return Err(Error::Format(format!(
                "it is trace.dat of version {other}; versions 6 and 7 are known"
            )));
        }
    };
    collector.origin.clock = clock(&described.clock)?.into();
    let decoder = described.formats.decoder()?;
    let layout = described.formats.layout()?;
    // A byte is read once: otherwise a small file could hold any number of events.
    let mut left = input.length();
    for pages in &described.pages {
        read_pages(&mut input, pages, &mut left, &layout, &decoder, collector)?;
    }
    Ok(())
}

/// The clock of a recording, which must count nanoseconds. `clocks` is its name, or a list with the name in brackets.
fn clock(clocks: &str) -> Result<&str, Error> {
    let chosen =
        clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(clocks, |(clock, _)| clock);
    match chosen.trim() {
        known @ ("" | "local" | "global" | "perf" | "mono" | "mono_raw" | "boot" | "tai") => Ok(known),
        other => Err(Error::Format(format!(
            "its clock, {other}, does not count nanoseconds: record with `trace-cmd record -C mono`"
        ))),
    }
}

fn version_6(
    input: &mut Input<impl Read + Seek>,
    page_size: u32,
    collector: &mut Collector,
) -> Result<Described, Error> {
    let mut formats = Formats::of(input.order);
    formats.header_info(input)?;
    Formats::skip_ftrace(input)?;
    formats.events(input)?;
    let kallsyms = input.u32("the symbols of the kernel")?;
    input.skip(kallsyms.into(), "the symbols of the kernel")?;
    let printk = input.u32("the formats of printk")?;
    input.skip(printk.into(), "the formats of printk")?;
    let size = input.u64("the names of threads")?;
    command_lines(&input.bytes(size, "the names of threads")?, collector)?;
    let cpus = input.u32("the number of cores")?;
    let mut described = Described { formats, pages: Vec::new(), clock: String::new() };
    let mut buffers = Vec::new();
    flyrecord(input, cpus, page_size, &mut described, &mut buffers)?;
    collector.origin.cores = collector.origin.cores.max(cpus);
    let mut left = input.length();
    for buffer in buffers {
        input.seek(buffer, "a buffer")?;
        flyrecord(input, cpus, page_size, &mut described, &mut Vec::new())?;
        left = left
            .checked_sub(input.at() - buffer)
            .ok_or_else(|| input.wrong("its buffers overlap: the file is damaged"))?;
    }
    Ok(described)
}

/// Reads the options and the positions of each core's pages. `buffers` gets the positions of other buffers.
fn flyrecord(
    input: &mut Input<impl Read + Seek>,
    mut cpus: u32,
    page_size: u32,
    described: &mut Described,
    buffers: &mut Vec<u64>,
) -> Result<(), Error> {
    let mut mark = input.bytes(10, "what follows the names of threads")?;
    if mark == b"options  \0" {
        loop {
            let id = input.u16("an option")?;
            if id == sections::DONE {
                break;
            }
            let size = input.u32("an option")?;
            let end = input.at().saturating_add(size.into());
            match id {
                sections::BUFFER => buffers.push(input.u64("a buffer")?),
                sections::CLOCK => {
                    let clock = input.bytes(size.into(), "the clock")?;
                    described.clock = String::from_utf8_lossy(&clock).trim_end_matches('\0').into();
                }
                sections::CPU_COUNT => cpus = input.u32("the number of cores")?,
                _ => {}
            }
            input.seek(end, "an option")?;
        }
        mark = input.bytes(10, "what follows the options")?;
    }
    if mark != b"flyrecord\0" {
        return Err(
            input.wrong("expected \"flyrecord\" before it: recordings of a latency tracer have no events")
        );
    }
    for cpu in 0..cpus {
        let (offset, bytes) =
            (input.u64("where a core's pages are")?, input.u64("where a core's pages are")?);
        described.pages.push(Pages { cpu, offset, bytes, page_size, packing: Packing::None });
    }
    Ok(())
}

fn read_pages(
    input: &mut Input<impl Read + Seek>,
    pages: &Pages,
    left: &mut u64,
    layout: &PageLayout,
    decoder: &Decoder,
    collector: &mut Collector,
) -> Result<(), Error> {
    if pages.bytes == 0 {
        return Ok(());
    }
    if !PAGE_SIZES.contains(&pages.page_size) {
        return Err(input.wrong(format!("pages of {} bytes: no kernel has them", pages.page_size)));
    }
    input.seek(pages.offset, "the pages of a core")?;
    let size = u64::from(pages.page_size);
    let mut take = |at: u64, bytes: &[u8]| -> Result<(), Error> {
        for page in bytes.chunks(size as usize) {
            read_page(page, at, pages.cpu, layout, decoder, collector)?;
        }
        Ok(())
    };
    let overlap = |input: &Input<_>| input.wrong("the pages of its cores overlap: the file is damaged");
    if pages.packing == Packing::None {
        *left = left.checked_sub(pages.bytes).ok_or_else(|| overlap(input))?;
        let (mut left, mut page) = (pages.bytes, Vec::new());
        while left > 0 {
            let at = input.at();
            input.fill(&mut page, left.min(size), "the pages of a core")?;
            left -= page.len() as u64;
            take(at, &page)?;
        }
        return Ok(());
    }
    for _ in 0..input.u32("the number of chunks")? {
        let at = input.at();
        let chunk = unpack(input, pages.packing, "a chunk of pages")?;
        *left = left.checked_sub(input.at() - at).ok_or_else(|| overlap(input))?;
        take(at, &chunk)?;
    }
    Ok(())
}

/// Reads compressed data, which follows its two lengths.
fn unpack(input: &mut Input<impl Read + Seek>, packing: Packing, what: &str) -> Result<Vec<u8>, Error> {
    let (packed, unpacked) = (input.u32(what)?, input.u32(what)?);
    if unpacked > MOST_CHUNK {
        return Err(input.wrong(format!("{what} claims {unpacked} bytes, which is too much")));
    }
    let at = input.at();
    let bytes = input.bytes(packed.into(), what)?;
    let failed = |why: std::io::Error| Error::byte(at, format!("{what} cannot be decompressed: {why}"));
    let mut out = Vec::new();
    let limit = u64::from(unpacked);
    match packing {
        Packing::None => return Ok(bytes),
        Packing::Zlib => {
            flate2::read::ZlibDecoder::new(&bytes[..]).take(limit).read_to_end(&mut out).map_err(failed)?;
        }
        Packing::Zstd => {
            let decoder = zstd::stream::read::Decoder::new(&bytes[..]).map_err(failed)?;
            decoder.take(limit).read_to_end(&mut out).map_err(failed)?;
        }
    }
    Ok(out)
}

pub fn read_page(
    bytes: &[u8],
    at: u64,
    cpu: u32,
    layout: &PageLayout,
    decoder: &Decoder,
    collector: &mut Collector,
) -> Result<(), Error> {
    let wrong = |why: String| Error::byte(at, format!("in a page of core {cpu}: {why}"));
    let page = Page::new(layout, bytes).map_err(|why| wrong(why.to_string()))?;
    match page.missed {
        Missed::None => {}
        Missed::Unknown => collector.lost(cpu, 1),
        Missed::Count(count) => collector.lost(cpu, count),
    }
    for record in page {
        let record = record.map_err(|why| wrong(why.to_string()))?;
        match decoder.decode(cpu, record.time, record.payload) {
            Some(event) => collector.event(&event)?.map_err(wrong)?,
            None => collector.notes.count("events of unsupported kinds"),
        }
    }
    Ok(())
}
