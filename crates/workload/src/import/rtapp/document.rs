//! Structure of an rt-app document: tasks, phases, and events in order.

use super::{Json, Notes, Refusal, refuse};
use crate::Timer;

/// Maximum accepted duration in microseconds: 11 days.
const LONGEST: i64 = 1_000_000_000_000;
/// Maximum number of threads of one task.
const MOST_INSTANCES: i64 = 100_000;

pub(super) struct Document {
    /// Time after which rt-app stops all threads, in microseconds; `None` for no limit.
    pub duration: Option<u64>,
    pub tasks: Vec<Task>,
}

pub(super) struct Task {
    pub name: String,
    pub instances: u32,
    /// Delay before the first event, in microseconds.
    pub delay: u64,
    /// `None` for an endless loop.
    pub loops: Option<u32>,
    pub nice: i8,
    pub affinity: Vec<u16>,
    /// Phases before the loop, if one of them loops forever.
    pub before: Vec<Phase>,
    pub phases: Vec<Phase>,
}

impl Task {
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.before.iter().chain(&self.phases).flat_map(|phase| &phase.events)
    }
}

pub(super) struct Phase {
    pub place: String,
    pub loops: u32,
    pub events: Vec<Event>,
}

/// An event. Times are in microseconds; names refer to resources.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Event {
    Run(u64),
    Sleep(u64),
    Timer { timer: String, period: u64, mode: Timer },
    Lock(String),
    Unlock(String),
    Wait { condition: String, mutex: String },
    Signal(String),
    Broadcast(String),
    Sync { condition: String, mutex: String },
    Barrier(String),
    Suspend(String),
    Resume(String),
    Yield,
    Fork(String),
    SemPost(String),
    SemWait(String),
}

/// Names of events. A key may extend a name to be unique (`run0`, `run1`). `runtime` is not a
/// variant of `run`, so the longer name must come first.
const EVENTS: [&str; 21] = [
    "runtime",
    "run",
    "sleep",
    "timer",
    "lock",
    "unlock",
    "wait",
    "signal",
    "broadcast",
    "broad",
    "sync",
    "barrier",
    "suspend",
    "resume",
    "yield",
    "fork",
    "iorun",
    "memrun",
    "mem",
    "sem_post",
    "sem_wait",
];

type Entries = [(String, Json)];

impl Document {
    pub fn read(json: &Json, notes: &mut Notes) -> Result<Document, Refusal> {
        let entries = object(json, "the document")?;
        let mut duration = None;
        let mut tasks = None;
        for (key, value) in entries {
            match key.as_str() {
                "tasks" => tasks = Some(object(value, "tasks")?),
                "global" if *value == Json::Null => {}
                "global" => duration = global(object(value, "global")?, notes)?,
                // rt-app keeps it for old documents, but creates resources when events name them.
                "resources" => {}
                _ => notes.add(format!("the top-level key `{key}` is unknown and ignored")),
            }
        }
        let Some(entries) = tasks else {
            return refuse("the document", "the object `tasks` is missing");
        };
        let tasks = entries.iter().map(|(name, json)| task(name, json, notes)).collect::<Result<_, _>>()?;
        Ok(Document { duration, tasks })
    }
}

fn global(entries: &Entries, notes: &mut Notes) -> Result<Option<u64>, Refusal> {
    let mut duration = None;
    for (key, value) in entries {
        match key.as_str() {
            "duration" => match value {
                Json::Int(-1) => {}
                value => {
                    duration =
                        Some(number(value, "global.duration", "seconds", LONGEST / 1_000_000)? * 1_000_000);
                }
            },
            "calibration" => notes.add("global.calibration: ignored; `run` is CPU time at 2.1 GHz"),
            "default_policy" if *value == Json::Text("SCHED_OTHER".into()) => {}
            "default_policy" => {
                notes.add("global.default_policy: ignored; the graph supports only SCHED_OTHER")
            }
            "pi_enabled" if *value == Json::Bool(true) => {
                notes.add("global.pi_enabled: ignored; locks have no priority inheritance");
            }
            "pi_enabled" => {}
            // Settings for logs and memory, which have no effect on a graph.
            "logdir" | "log_basename" | "log_size" | "ftrace" | "gnuplot" | "lock_pages" | "io_device"
            | "mem_buffer_size" | "cumulative_slack" => {}
            _ => notes.add(format!("global.{key} is unknown and ignored")),
        }
    }
    Ok(duration)
}

