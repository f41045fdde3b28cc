//! JSON trace events: of scxsim, in which a "process" is a core and a slice a running thread, and of Chrome, which has the
//! kernel's text in `systemTraceEvents`.

use super::collect::Collector;
use super::perfetto::{Slices, stop};
use crate::Error;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::io::Read;

/// Maximum size of the file, and thus of a text in it.
const MOST_BYTES: u64 = 1 << 30;

/// Fields of an event. Those of events that are not read may have any type.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Event {
    #[serde(deserialize_with = "lenient")]
    ph: String,
    #[serde(deserialize_with = "lenient")]
    pid: i64,
    #[serde(deserialize_with = "lenient")]
    ts: f64,
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    cat: String,
    #[serde(deserialize_with = "lenient")]
    args: Arguments,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Arguments {
    #[serde(deserialize_with = "lenient")]
    pid: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    reason: String,
    #[serde(deserialize_with = "lenient")]
    task: String,
}

/// Reads a value; one of another type is the default.
fn lenient<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(json: D) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Lenient<T> {
        Wanted(T),
        Other(IgnoredAny),
    }
    Ok(match Lenient::deserialize(json)? {
        Lenient::Wanted(value) => value,
        Lenient::Other(IgnoredAny) => T::default(),
    })
}

struct Sink<'a> {
    collector: &'a mut Collector,
    slices: Slices,
    count: u64,
    slice: bool,
    /// Events of the kernel as text.
    system: Option<String>,
    /// Error outside of the JSON syntax.
    failed: Option<Error>,
}

pub fn read(input: impl Read, collector: &mut Collector) -> Result<(), Error> {
    let mut sink =
        Sink { collector, slices: Slices::default(), count: 0, slice: false, system: None, failed: None };
    let mut json = serde_json::Deserializer::from_reader(input.take(MOST_BYTES));
    let read = Document(&mut sink).deserialize(&mut json);
    if let Some(error) = sink.failed.take() {
        return Err(error);
    }
    read.map_err(|why| {
        Error::Format(format!("after {} events: {why}. (At most 1 GiB of JSON is read.)", sink.count))
    })?;
    let Sink { collector, mut slices, slice, system, .. } = sink;
    if slice {
        collector.notes.say("times have a resolution of one microsecond");
    }
    slices.finish(collector)?.map_err(Error::Format)?;
    match system {
        Some(text) => super::text::read(text.as_bytes(), collector).map_err(|error| match error {
            Error::At { place, what } => Error::at(place, format!("in its systemTraceEvents: {what}")),
            other => other,
        }),
        None => Ok(()),
    }
}

impl Sink<'_> {
    fn event(&mut self, event: &Event) -> Result<(), Error> {
        self.count += 1;
        let wrong = |why: &str| Error::Format(format!("event {} of its JSON: {why}", self.count));
        let wanted =
            matches!((&*event.ph, &*event.cat, &*event.name), ("B" | "E", "sched", _) | ("i", _, "wake"));
        if !wanted {
            if event.ph != "M" {
                self.collector.notes.count("events of unsupported tracks");
            }
            return Ok(());
        }
        self.slice = true;
        // Beyond 2^53 µs, numbers are no longer exact.
        if !(0.0..9e15).contains(&event.ts) {
            return Err(wrong(&format!("its time, {} µs, is negative or makes no sense", event.ts)));
        }
        let time = (event.ts * 1000.0) as u64;
        let cpu =
            u32::try_from(event.pid).map_err(|_| wrong("its `pid`, which should be a core, is none"))?;
        let tid = event.args.pid.and_then(|pid| i32::try_from(pid).ok());
        let tid = tid.ok_or_else(|| wrong("it does not say which thread (`args.pid`)"))?;
        let name = event.name.as_bytes();
        let taken = match &*event.ph {
            "B" => self.slices.begin(time, cpu, tid, name, self.collector)?,
            "E" => match stop(event.args.reason.as_bytes()) {
                Some(stop) => self.slices.end(time, cpu, tid, stop, self.collector)?,
                None => Ok(()),
            },
            _ => self.slices.woken(time, cpu, tid, event.args.task.as_bytes(), self.collector)?,
        };
        taken.map_err(|why| wrong(&why))
    }
}

/// `systemTraceEvents`, which other systems than Linux have, too.
#[derive(Deserialize)]
#[serde(untagged)]
enum System {
    Text(String),
    Other(IgnoredAny),
}

/// `{"traceEvents": [...], ...}`
struct Document<'a, 'b>(&'a mut Sink<'b>);

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with traceEvents, or an array of them")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, events: A) -> Result<(), A::Error> {
        Events(self.0).visit_seq(events)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<str>>()? {
            match &*key {
                "systemTraceEvents" => match map.next_value()? {
                    System::Text(text) => self.0.system = Some(text),
                    System::Other(_) => self.0.collector.notes.say("its systemTraceEvents are not text"),
                },
                "traceEvents" => map.next_value_seed(Events(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Events<'a, 'b>(&'a mut Sink<'b>);

impl<'de> DeserializeSeed<'de> for Events<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an array of events")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element::<Event>()? {
            if let Err(error) = self.0.event(&event) {
                self.0.failed = Some(error);
                return Err(serde::de::Error::custom("an event makes no sense"));
            }
        }
        Ok(())
    }
}
