//! One pass over a trace.

use super::by::By;
use crate::failure::Failure;
use crate::recording;
use hearth_analysis::{
    Analysis, ByInterval, Inversions, Overloads, ProcessRow, ThreadRow, UnderloadSeries, WakerPair, Wanted,
};
use hearth_trace::{Event, Header, Metrics, Sink, Source, Summary, Trace};
use serde::Serialize;
use std::path::Path;

/// What is told of a trace. What was not asked for is left out.
#[derive(Serialize)]
pub struct Measured {
    pub path: String,
    pub machine: String,
    pub source: Source,
    pub summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_interval: Option<ByInterval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_process: Option<Vec<ProcessRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_thread: Option<Vec<ThreadRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakers: Option<Vec<WakerPair>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inversions: Option<Inversions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overloads: Option<Overloads>,
    #[serde(skip)]
    pub underload: Option<UnderloadSeries>,
}

/// What has a counterpart in another trace.
#[derive(Serialize)]
pub struct Compared<'a> {
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_interval: Option<&'a ByInterval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_process: Option<&'a Vec<ProcessRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wakers: Option<&'a Vec<WakerPair>>,
}

impl Measured {
    /// Threads have other numbers in another trace, and episodes no names: they have no counterparts.
    pub fn compared(&self) -> Compared<'_> {
        Compared {
            summary: &self.summary,
            by_interval: self.by_interval.as_ref(),
            by_process: self.by_process.as_ref(),
            wakers: self.wakers.as_ref(),
        }
    }
}

pub fn measure(path: &Path, played: bool, wanted: Wanted, by: &[By]) -> Result<Measured, Failure> {
    if !played {
        let mut reader = recording::open(path)?;
        let header = reader.header().clone();
        return of(path, header, wanted, by, |take| {
            while let Some(group) = reader.next_group() {
                take(group?);
            }
            Ok(())
        });
    }
    let Trace { header, events } = play_of(recording::read(path)?, path)?;
    of(path, header, wanted, by, |take| {
        take(&events);
        Ok(())
    })
}

/// `read` gives all events, some at a time.
fn of(
    path: &Path,
    header: Header,
    wanted: Wanted,
    by: &[By],
    read: impl FnOnce(&mut dyn FnMut(&[Event])) -> Result<(), hearth_trace::Error>,
) -> Result<Measured, Failure> {
    if let Some(why) = by.iter().find_map(|by| by.too_fine(header.duration)) {
        return Err(Failure::new(format_args!("{}: {why}", path.display())));
    }
    let mut metrics = Metrics::new(&header);
    let mut analysis = (wanted != Wanted::default()).then(|| Analysis::new(&header, wanted));
    read(&mut |events| {
        events.iter().for_each(|event| metrics.event(event));
        if let Some(analysis) = &mut analysis {
            events.iter().for_each(|event| analysis.event(event));
        }
    })?;
    let found = analysis.map(|analysis| analysis.finish(header.duration)).unwrap_or_default();
    let is = |what: By| by.contains(&what);
    Ok(Measured {
        path: path.display().to_string(),
        summary: Summary {
            lost_events: Some(header.lost.iter().fold(0, |sum, lost| sum.saturating_add(*lost))),
            energy_j: (header.energy_uj > 0).then_some(header.energy_uj as f64 / 1e6),
            ..metrics.finish(header.duration)
        },
        machine: header.machine,
        source: header.source,
        by_interval: found.intervals,
        by_process: found.processes.filter(|_| is(By::Process)),
        by_thread: found.threads.filter(|_| is(By::Thread)),
        wakers: found.wakers,
        inversions: found.inversions,
        overloads: found.overloads,
        underload: found.underload,
    })
}

/// The play alone. A simulated trace has nothing else in it.
fn play_of(trace: Trace, path: &Path) -> Result<Trace, Failure> {
    if matches!(trace.header.source, Source::Simulated { .. }) {
        return Ok(trace);
    }
    trace.played().ok_or_else(|| {
        let message = format!("{} is no recording of a play that came to its end", path.display());
        Failure::new(message).help("record one: hearth record -o FILE -- hearth play WORKLOAD")
    })
}
