//! An open trace, and the facts about it that the page shows.

use super::cache::Cached;
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
}

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
        self.header().threads.get(*self.threads.get(&tid)?).map(thread)
    }

    pub fn name_of(&self, tid: Tid) -> Option<&str> {
        Some(self.header().threads.get(*self.threads.get(&tid)?)?.name.as_str())
    }

    /// Threads whose name contains `text` or whose number is `text`.
    pub fn search(&self, text: &str, limit: usize) -> Vec<Thread<'_>> {
        let text = text.to_lowercase();
        let number = text.parse().ok().and_then(|tid| self.thread(tid));
        let is_number = |info: &ThreadInfo| number.as_ref().is_some_and(|thread| thread.thread == info.tid);
        let named = self.header().threads.iter();
        let named = named.filter(|info| !is_number(info) && info.name.to_lowercase().contains(&text));
        let mut found: Vec<Thread> = named.take(limit).map(thread).collect();
        if let Some(thread) = number {
            found.insert(0, thread);
            found.truncate(limit);
        }
        found
    }
}

fn thread(info: &ThreadInfo) -> Thread<'_> {
    let parent = (info.parent != 0).then_some(info.parent);
    Thread { thread: info.tid, name: &info.name, parent, traced: info.traced }
}
