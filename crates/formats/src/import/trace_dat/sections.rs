//! The sections and options of trace.dat version 7.

use super::{Described, Packing, Pages, unpack};
use crate::Error;
use crate::import::collect::Collector;
use crate::import::input::Input;
use crate::import::tracing_data::{Formats, command_lines};
use std::io::{Cursor, Read, Seek};

pub const DONE: u16 = 0;
pub const BUFFER: u16 = 3;
pub const CLOCK: u16 = 4;
pub const UNAME: u16 = 5;
pub const CPU_COUNT: u16 = 8;
const HEADER_INFO: u16 = 16;
const EVENT_FORMATS: u16 = 18;
const COMMAND_LINES: u16 = 21;

/// Maximum number of sections of options, which may form a cycle.
const MOST_SECTIONS: u32 = 1000;
/// Maximum uncompressed size of options: they list the pages of each core, which are kept in memory.
const MOST_OPTIONS: usize = 16 << 20;
const COMPRESSED: u16 = 1;

/// Content of the options.
#[derive(Default)]
struct FileOptions {
    header_info: Option<u64>,
    formats: Option<u64>,
    command_lines: Option<u64>,
    clock: String,
    /// With the position of their buffer's section.
    pages: Vec<(u64, Pages)>,
}

pub fn describe(input: &mut Input<impl Read + Seek>, collector: &mut Collector) -> Result<Described, Error> {
    let algorithm = input.text("the name of the compression")?;
    input.text("the version of the compression")?;
    let packing = match algorithm.as_str() {
        "none" => Packing::None,
        "zlib" => Packing::Zlib,
        "zstd" => Packing::Zstd,
        other => return Err(input.wrong(format!("it is compressed with {other}; zlib and zstd are known"))),
    };
    let mut found = FileOptions::default();
    let mut next = input.u64("where the options are")?;
    let mut left = MOST_OPTIONS;
    for section in 0.. {
        if next == 0 {
            break;
        }
        if section == MOST_SECTIONS {
            return Err(input.wrong("its options do not end"));
        }
        let options = content(input, next, packing, "options")?;
        left = left
            .checked_sub(options.len())
            .ok_or_else(|| input.wrong("its options are longer than 16 MiB: the file is damaged"))?;
        next = read_options(&mut Input::of(Cursor::new(options), input.order)?, next, &mut found, collector)?;
    }
    let mut formats = Formats::of(input.order);
    let order = input.order;
    let missing = |what: &str| Error::Format(format!("it has no {what}: the recording was not finished"));
    let header_info = found.header_info.ok_or_else(|| missing("description of its pages"))?;
    let part = content(input, header_info, packing, "page's description")?;
    formats.header_info(&mut Input::of(Cursor::new(part), order)?)?;
    let events = found.formats.ok_or_else(|| missing("description of its events"))?;
    let part = content(input, events, packing, "events' description")?;
    formats.events(&mut Input::of(Cursor::new(part), order)?)?;
    if let Some(at) = found.command_lines {
        let names = content(input, at, packing, "names of threads")?;
        command_lines(names.get(8..).unwrap_or_default(), collector)?;
    }
    let mut pages = Vec::new();
    for (section, core) in found.pages.into_iter().filter(|(_, core)| core.bytes > 0) {
        input.seek(section, "a buffer")?;
        let _id = input.u16("a buffer")?;
        let compressed = input.u16("a buffer")? & COMPRESSED != 0;
        pages.push(Pages { packing: if compressed { packing } else { Packing::None }, ..core });
    }
    Ok(Described { formats, pages, clock: found.clock })
}

/// Reads a section, uncompressed.
fn content(
    input: &mut Input<impl Read + Seek>,
    at: u64,
    packing: Packing,
    what: &str,
) -> Result<Vec<u8>, Error> {
    input.seek(at, what)?;
    let _id = input.u16(what)?;
    let flags = input.u16(what)?;
    let _description = input.u32(what)?;
    let size = input.u64(what)?;
    match flags & COMPRESSED {
        0 => input.bytes(size, what),
        _ => unpack(input, packing, what),
    }
}

/// Returns the position of the next section of options (0: none). `at` is the position of these, for messages.
fn read_options(
    input: &mut Input<Cursor<Vec<u8>>>,
    at: u64,
    found: &mut FileOptions,
    collector: &mut Collector,
) -> Result<u64, Error> {
    let within = |error: Error| match error {
        Error::At { what, .. } => Error::byte(at, format!("in its options: {what}")),
        other => other,
    };
    let mut one = || -> Result<Option<u64>, Error> {
        let id = input.u16("an option")?;
        let size = input.u32("an option")?;
        let end = input.at().saturating_add(size.into());
        match id {
            DONE => return Ok(Some(if size >= 8 { input.u64("the next options")? } else { 0 })),
            HEADER_INFO => found.header_info = Some(input.u64("an option")?),
            EVENT_FORMATS => found.formats = Some(input.u64("an option")?),
            COMMAND_LINES => found.command_lines = Some(input.u64("an option")?),
            CPU_COUNT => collector.origin.cores = input.u32("the number of cores")?,
            UNAME => collector.origin.kernel = release(&input.text("the name of the system")?),
            CLOCK => found.clock = input.text("the clock")?,
            BUFFER => {
                let section = input.u64("a buffer")?;
                let _name = input.text("the name of a buffer")?;
                let clock = input.text("the clock of a buffer")?;
                let page_size = input.u32("a buffer")?;
                let cpus = input.u32("a buffer")?;
                for _ in 0..cpus {
                    let (cpu, offset, bytes) =
                        (input.u32("a core")?, input.u64("a core")?, input.u64("a core")?);
                    found
                        .pages
                        .push((section, Pages { cpu, offset, bytes, page_size, packing: Packing::None }));
                }
                if cpus > 0 {
                    found.clock = clock;
                }
            }
            _ => {}
        }
        input.seek(end, "an option")?;
        Ok(None)
    };
    loop {
        if let Some(next) = one().map_err(within)? {
            return Ok(next);
        }
    }
}

/// `Linux HOST RELEASE VERSION MACHINE`, or less.
fn release(uname: &str) -> String {
    let release = uname.split(' ').find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    release.unwrap_or_default().to_owned()
}
