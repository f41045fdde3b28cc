//! The measurements of a report: one pass over each trace, and a comparison of two.

use crate::csv::csv;
use crate::{By, Error, RecordedFacts};
use hearth_report::analysis::{
    Analysis, ByInterval, CriticalPath, Inversions, Others, Overloads, ProcessRow, Request, ThreadRow,
    UnderloadSeries, WakerPair, ratios,
};
use hearth_trace::{Energy, Event, Filter, Header, Metrics, Reader, Sink, Source, Summary, Trace};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The names of two traces in a comparison.
pub const NAMES: [&str; 2] = ["first", "second"];

/// The measurements of one or two traces. Serializes with schema hearth.report/1, which
/// docs/src/json.md describes.
#[derive(Serialize)]
pub struct Report {
    schema: &'static str,
    pub traces: Vec<Measured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

/// The comparison of the second trace with the first.
#[derive(Serialize)]
struct Comparison {
    speedup: Option<f64>,
    energy_saving: Option<f64>,
    /// For each number, the second divided by the first.
    ratios: Value,
}

impl Report {
    /// A report about these traces. Compares them if there are two.
    pub fn new(traces: Vec<Measured>) -> Result<Report, Error> {
        let comparison = match &traces[..] {
            [a, b] => Some(compare(a, b)?),
            _ => None,
        };
        Ok(Report { schema: "hearth.report/1", traces, comparison })
    }

    /// The requested table as CSV, or else the metrics of each trace.
    pub fn csv(&self) -> Result<String, Error> {
        csv(&self.traces)
    }
}

fn compare(a: &Measured, b: &Measured) -> Result<Comparison, Error> {
    let energy = a.summary.energy_j.zip(b.summary.energy_j).filter(|(a, b)| *a > 0.0 && *b > 0.0);
    let (first, second) = (a.summary.duration_s, b.summary.duration_s);
    Ok(Comparison {
        speedup: (first > 0.0 && second > 0.0).then(|| first / second - 1.0),
        energy_saving: energy.map(|(a, b)| 1.0 - b / a),
        ratios: ratios(&a.compared_values()?, &b.compared_values()?),
    })
}

/// The measurements of a trace. `None` means not requested. What the trace cannot tell ([`Unknown`]) serializes as null.
#[derive(Serialize)]
#[serde(remote = "Self")]
pub struct Measured {
    pub path: String,
    pub machine: String,
    pub source: Source,
    /// Where, when and how it was recorded; `None`: it is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedFacts>,
    /// Measured energy, in microjoules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
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
    /// Processes outside the command; `None` also if the recording cannot tell them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    #[serde(skip)]
    pub underload: Option<UnderloadSeries>,
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unknown = self.unknown();
        if unknown == Unknown::default() {
            return Measured::serialize(self, serializer);
        }
        let mut value =
            Measured::serialize(self, serde_json::value::Serializer).map_err(serde::ser::Error::custom)?;
        unknown.hide(&mut value);
        value.serialize(serializer)
    }
}

/// What a trace cannot tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unknown {
    /// How long a ready thread waits for a core, and what follows from it: latency, underload and overload.
    pub waiting: bool,
    pub wakeups: bool,
    /// How latencies are distributed. In a simulation an idle state has one exit latency and timers are exact, so only the
    /// mean is known.
    pub percentiles: bool,
}

impl From<&Source> for Unknown {
    fn from(source: &Source) -> Self {
        let unrecorded = source.unrecorded();
        Unknown {
            waiting: !unrecorded.is_empty(),
            wakeups: unrecorded.wakeups,
            percentiles: matches!(source, Source::Simulated { .. }),
        }
    }
}

impl Unknown {
    pub const IN_SIMULATIONS: Unknown = Unknown { waiting: false, wakeups: false, percentiles: true };

    /// The JSON of measurements. Unknown fields are null.
    pub fn known(self, measured: &impl Serialize) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(measured)?;
        self.hide(&mut value);
        Ok(value)
    }

    fn hide(self, value: &mut Value) {
        const WAITING: [&str; 6] = [
            "wakeup_latency_us",
            "waiting_ms",
            "overload_ms",
            "overload_core_ms",
            "underload_per_s",
            "overloads",
        ];
        const WAKEUPS: [&str; 2] = ["wakeups", "wakers"];
        const MEAN: [&str; 2] = ["count", "mean"];
        match value {
            Value::Array(list) => list.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(object) => object.iter_mut().for_each(|(name, value)| match name.as_str() {
                name if self.waiting && WAITING.contains(&name)
                    || self.wakeups && WAKEUPS.contains(&name) =>
                {
                    *value = Value::Null;
                }
                "source" => {}
                "wakeup_latency_us" if self.percentiles => {
                    let fields = value.as_object_mut().into_iter().flatten();
                    let unknown = fields.filter(|(name, _)| !MEAN.contains(&name.as_str()));
                    unknown.for_each(|(_, value)| *value = Value::Null);
                }
                _ => self.hide(value),
            }),
            _ => {}
        }
    }
}

