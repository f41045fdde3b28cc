//! Reads a log, replays its handlers, and compares. Logs are untrusted: every record is validated before the policy's
//! code runs.

use crate::replica::{LoggedCore, QUEUES, Replayed, Replica, call, replica};
use crate::report::{Disagreement, LISTED, Report};
use hearth_policy::Settings;
use hearth_scx::log::{EVENTS, Ending, Header, Reader, Record, event, kind};
use hearth_sim::Native;
use hearth_sim::saakm::{Call, LEVELS, MAX_CORES, Memory, SET_WORDS, Set};
use std::collections::BTreeMap;
use std::io::Read;

/// Largest number of records of one handler.
const MAX_RECORDS: usize = 1 << 20;
/// Why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the log {0}")]
    Log(#[from] hearth_scx::log::Error),
    #[error("the log is of policy {log}, not of {policy}")]
    OtherPolicy { log: String, policy: String },
    #[error("the header of the log is invalid: {0}")]
    Header(String),
    #[error("record {number} of the log is invalid: {what}")]
    Record { number: u64, what: String },
}

/// Replays a log with the native build of its policy.
///
/// # Errors
/// If the log cannot be read, has an invalid record, or is of another policy.
pub fn replay<R: Read>(mut log: Reader<R>, policy: &Native) -> Result<Report, Error> {
    let header = std::mem::take(&mut log.header);
    check(&header, policy)?;
    let mut replay = Replay {
        replica: replica(policy, &header),
        handler: None,
        handlers: BTreeMap::new(),
        called: 0,
        disagreements: 0,
        first: Vec::new(),
    };
    while let Some(record) = log.record()? {
        replay.record(record).map_err(|what| Error::Record { number: record.number, what })?;
    }
    let replayed = replay.replica.runtime;
    Ok(Report {
        policy: header.policy,
        kernel: header.kernel,
        command: header.command,
        cores: header.cores.len(),
        records: log.read(),
        threads: replayed.nr_threads(),
        decisions: replayed.decisions,
        visits: replayed.visits,
        handlers: replay.handlers,
        disagreements: replay.disagreements,
        first: replay.first,
        ending: log.ending(),
    })
}

/// Checks that the header matches the policy and that its values are in the ranges that the policy's code assumes.
fn check(header: &Header, policy: &Native) -> Result<(), Error> {
    if header.policy != policy.name() {
        return Err(Error::OtherPolicy { log: header.policy.clone(), policy: policy.name().into() });
    }
    let wrong = |what: &str| Err(Error::Header(what.into()));
    Settings::from_values(policy.policy(), &header.params)
        .map_err(|error| Error::Header(error.to_string()))?;
    let cpus: Vec<u32> = header.cores.iter().map(|core| core.cpu).collect();
    if cpus.is_empty() || !cpus.is_sorted_by(|a, b| a < b) || cpus.iter().any(|cpu| *cpu >= MAX_CORES as u32)
    {
        return wrong("its core numbers are not ascending");
    }
    let groups = &header.domains.groups;
    for (level, of_level) in groups.iter().enumerate() {
        let mut members: Vec<u32> = of_level.iter().flat_map(|group| group.cores.iter().copied()).collect();
        members.sort_unstable();
        if members != cpus || of_level.iter().any(|group| group.cores.is_empty()) {
            return wrong("some core is not in exactly one domain of each level");
        }
        for group in of_level {
            for (narrower, of_narrower) in groups.iter().enumerate().take(level + 1) {
                let (first, count) = (group.first[narrower] as usize, group.count[narrower] as usize);
                if count == 0 || first + count > of_narrower.len() {
                    return wrong("a domain refers to domains that do not exist");
                }
            }
        }
    }
    if groups[LEVELS - 1].len() != 1 {
        return wrong("it has more than one domain of level machine");
    }
    Ok(())
}

