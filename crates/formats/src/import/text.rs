//! Events as text: `/sys/kernel/tracing/trace`, `trace-cmd report` and `perf script`. The beginnings of lines differ:
//!
//! ```text
//!     bash-23843   [000] d..2. 85994.891870: sched_wakeup_new: comm=bash pid=23849 prio=120 target_cpu=000
//!     bash-23843   [000] 85994.891870: sched_wakeup_new:     bash:23849 [120] CPU:000
//!     bash 23843   [000] 85994.891870: sched:sched_wakeup_new: comm=bash pid=23849 prio=120 target_cpu=000
//! ```

mod fields;
mod head;

use super::collect::{Collector, Refused};
use crate::error::Place;
use crate::{Error, Notes};
use head::Head;
use std::io::BufRead;

/// Maximum length of a line.
const MOST_BYTES: u64 = 64 << 10;

/// Reads all lines.
pub fn read(mut input: impl BufRead, collector: &mut Collector) -> Result<(), Error> {
    let (mut line, mut number) = (Vec::new(), 0);
    let mut precision = Precision::default();
    loop {
        line.clear();
        number += 1;
        let length =
            std::io::Read::take(&mut input, MOST_BYTES).read_until(b'\n', &mut line).map_err(Error::read)?;
        if length == 0 {
            break;
        }
        if length as u64 == MOST_BYTES {
            return Err(Error::at(
                Place::Line(number),
                "it is longer than 64 KiB: this is not a trace as text",
            ));
        }
        let text = String::from_utf8_lossy(&line);
        let refused =
            |what: Refused| Error::at(Place::Line(number), format!("{what}. The line: `{}`", short(&text)));
        take(text.trim_end(), collector, &mut precision)?.map_err(refused)?;
    }
    precision.note(&mut collector.notes);
    Ok(())
}

fn short(line: &str) -> String {
    line.trim().chars().take(120).collect()
}

/// Precision of the lines.
#[derive(Default)]
struct Precision {
    microseconds: bool,
    flags: bool,
    events: bool,
}

impl Precision {
    fn note(&self, notes: &mut Notes) {
        if self.events && self.microseconds {
            notes.say("times have a resolution of one microsecond");
        }
        if self.events && !self.flags {
            notes.say("the text does not show interrupts: the running thread counts as the waker");
        }
    }
}

fn take(
    line: &str,
    collector: &mut Collector,
    precision: &mut Precision,
) -> Result<Result<(), Refused>, Error> {
    if line.trim().is_empty() || line.starts_with('#') {
        origin(line, collector);
        return Ok(Ok(()));
    }
    let Some(head) = Head::parse(line) else {
        match losses(line) {
            Some((cpu, count)) => collector.lost(cpu, count),
            None if line.starts_with("cpus=") => {
                collector.origin.cores = line[5..].trim().parse().unwrap_or(0)
            }
            None => return Ok(not_an_event(line, &mut collector.notes)),
        }
        return Ok(Ok(()));
    };
    let head = match head {
        Ok(head) => head,
        Err(refused) => return Ok(Err(refused)),
    };
    match fields::event(&head) {
        Ok(Some((event, state))) => {
            precision.events = true;
            precision.microseconds |= head.digits <= 6;
            precision.flags |= head.flags;
            if let Some(process) = head.process.filter(|_| head.pid == Some(event.pid)) {
                collector.runs_in(&event, process)?;
            }
            match state {
                Some(state) => collector.switch_of_bits(&event, state),
                None => collector.event(&event),
            }
        }
        Ok(None) => {
            collector.notes.count(&format!("events of an unsupported kind, {}", short(head.event)));
            Ok(Ok(()))
        }
        Err(refused) => Ok(Err(refused)),
    }
}

/// A line without core and time. If it names an event, it is truncated.
fn not_an_event(line: &str, notes: &mut Notes) -> Result<(), Refused> {
    if ["sched_switch:", "sched_waking:", "sched_wakeup_new:"].iter().any(|event| line.contains(event)) {
        return Err("it has an event without core and time".into());
    }
    notes.count("lines without an event");
    Ok(())
}

/// `# entries-in-buffer/entries-written: 391/391   #P:2`
fn origin(line: &str, collector: &mut Collector) {
    if let Some((_, cores)) = line.split_once("#P:") {
        collector.origin.cores = cores.trim().parse().unwrap_or(0);
    }
    if let Some((_, counts)) = line.split_once("entries-in-buffer/entries-written:") {
        let mut counts = counts.split(['/', ' ']).filter_map(|count| count.parse::<u64>().ok());
        if let (Some(here), Some(written)) = (counts.next(), counts.next())
            && here < written
        {
            collector
                .notes
                .add("events that the kernel had overwritten before they were read", written - here);
            collector.lost(0, written - here);
        }
    }
}

/// `CPU:1 [LOST 123 EVENTS]` of the kernel, `CPU:1 [123 EVENTS DROPPED]` of trace-cmd.
fn losses(line: &str) -> Option<(u32, u64)> {
    let (_, rest) = line.split_once("CPU:").or_else(|| line.split_once("CPU "))?;
    let (cpu, rest) = rest.split_once('[')?;
    let (inside, _) = rest.split_once(']')?;
    if !inside.contains("EVENTS") {
        return None;
    }
    let count = inside.split(' ').find_map(|word| word.parse().ok()).unwrap_or(1);
    Some((cpu.trim().parse().ok()?, count))
}
