//! The tar archive of SchedViz: the kernel's formats, and the pages of each core's buffer.
//!
//! `formats/header_page`, `formats/sched/EVENT/format` and `traces/cpuN`, as its `trace.sh` and `trace.cc` write them.

use super::collect::{Collector, MOST_CORES};
use super::trace_dat::read_page;
use super::tracing_data::Formats;
use crate::Error;
use hearth_trace::ftrace::{Decoder, PageLayout};
use std::io::{Read, Seek};

/// Maximum size of a format.
const MOST_FORMAT: u64 = 1 << 20;

pub fn is_tar(beginning: &[u8]) -> bool {
    beginning.get(257..262) == Some(b"ustar")
}

pub fn read(mut input: impl Read + Seek, collector: &mut Collector) -> Result<(), Error> {
    let formats = formats(&mut input)?;
    if formats.header_page.is_empty() {
        return Err(Error::Format(
            "it is a tar archive without `formats/header_page`: it is not a recording of SchedViz. If it holds a trace of \
             another tool, unpack it first"
                .into(),
        ));
    }
    let (layout, decoder) = (formats.layout()?, formats.decoder()?);
    input.rewind().map_err(Error::read)?;
    each(&mut input, |name, at, entry| match core(name) {
        Some(cpu) => pages(cpu, at, entry, &layout, &decoder, collector),
        None => Ok(()),
    })
}

/// `traces/cpu12`
fn core(name: &str) -> Option<u32> {
    let cpu: u32 = name.strip_prefix("traces/cpu")?.parse().ok()?;
    (cpu < MOST_CORES).then_some(cpu)
}

fn formats(input: &mut (impl Read + Seek)) -> Result<Formats, Error> {
    let mut formats = Formats::default();
    each(input, |name, _, entry| {
        let Some(name) = name.strip_prefix("formats/") else { return Ok(()) };
        let mut text = String::new();
        if name == "header_page" || name.ends_with("/format") {
            entry.take(MOST_FORMAT).read_to_string(&mut text).map_err(Error::read)?;
        }
        match name.strip_suffix("/format") {
            Some(event) => formats.add(event, text),
            None if name == "header_page" => formats.header_page = text,
            None => {}
        }
        Ok(())
    })?;
    Ok(formats)
}

/// Passes the files of the archive with their names and positions.
fn each(
    input: &mut (impl Read + Seek),
    mut take: impl FnMut(&str, u64, &mut dyn Read) -> Result<(), Error>,
) -> Result<(), Error> {
    let damaged = |why: std::io::Error| Error::Format(format!("the tar archive is damaged: {why}"));
    let mut archive = tar::Archive::new(input);
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        let at = entry.raw_file_position();
        if entry.header().entry_type().is_file() {
            take(&name, at, &mut entry)?;
        }
    }
    Ok(())
}

fn pages(
    cpu: u32,
    at: u64,
    input: &mut dyn Read,
    layout: &PageLayout,
    decoder: &Decoder,
    collector: &mut Collector,
) -> Result<(), Error> {
    let (mut page, mut at) = (Vec::new(), at);
    loop {
        page.clear();
        let read = input.take(layout.size as u64).read_to_end(&mut page).map_err(Error::read)?;
        if read == 0 {
            return Ok(());
        }
        read_page(&page, at, cpu, layout, decoder, collector)?;
        at += read as u64;
    }
}