fn task(name: &str, json: &Json, notes: &mut Notes) -> Result<Task, Refusal> {
    let place = format!("tasks.{name}");
    let entries = object(json, &place)?;
    let mut task = Task {
        name: name.to_string(),
        instances: 1,
        delay: 0,
        loops: None,
        nice: 0,
        affinity: Vec::new(),
        before: Vec::new(),
        phases: Vec::new(),
    };
    let (mut priority, mut other) = (None, false);
    let mut count = None;
    let mut inline = Vec::new();
    let mut phases = None;
    for (key, value) in entries {
        // rt-app treats null as absent.
        if *value == Json::Null && event_name(key).is_none() {
            continue;
        }
        let here = format!("{place}.{key}");
        match key.as_str() {
            "instance" => task.instances = number(value, &here, "threads", MOST_INSTANCES)? as u32,
            "delay" => task.delay = micros(value, &here)?,
            "loop" => count = Some(loops(value, &here)?),
            "cpus" => task.affinity = cpus(value, &here)?,
            "priority" => priority = Some((value, here)),
            "policy" => other = !matches!(value, Json::Text(t) if t == "SCHED_OTHER" || t == "SCHED_NORMAL"),
            "phases" => phases = Some(object(value, &here)?),
            _ => inline.push((key, value)),
        }
    }
    if other {
        notes.add(format!(
            "{place}.policy: the graph supports only SCHED_OTHER; policy and priority are ignored"
        ));
    } else if let Some((value, here)) = priority {
        // With SCHED_OTHER, rt-app uses the priority as the nice value.
        match value {
            Json::Int(nice @ -20..=19) => task.nice = *nice as i8,
            _ => notes.add(format!("{here}: not a nice value (-20 to 19); ignored")),
        }
    }
    let Some(entries) = phases else {
        // The loop is that of the only phase, for which 0 is endless.
        task.loops = count.flatten().filter(|&count| count > 0);
        task.phases.push(phase(place, 1, inline, &task.name, notes)?);
        return Ok(task);
    };
    task.loops = count.flatten();
    for (key, _) in inline {
        match event_name(key) {
            Some(_) => notes.add(format!("{place}.{key}: an event beside `phases` is ignored, as in rt-app")),
            None => attribute(&place, key, notes),
        }
    }
    phases_of(&mut task, &place, entries, notes)?;
    Ok(task)
}

/// Reads the phases of a task. One that loops forever becomes the loop of the task.
fn phases_of(task: &mut Task, place: &str, entries: &Entries, notes: &mut Notes) -> Result<(), Refusal> {
    for (index, (key, value)) in entries.iter().enumerate() {
        let place = format!("{place}.phases.{key}");
        let (mut count, mut events) = (Some(1), Vec::new());
        for (key, value) in object(value, &place)? {
            let here = format!("{place}.{key}");
            match key.as_str() {
                _ if *value == Json::Null && event_name(key).is_none() => {}
                "loop" => count = loops(value, &here)?.filter(|&count| count > 0),
                "cpus" => notes.add(format!("{here}: the cores of a single phase are ignored")),
                _ => events.push((key, value)),
            }
        }
        task.phases.push(phase(place.clone(), count.unwrap_or(1), events, &task.name, notes)?);
        if count.is_none() && task.loops != Some(0) {
            if index + 1 < entries.len() {
                notes.add(format!("{place}: loops forever, so the phases after it never run, as in rt-app"));
            }
            task.before = std::mem::take(&mut task.phases);
            task.phases.extend(task.before.pop());
            task.loops = None;
            break;
        }
    }
    Ok(())
}

fn phase(
    place: String,
    loops: u32,
    entries: Vec<(&String, &Json)>,
    task: &str,
    notes: &mut Notes,
) -> Result<Phase, Refusal> {
    let mut events = Vec::new();
    for (key, value) in entries {
        match event_name(key) {
            Some(name) => events.extend(event(name, value, &format!("{place}.{key}"), task, notes)?),
            None => attribute(&place, key, notes),
        }
    }
    Ok(Phase { place, loops, events })
}

/// Reports a key that is not an event.
fn attribute(place: &str, key: &str, notes: &mut Notes) {
    match key {
        "policy" | "priority" | "dl-runtime" | "dl-period" | "dl-deadline" | "period" | "deadline" => {
            notes.add(format!("{place}.{key}: ignored; the graph supports only SCHED_OTHER"));
        }
        "util_min" | "util_max" => notes.add(format!("{place}.{key}: utilisation clamping is ignored")),
        "membind_nodes" | "nodes_membind" => notes.add(format!("{place}.{key}: memory binding is ignored")),
        "taskgroup" => notes.add(format!("{place}.{key}: task groups are ignored")),
        _ => notes.add(format!("{place}.{key} is unknown and ignored")),
    }
}

fn event_name(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|name| key.starts_with(name))
}