struct Replay<'a> {
    replica: Replica<'a>,
    /// The handler in progress, and the record with which it began.
    handler: Option<(Call, Record)>,
    handlers: BTreeMap<&'static str, u64>,
    called: u64,
    disagreements: u64,
    first: Vec<Disagreement>,
}

impl Replay<'_> {
    fn record(&mut self, record: Record) -> Result<(), String> {
        let within = self.handler.is_some();
        let Replica { memory, runtime } = &mut self.replica;
        validate(memory, runtime, &record)?;
        match record.kind {
            kind::BEGIN if !within => self.begin(record)?,
            kind::END if within => self.end(&record)?,
            kind::BEGIN | kind::END => return Err("the begin and end of handlers do not alternate".into()),
            // Applied during the replay of the handler.
            _ if within => {
                if runtime.script.records.len() >= MAX_RECORDS {
                    return Err("a handler has too many records".into());
                }
                // Creates the thread, so that later records can refer to it.
                if record.kind == kind::THREAD {
                    runtime.thread(memory, record.thread);
                }
                runtime.script.records.push(record);
            }
            _ => apply(memory, runtime, &record)?,
        }
        Ok(())
    }

    fn begin(&mut self, record: Record) -> Result<(), String> {
        let Replica { memory, runtime } = &mut self.replica;
        let call = event(memory, runtime, &record)?;
        let current = runtime.logged.cores.iter().map(|core| core.current);
        for thread in current.chain(runtime.logged.heads).flatten() {
            check_affinity(memory, thread)?;
        }
        runtime.script.records.clear();
        self.handler = Some((call, record));
        Ok(())
    }

    fn end(&mut self, record: &Record) -> Result<(), String> {
        let Some((handler, began)) = self.handler.take() else { return Ok(()) };
        let exists = call(&mut self.replica, handler, began.a as i64, began.c as u32);
        let script = &mut self.replica.runtime.script;
        if !exists {
            script.difference = Some(("a handler of this event".into(), "none".into()));
        }
        let records = std::mem::take(&mut script.records);
        // The records of the state after the handler follow its last decision.
        let is_state =
            |record: &Record| matches!(record.kind, kind::SETS | kind::CORE | kind::THREAD | kind::AFFINITY);
        let done = records.iter().rposition(|record| !is_state(record)).map_or(0, |last| last + 1);
        let Replica { memory, runtime } = &mut self.replica;
        for record in &records[done..] {
            apply(memory, runtime, record)?;
        }
        runtime.script.records = records;
        runtime.compare(memory, record.a, handler.thread());
        let difference = runtime.script.difference.take();
        self.count(&began, difference);
        Ok(())
    }

    /// Counts a handler, and keeps its difference if it is one of the first.
    fn count(&mut self, began: &Record, difference: Option<(String, String)>) {
        self.called += 1;
        let event = EVENTS[usize::from(began.flag)];
        *self.handlers.entry(event).or_default() += 1;
        let Some((kernel, native)) = difference else { return };
        self.disagreements += 1;
        if self.first.len() < LISTED {
            self.first.push(Disagreement {
                handler: self.called,
                record: began.number,
                event,
                thread: began.thread,
                core: began.core.into(),
                now: began.a as i64,
                kernel,
                native,
            });
        }
    }
}

/// The event of a record that begins a handler.
fn event(memory: &Memory<'_>, replayed: &Replayed, record: &Record) -> Result<Call, String> {
    let core = record.core.into();
    let thread = || subject(memory, replayed, record.thread);
    Ok(match usize::from(record.flag) {
        event::NEW => Call::New { thread: thread()?, parent: core },
        event::UNBLOCK => Call::Unblock { thread: thread()?, waker: core },
        event::TICK => Call::Tick { thread: thread()? },
        event::YIELD => Call::Yield { thread: thread()? },
        event::PREEMPT => Call::Preempt { thread: thread()? },
        event::BLOCK => Call::Block { thread: thread()? },
        event::TERMINATE => Call::Terminate { thread: thread()? },
        event::TIMER => Call::Timer { thread: thread()? },
        event::SCHEDULE => Call::Schedule { core },
        event::NEWLY_IDLE => Call::NewlyIdle { core },
        event::ENTER_IDLE => Call::EnterIdle { core },
        event::EXIT_IDLE => Call::ExitIdle { core },
        event::BALANCE => Call::Balance { core },
        event::ENTRY => Call::Entry { core },
        event::EXIT => Call::Exit { core },
        other => return Err(format!("event {other} is unknown")),
    })
}

