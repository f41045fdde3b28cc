//! An open trace, and the facts about it that the page shows.

use super::cache::Cached;
use super::programs::Programs;
use super::sql::Sql;
use hearth_trace::tiles::{self, Field, Groups, Index, TileId};
use hearth_trace::{CoreInfo, Header, Source, ThreadInfo, Tid};
use serde::Serialize;
use std::collections::HashMap;

pub struct Viewed {
    pub name: String,
    pub groups: Cached<Box<dyn Groups>>,
    pub index: Index,
    /// The index of each thread in the header.
    threads: HashMap<Tid, usize>,
    complete: bool,
    /// `None`: the trace is not in files.
    pub sql: Option<Sql>,
}

#[derive(Serialize)]
pub struct Info {
    name: String,
    machine: String,
    source: String,
    duration: u64,
    events: u64,
    /// By core, including inferred events.
    lost: Vec<u64>,
    inferred: u64,
    cores: Vec<CoreInfo>,
    reasons: Vec<String>,
    sets: Vec<String>,
    khz_range: (u32, u32),
    /// Whether the frequency of any core was ever known.
    frequency_known: bool,
    /// False if waiting, latency, underload and overload cannot be told from the recording.
    waiting_known: bool,
    wakeups_known: bool,
    /// Microjoules until each of some times; empty: unknown.
    energy: Vec<(u64, u64)>,
    /// Whether the hardware counted it.
    energy_measured: bool,
    threads: usize,
    traced_threads: usize,
    levels: Levels,
    complete: bool,
    /// Whether the server answers SQL about the trace.
    sql: bool,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Levels {
    finest_stored: u8,
    coarsest: u8,
}

#[derive(Serialize)]
pub struct Thread<'a> {
    thread: Tid,
    name: &'a str,
    parent: Option<Tid>,
    pub traced: bool,
    /// The kernel's number; `None`: unknown.
    tid: Option<u32>,
    process: Option<Process<'a>>,
    /// The number of the colour of its program.
    colour: Option<usize>,
}

impl Thread<'_> {
    pub fn coloured(self, programs: &Programs) -> Self {
        Thread { colour: programs.number(self.name), ..self }
    }
}

#[derive(Serialize, Clone, Copy, Debug, PartialEq)]
pub struct Process<'a> {
    /// Number in the trace.
    pub process: u32,
    pub pid: u32,
    name: &'a str,
}

/// A process among the others.
#[derive(Serialize)]
pub struct Family<'a> {
    #[serde(flatten)]
    process: Process<'a>,
    /// Its parent, the parent of that, and so on.
    ancestors: Vec<Process<'a>>,
    /// Processes that it forked, at most [`MOST_RELATIVES`]; and their number.
    children: Vec<Process<'a>>,
    child_count: usize,
    /// Threads of it in the trace, at most [`MOST_RELATIVES`]; and their number.
    threads: Vec<Tid>,
    thread_count: usize,
}

const MOST_RELATIVES: usize = 100;

impl Viewed {
    /// `index` must be the index of the trace that `groups` reads.
    pub fn new(name: String, groups: Box<dyn Groups>, index: Index, complete: bool) -> Self {
        let threads = groups.header().threads.iter().enumerate().map(|(at, thread)| (thread.tid, at));
        let threads = threads.collect();
        Viewed { name, groups: Cached::new(groups), index, threads, complete, sql: None }
    }

    pub fn with_sql(self, sql: Option<Sql>) -> Self {
        Viewed { sql, ..self }
    }

    pub fn in_memory(name: String, trace: hearth_trace::Trace) -> Result<Self, tiles::Error> {
        let index = Index::in_memory(&trace)?;
        Ok(Viewed::new(name, Box::new(trace), index, true))
    }

    pub fn header(&self) -> &Header {
        self.groups.header()
    }

    pub fn info(&self) -> Info {
        let header = self.header();
        Info {
            name: self.name.clone(),
            machine: header.machine.clone(),
            source: header.source.to_string(),
            duration: self.index.end(),
            events: self.groups.spans().iter().map(|span| span.events).sum(),
            lost: header.lost.clone(),
            inferred: self.inferred(),
            cores: header.cores.clone(),
            reasons: header.reasons.clone(),
            sets: header.sets.iter().take(tiles::MOST_SETS).cloned().collect(),
            khz_range: header.khz_range,
            frequency_known: self.frequency_known(),
            waiting_known: header.source.unrecorded().is_empty(),
            wakeups_known: !header.source.unrecorded().wakeups,
            energy: header.energy_by_time.clone(),
            energy_measured: matches!(&header.source, Source::Recorded(recording) if recording.energy.is_some()),
            threads: header.threads.len(),
            traced_threads: header.threads.iter().filter(|thread| thread.traced).count(),
            levels: Levels { finest_stored: self.index.finest_stored(), coarsest: self.index.coarsest() },
            complete: self.complete,
            sql: self.sql.is_some(),
            warnings: self.warnings(),
        }
    }