fn event(
    name: &'static str,
    value: &Json,
    place: &str,
    task: &str,
    notes: &mut Notes,
) -> Result<Option<Event>, Refusal> {
    Ok(Some(match name {
        "run" => Event::Run(micros(value, place)?),
        "runtime" => {
            notes.add(format!("{place}: treated as CPU time at 2.1 GHz instead of a fixed time"));
            Event::Run(micros(value, place)?)
        }
        "sleep" => Event::Sleep(micros(value, place)?),
        "timer" => timer(value, place)?,
        "lock" => Event::Lock(text(value, place)?),
        "unlock" => Event::Unlock(text(value, place)?),
        "wait" | "sync" => {
            let entries = object(value, place)?;
            let condition = field(entries, "ref", "unknown", place)?;
            let mutex = field(entries, "mutex", "unknown", place)?;
            match name {
                "wait" => Event::Wait { condition, mutex },
                _ => Event::Sync { condition, mutex },
            }
        }
        "signal" => Event::Signal(text(value, place)?),
        "broad" | "broadcast" => Event::Broadcast(text(value, place)?),
        "barrier" => Event::Barrier(text(value, place)?),
        "suspend" => Event::Suspend(suspended(value, task, notes)),
        "resume" => Event::Resume(text(value, place)?),
        "yield" => Event::Yield,
        "fork" => Event::Fork(text(value, place)?),
        "sem_post" => Event::SemPost(text(value, place)?),
        "sem_wait" => Event::SemWait(text(value, place)?),
        // `mem`, `memrun` and `iorun` give bytes, whose time depends on memory and device.
        _ => {
            notes.add(format!("{place}: ignored; the time of `{name}` is unknown"));
            return Ok(None);
        }
    }))
}

/// The name by which a task is resumed. rt-app before June 2025 read it from the value; later versions use the task's.
fn suspended(value: &Json, task: &str, notes: &mut Notes) -> String {
    match value {
        Json::Text(name) if !name.is_empty() && name != task => {
            notes.add(
                "tasks are resumed by the names that their `suspend` gives, as in rt-app before June 2025; later versions \
                 use the tasks' names",
            );
            name.clone()
        }
        _ => task.to_string(),
    }
}

fn timer(value: &Json, place: &str) -> Result<Event, Refusal> {
    let entries = object(value, place)?;
    let timer = field(entries, "ref", "unknown", place)?;
    let period = match entry(entries, "period") {
        Some(value) => micros(value, &format!("{place}.period"))?,
        None => return refuse(place, "the field `period` (microseconds) is missing"),
    };
    let mode = match field(entries, "mode", "relative", place)?.starts_with("absolute") {
        true => Timer::Absolute,
        false => Timer::Relative,
    };
    Ok(Event::Timer { timer, period, mode })
}

fn object<'a>(value: &'a Json, place: &str) -> Result<&'a Entries, Refusal> {
    match value {
        Json::Object(entries) => Ok(entries),
        _ => refuse(place, "must be an object"),
    }
}

fn text(value: &Json, place: &str) -> Result<String, Refusal> {
    match value {
        Json::Text(text) => Ok(text.clone()),
        _ => refuse(place, "must be a string"),
    }
}

/// The value of a key, if it has one.
fn entry<'a>(entries: &'a Entries, name: &str) -> Option<&'a Json> {
    entries.iter().find(|(key, value)| key == name && *value != Json::Null).map(|(_, value)| value)
}

/// A string, or rt-app's default.
fn field(entries: &Entries, name: &str, default: &str, place: &str) -> Result<String, Refusal> {
    match entry(entries, name) {
        Some(value) => text(value, &format!("{place}.{name}")),
        None => Ok(default.to_string()),
    }
}

fn number(value: &Json, place: &str, unit: &str, most: i64) -> Result<u64, Refusal> {
    match *value {
        Json::Int(n) if (0..=most).contains(&n) => Ok(n as u64),
        _ => refuse(place, format!("must be an integer from 0 to {most}, in {unit}")),
    }
}

fn micros(value: &Json, place: &str) -> Result<u64, Refusal> {
    number(value, place, "microseconds", LONGEST)
}

fn loops(value: &Json, place: &str) -> Result<Option<u32>, Refusal> {
    match *value {
        Json::Int(n) if n < 0 => Ok(None),
        Json::Int(n) if n <= i64::from(u32::MAX) => Ok(Some(n as u32)),
        _ => refuse(place, "must be an integer, or -1 for an endless loop"),
    }
}

fn cpus(value: &Json, place: &str) -> Result<Vec<u16>, Refusal> {
    let core = |value: &Json| match *value {
        Json::Int(n) => u16::try_from(n).ok(),
        _ => None,
    };
    let cores = match value {
        Json::List(list) => list.iter().map(core).collect(),
        one => core(one).map(|core| vec![core]),
    };
    match cores {
        Some(cores) => Ok(cores),
        None => refuse(place, "must be a list of core numbers"),
    }
}