/// Serializes the metrics of a simulation.
pub fn without_percentiles<S: Serializer>(summary: &Summary, serializer: S) -> Result<S::Ok, S::Error> {
    Unknown::IN_SIMULATIONS.known(summary).map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// The measurements that have a counterpart in another trace.
#[derive(Serialize)]
struct Compared<'a> {
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_interval: Option<&'a ByInterval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_process: Option<&'a Vec<ProcessRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wakers: Option<&'a Vec<WakerPair>>,
}

impl Measured {
    pub fn unknown(&self) -> Unknown {
        (&self.source).into()
    }

    fn compared_values(&self) -> serde_json::Result<Value> {
        self.unknown().known(&self.compared())
    }

    /// Leaves out threads and episodes, which cannot be matched between traces.
    fn compared(&self) -> Compared<'_> {
        Compared {
            summary: &self.summary,
            by_interval: self.by_interval.as_ref(),
            by_process: self.by_process.as_ref(),
            wakers: self.wakers.as_ref(),
        }
    }
}

/// What to measure.
#[derive(Default)]
pub struct Measures {
    /// Measure only the play in a recording of `hearth play`. Needs the whole trace in memory; otherwise
    /// memory is linear in cores, threads and requested rows.
    pub played: bool,
    pub request: Request,
    /// The tables to return. `request` must have intervals and threads too.
    pub by: Vec<By>,
}

impl Measures {
    /// Measures the rest of a trace. `path` is its name in the report.
    pub fn of(&self, mut reader: Reader, path: &str) -> Result<Measured, Error> {
        if self.played {
            let Trace { header, events } = play_of(reader.into_trace()?, path)?;
            return self.measure(path, header, |take| {
                take(&events);
                Ok(())
            });
        }
        let header = reader.header().clone();
        self.measure(path, header, |take| {
            while let Some(group) = reader.next_group() {
                take(group?);
            }
            Ok(())
        })
    }

    /// `read` passes all events in groups.
    fn measure(
        &self,
        path: &str,
        header: Header,
        read: impl FnOnce(&mut dyn FnMut(&[Event])) -> Result<(), hearth_trace::Error>,
    ) -> Result<Measured, Error> {
        if let Some(why) = self.by.iter().find_map(|by| by.too_fine(header.duration)) {
            return Err(Error::TooFine { path: path.into(), why });
        }
        let mut metrics = Metrics::new(&header);
        // A system has no end to explain.
        let of_system =
            matches!(&header.source, Source::Recorded(recording) if recording.filter == Filter::System);
        let partial = header.source.unrecorded().threads;
        let request = Request {
            path: self.request.path.filter(|_| !of_system),
            others: self.request.others.filter(|_| !of_system && !partial),
            ..self.request
        };
        let mut analysis = (request != Request::default()).then(|| Analysis::new(&header, request));
        read(&mut |events| {
            events.iter().for_each(|event| metrics.event(event));
            if let Some(analysis) = &mut analysis {
                events.iter().for_each(|event| analysis.event(event));
            }
        })?;
        let found = analysis.map(|analysis| analysis.finish(header.duration)).unwrap_or_default();
        let is = |what: By| self.by.contains(&what);
        Ok(Measured {
            path: path.into(),
            summary: Summary {
                lost_events: Some(header.lost.iter().fold(0, |sum, lost| sum.saturating_add(*lost))),
                energy_j: (header.energy_uj > 0).then_some(header.energy_uj as f64 / 1e6),
                ..metrics.finish(header.duration)
            },
            recorded: RecordedFacts::of(path, &header),
            energy: match &header.source {
                Source::Recorded(recording) => recording.energy.as_deref().copied(),
                _ => None,
            },
            machine: header.machine,
            source: header.source,
            by_interval: found.intervals,
            by_process: found.processes.filter(|_| is(By::Process) || is(By::Program)),
            by_thread: found.threads.filter(|_| is(By::Thread)),
            wakers: found.wakers,
            inversions: found.inversions,
            overloads: found.overloads,
            others: found.others,
            critical_path: found.path,
            underload: found.underload,
        })
    }
}

/// The part of a trace with the play. A simulated trace has no other part.
fn play_of(trace: Trace, path: &str) -> Result<Trace, Error> {
    if matches!(trace.header.source, Source::Simulated { .. }) {
        return Ok(trace);
    }
    trace.played().ok_or_else(|| Error::NoPlay { path: path.into() })
}
