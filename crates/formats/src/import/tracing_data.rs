//! The kernel's description of its events in trace.dat (up to version 6) and perf.data.

use super::collect::Collector;
use super::input::Input;
use crate::Error;
use hearth_trace::ftrace::{Decoder, EVENTS, IMPORTED, Order, PageLayout};
use std::io::{Read, Seek};

/// The first bytes of trace.dat, and of this part of perf.data.
pub const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";

/// The part before the description.
#[derive(Debug)]
pub struct Start {
    /// `6` and `7` of trace-cmd, `0.6` of perf.
    pub version: String,
    pub page_size: u32,
}

pub fn start(input: &mut Input<impl Read + Seek>) -> Result<Start, Error> {
    input.expect(MAGIC, "the mark of trace.dat")?;
    let version = input.text("the version")?;
    input.order = match input.u8("the order of bytes")? {
        0 => Order::Little,
        1 => Order::Big,
        _ => return Err(input.wrong("the order of bytes before it is neither 0 nor 1: the file is damaged")),
    };
    if !matches!(input.u8("the size of a long")?, 4 | 8) {
        return Err(input.wrong("the size of a long before it is neither 4 nor 8: the file is damaged"));
    }
    let page_size = input.u32("the size of a page")?;
    Ok(Start { version, page_size })
}

/// The formats of events.
#[derive(Default)]
pub struct Formats {
    pub header_page: String,
    events: Vec<(&'static str, String)>,
    order: Order,
}

fn sized(input: &mut Input<impl Read + Seek>, what: &str) -> Result<String, Error> {
    let size = input.u64(what)?;
    let bytes = input.bytes(size, what)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Formats {
    pub fn of(order: Order) -> Self {
        Formats { order, ..Formats::default() }
    }

    pub fn header_info(&mut self, input: &mut Input<impl Read + Seek>) -> Result<(), Error> {
        input.expect(b"header_page\0", "\"header_page\"")?;
        self.header_page = sized(input, "header_page")?;
        input.expect(b"header_event\0", "\"header_event\"")?;
        let size = input.u64("header_event")?;
        input.skip(size, "header_event")
    }

    /// Skips the events of ftrace itself.
    pub fn skip_ftrace(input: &mut Input<impl Read + Seek>) -> Result<(), Error> {
        for _ in 0..input.u32("the number of formats of ftrace")? {
            let size = input.u64("a format of ftrace")?;
            input.skip(size, "a format of ftrace")?;
        }
        Ok(())
    }

    pub fn events(&mut self, input: &mut Input<impl Read + Seek>) -> Result<(), Error> {
        for _ in 0..input.u32("the number of systems of events")? {
            let system = input.text("the name of a system of events")?;
            for _ in 0..input.u32("the number of events of a system")? {
                if !matches!(system.as_str(), "sched" | "power" | "task") {
                    let size = input.u64("the format of an event")?;
                    input.skip(size, "the format of an event")?;
                    continue;
                }
                let format = sized(input, "the format of an event")?;
                let name =
                    format.lines().find_map(|line| line.strip_prefix("name:")).unwrap_or_default().trim();
                self.add(&format!("{system}/{name}"), format);
            }
        }
        Ok(())
    }

    /// Takes the format of an event, if the event is known and new.
    pub fn add(&mut self, event: &str, format: String) {
        let mut known = EVENTS.iter().map(|(event, _)| *event).chain(IMPORTED);
        if let Some(event) = known.find(|known| *known == event)
            && !self.events.iter().any(|(known, _)| *known == event)
        {
            self.events.push((event, format));
        }
    }

    /// The layout of a page.
    pub fn layout(&self) -> Result<PageLayout, Error> {
        PageLayout::of(&self.header_page, self.order)
            .map_err(|why| Error::Format(format!("its description of a page is invalid: {why}")))
    }

    pub fn decoder(&self) -> Result<Decoder, Error> {
        if !self.events.iter().any(|(event, _)| *event == "sched/sched_switch") {
            return Err(Error::Empty { what: "sched_switch" });
        }
        Decoder::of(&self.events, self.order)
            .map_err(|(what, why)| Error::Format(format!("its description of {what} is invalid: {why}")))
    }
}

/// Reads lines of `PID COMM`.
pub fn command_lines(text: &[u8], collector: &mut Collector) -> Result<(), Error> {
    for line in text.split(|byte| *byte == b'\n') {
        let mut parts = line.splitn(2, |byte| *byte == b' ');
        let pid = parts.next().and_then(|pid| std::str::from_utf8(pid).ok()?.trim().parse().ok());
        if let (Some(pid), Some(comm)) = (pid, parts.next())
            && comm != b"<...>"
        {
            collector.name(pid, comm)?;
        }
    }
    Ok(())
}
