//! Reads a log, replays its handlers, and compares. Logs are untrusted: every record is validated before the policy's
//! code runs.

use crate::replica::{Call, QUEUES, Replica, Slot, Stage};
use crate::report::{Disagreement, LISTED, Report};
use hearth_policy::Settings;
use hearth_scx::log::{EVENTS, Ending, Header, Reader, Record, event, kind};
use hearth_sim::Native;
use hearth_sim::saakm::{LEVELS, MAX_CORES, SET_WORDS, Set};
use std::collections::BTreeMap;
use std::io::Read;
use std::ptr;

/// Largest number of records of one handler.
const MAX_RECORDS: usize = 1 << 20;
/// Events with a thread.
const THREAD_EVENTS: [usize; 8] = [
    event::NEW,
    event::UNBLOCK,
    event::TICK,
    event::YIELD,
    event::PREEMPT,
    event::BLOCK,
    event::TERMINATE,
    event::TIMER,
];

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
        replica: Replica::new(policy, &header),
        handler: None,
        handlers: BTreeMap::new(),
        called: 0,
        disagreements: 0,
        first: Vec::new(),
    };
    while let Some(record) = log.record()? {
        replay.record(record).map_err(|what| Error::Record { number: record.number, what })?;
    }
    let stage = replay.replica.get();
    Ok(Report {
        policy: header.policy,
        kernel: header.kernel,
        command: header.command,
        cores: header.cores.len(),
        records: log.read(),
        threads: stage.threads(),
        decisions: std::mem::take(&mut stage.decisions),
        visits: stage.visits,
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
        let stage = self.replica.get();
        validate(stage, &record)?;
        match record.kind {
            kind::BEGIN if !within => self.begin(record)?,
            kind::END if within => self.end(&record)?,
            kind::BEGIN | kind::END => return Err("the begin and end of handlers do not alternate".into()),
            // Applied during the replay of the handler.
            _ if within => {
                if stage.script.records.len() >= MAX_RECORDS {
                    return Err("a handler has too many records".into());
                }
                // Creates the thread, so that later records can refer to it.
                if record.kind == kind::THREAD {
                    stage.thread(record.thread);
                }
                stage.script.records.push(record);
            }
            _ => apply(stage, &record)?,
        }
        Ok(())
    }

    fn begin(&mut self, record: Record) -> Result<(), String> {
        let event = usize::from(record.flag);
        let stage = self.replica.get();
        let thread =
            if THREAD_EVENTS.contains(&event) { subject(stage, record.thread)? } else { ptr::null_mut() };
        let current = stage.logged.cores.iter().map(|core| core.current);
        for slot in current.chain(stage.logged.heads) {
            check_affinity(slot)?;
        }
        stage.script.records.clear();
        let call = Call { event, thread, core: record.core.into(), now: record.a as i64 };
        self.handler = Some((call, record));
        Ok(())
    }

    fn end(&mut self, record: &Record) -> Result<(), String> {
        let Some((call, began)) = self.handler.take() else { return Ok(()) };
        let exists = self.replica.call(call);
        let stage = self.replica.get();
        if !exists {
            stage.script.difference = Some(("a handler of this event".into(), "none".into()));
        }
        let records = std::mem::take(&mut stage.script.records);
        // The records of the state after the handler follow its last decision.
        let is_state =
            |record: &Record| matches!(record.kind, kind::SETS | kind::CORE | kind::THREAD | kind::AFFINITY);
        let done = records.iter().rposition(|record| !is_state(record)).map_or(0, |last| last + 1);
        for record in &records[done..] {
            apply(stage, record)?;
        }
        stage.script.records = records;
        stage.compare(record.a, call.thread);
        self.called += 1;
        let event = EVENTS[call.event];
        *self.handlers.entry(event).or_default() += 1;
        if let Some((kernel, native)) = stage.script.difference.take() {
            self.disagreements += 1;
            if self.first.len() < LISTED {
                let (handler, thread, core) = (self.called, began.thread, call.core);
                let record = began.number;
                let now = call.now;
                self.first.push(Disagreement { handler, record, event, thread, core, now, kernel, native });
            }
        }
        Ok(())
    }
}

/// Applies a record of the runtime state that handlers see.
pub(crate) fn apply(stage: &mut Stage, record: &Record) -> Result<(), String> {
    match record.kind {
        kind::SETS => {
            let words = [record.a, record.b, record.c, record.d, record.e];
            for (set, word) in stage.logged.sets.iter_mut().zip(words) {
                set.word[usize::from(record.flag)] = word;
            }
        }
        kind::CORE => {
            let current = match record.thread {
                0 => ptr::null_mut(),
                serial => subject(stage, serial)?,
            };
            let told = &mut stage.logged.cores[usize::from(record.core)];
            told.nr_ready = record.a as u32;
            told.seen_khz = record.b as u32;
            told.idle_since = record.c as i64;
            told.current = current;
        }
        kind::THREAD | kind::AFFINITY => stage.describe(record),
        kind::HEAD => {
            stage.logged.heads[usize::from(record.flag)] = match record.thread {
                0 => ptr::null_mut(),
                serial => subject(stage, serial)?,
            };
        }
        _ => return Err("a decision is outside of any handler".into()),
    }
    Ok(())
}

/// Checks that the values of a record are in range for the machine.
fn validate(stage: &Stage, record: &Record) -> Result<(), String> {
    let nr_cores = stage.nr_cores();
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
            record.thread != 0 && stage.known_thread(record.thread).is_some() && fits(flag, record.a)
        }
        kind::HEAD => flag < QUEUES,
        kind::BEGIN => flag < EVENTS.len() && u32::from(record.core) < nr_cores,
        kind::VISIT => stage.known_thread(record.thread).is_some(),
        kind::END | kind::WALK | kind::READY..=kind::SET => true,
        _ => false,
    };
    if valid { Ok(()) } else { Err(format!("{record:?}")) }
}

/// The thread with this serial, which an earlier record must describe.
fn subject(stage: &Stage, serial: u32) -> Result<*mut Slot, String> {
    let slot = stage.known_thread(serial).ok_or_else(|| format!("thread {serial} is unknown"))?;
    check_affinity(slot)?;
    Ok(slot)
}

fn check_affinity(slot: *mut Slot) -> Result<(), String> {
    // SAFETY: null or a slot, which lives as long as its stage.
    match unsafe { slot.as_ref() } {
        Some(slot) if slot.affinity.word == Set::EMPTY.word => {
            Err(format!("thread {} has an empty affinity", slot.thread.tid))
        }
        _ => Ok(()),
    }
}

impl Report {
    /// Whether the log is complete.
    pub fn whole(&self) -> bool {
        self.ending == Ending::Whole
    }
}