/// Applies a record of the runtime state that handlers see.
pub(crate) fn apply(memory: &mut Memory<'_>, replayed: &mut Replayed, record: &Record) -> Result<(), String> {
    let thread = || match record.thread {
        0 => Ok(None),
        serial => subject(memory, replayed, serial).map(Some),
    };
    match record.kind {
        kind::SETS => {
            let words = [record.a, record.b, record.c, record.d, record.e];
            for (set, word) in replayed.logged.sets.iter_mut().zip(words) {
                set.word[usize::from(record.flag)] = word;
            }
        }
        kind::CORE => {
            let current = thread()?;
            replayed.logged.cores[usize::from(record.core)] = LoggedCore {
                nr_ready: record.a as u32,
                seen_khz: record.b as u32,
                idle_since: record.c as i64,
                exit_latency_ns: record.d as u32,
                current,
            };
        }
        kind::THREAD | kind::AFFINITY => replayed.describe(memory, record),
        kind::HEAD => {
            let head = thread()?;
            replayed.logged.heads[usize::from(record.flag)] = head;
        }
        _ => return Err("a decision is outside of any handler".into()),
    }
    Ok(())
}

/// Checks that the values of a record are in range for the machine.
fn validate(memory: &Memory<'_>, replayed: &Replayed, record: &Record) -> Result<(), String> {
    let nr_cores = memory.nr_cores();
    let fits = |word: usize, bits: u64| {
        let cores = (nr_cores as usize).saturating_sub(word * 64).min(64);
        word < SET_WORDS && (cores == 64 || bits >> cores == 0)
    };
    let flag = usize::from(record.flag);
    let valid = match record.kind {
        kind::SETS => [record.a, record.b, record.c, record.d, record.e].iter().all(|word| fits(flag, *word)),
        kind::CORE => record.a < 1 << 31 && u32::from(record.core) < nr_cores,
        kind::THREAD => {
            record.thread != 0
                && record.a < u64::from(nr_cores)
                && (1..1 << 31).contains(&record.b)
                && fits(0, record.e)
                && (record.c as i64) >= 0
        }
        kind::AFFINITY => {
            record.thread != 0 && replayed.known_thread(record.thread).is_some() && fits(flag, record.a)
        }
        kind::HEAD => flag < QUEUES,
        kind::BEGIN => flag < EVENTS.len() && u32::from(record.core) < nr_cores,
        kind::VISIT => replayed.known_thread(record.thread).is_some(),
        kind::END | kind::WALK | kind::READY..=kind::SET => true,
        _ => false,
    };
    if valid { Ok(()) } else { Err(format!("{record:?}")) }
}

/// The thread with this serial, which an earlier record must describe.
fn subject(memory: &Memory<'_>, replayed: &Replayed, serial: u32) -> Result<u32, String> {
    let thread = replayed.known_thread(serial).ok_or_else(|| format!("thread {serial} is unknown"))?;
    check_affinity(memory, thread)?;
    Ok(thread)
}

fn check_affinity(memory: &Memory<'_>, thread: u32) -> Result<(), String> {
    if memory.affinity(thread).word == Set::EMPTY.word {
        return Err(format!("thread {} has an empty affinity", memory.thread(thread).tid));
    }
    Ok(())
}

impl Report {
    /// Whether the log is complete.
    pub fn whole(&self) -> bool {
        self.ending == Ending::Whole
    }
}