    /// Number of events that the recorder inserted because the kernel did not report them.
    fn inferred(&self) -> u64 {
        match &self.header().source {
            Source::Recorded(recording) => recording.inferred,
            _ => 0,
        }
    }

    /// Looks into the tile of the whole trace.
    fn frequency_known(&self) -> bool {
        let whole = TileId { level: self.index.coarsest(), index: 0 };
        let tile = self.index.tile(&self.groups, whole).ok().flatten();
        tile.is_some_and(|tile| tile.field(Field::Mhz).iter().any(|byte| *byte != 0))
    }

    fn warnings(&self) -> Vec<String> {
        let sum = self.header().lost.iter().fold(0u64, |sum, lost| sum.saturating_add(*lost));
        let (lost, inferred) = (sum.saturating_sub(self.inferred()), self.inferred());
        let notes = self.header().source.unrecorded().notes();
        let mut warnings: Vec<String> = notes.into_iter().map(str::to_owned).collect();
        if lost > 0 {
            warnings.push(format!("the recorder lost {lost} events; the picture lacks them"));
        }
        if inferred > 0 {
            warnings.push(format!("{inferred} events are inferred: the kernel did not report them"));
        }
        if !self.complete {
            warnings
                .push("the recording was cut off: its end and some names of threads may be missing".into());
        }
        if self.header().sets.len() > tiles::MOST_SETS {
            warnings.push(format!(
                "the policy has more than {} core sets; only these are shown",
                tiles::MOST_SETS
            ));
        }
        warnings
    }

    pub fn thread(&self, tid: Tid) -> Option<Thread<'_>> {
        self.header().threads.get(*self.threads.get(&tid)?).map(|info| self.described(info))
    }

    fn described<'a>(&'a self, info: &'a ThreadInfo) -> Thread<'a> {
        Thread {
            thread: info.tid,
            name: &info.name,
            parent: (info.parent != 0).then_some(info.parent),
            traced: info.traced,
            tid: info.kernel_tid,
            process: info.process.and_then(|process| self.process(process)),
            colour: None,
        }
    }

    fn process(&self, process: u32) -> Option<Process<'_>> {
        let info = self.header().processes.get(process as usize)?;
        Some(Process { process, pid: info.pid, name: &info.name })
    }

    pub fn family(&self, process: u32) -> Option<Family<'_>> {
        let header = self.header();
        let parent = |process: u32| header.processes.get(process as usize)?.parent;
        // A damaged trace may have a ring of parents.
        let ancestors = std::iter::successors(parent(process), |process| parent(*process));
        let ancestors = ancestors.take(MOST_RELATIVES).filter_map(|process| self.process(process)).collect();
        let children = || (0..header.processes.len() as u32).filter(|child| parent(*child) == Some(process));
        let threads = || header.threads.iter().filter(|thread| thread.process == Some(process));
        Some(Family {
            process: self.process(process)?,
            ancestors,
            children: children().take(MOST_RELATIVES).filter_map(|child| self.process(child)).collect(),
            child_count: children().count(),
            threads: threads().take(MOST_RELATIVES).map(|thread| thread.tid).collect(),
            thread_count: threads().count(),
        })
    }

    pub fn name_of(&self, tid: Tid) -> Option<&str> {
        Some(self.header().threads.get(*self.threads.get(&tid)?)?.name.as_str())
    }

    /// Threads whose number is `text`, or the kernel's number of them or of their process; then those whose name, or that
    /// of their process, contains it.
    pub fn search(&self, text: &str, limit: usize) -> Vec<Thread<'_>> {
        let text = text.to_lowercase();
        let number: Option<u32> = text.parse().ok();
        let threads = || self.header().threads.iter().map(|info| self.described(info));
        let is_number = |thread: &Thread| {
            let pid = thread.process.map(|process| process.pid);
            number.is_some() && [Some(thread.thread), thread.tid, pid].contains(&number)
        };
        let named = |thread: &Thread| {
            let process = thread.process.map_or("", |process| process.name);
            [thread.name, process].iter().any(|name| name.to_lowercase().contains(&text))
        };
        let mut found: Vec<Thread> = match number {
            Some(tid) => self.thread(tid).into_iter().collect(),
            None => Vec::new(),
        };
        let by_number = threads().filter(|thread| is_number(thread) && Some(thread.thread) != number);
        found.extend(by_number.take(limit));
        found.extend(threads().filter(|thread| named(thread) && !is_number(thread)).take(limit));
        found.truncate(limit);
        found
    }
}
