//! Panels and distributions of traces.

use super::{CoreRow, Distribution, Segment, Setting, TimelinePanel};
use hearth_trace::series::{TimelinePainter, UnderloadMeter, UnderloadPoint};
use hearth_trace::{Event, Header, Reader, Source, Summary, Time, Trace, UNDERLOAD_INTERVAL};

const SECOND: f64 = 1e9;

impl TimelinePanel {
    /// A panel with at most `columns` columns of time. The caller fills in what the trace does not
    /// know about its setting: the policy of a recording.
    pub fn from_trace(trace: &Trace, columns: u32) -> TimelinePanel {
        let last = trace.events.iter().map(|event| event.time).max().unwrap_or(0);
        let mut painter = Painter::new(&trace.header, last, columns);
        trace.events.iter().for_each(|event| painter.event(event));
        painter.finish()
    }

    /// The same of a stored trace. Memory is in proportion to cores, columns and intervals with underload.
    pub fn read(mut reader: Reader, columns: u32) -> Result<TimelinePanel, hearth_trace::Error> {
        let header = reader.header().clone();
        let last = reader.store().groups().last().map_or(0, |group| group.end);
        let mut painter = Painter::new(&header, last, columns);
        while let Some(group) = reader.next_group() {
            group?.iter().for_each(|event| painter.event(event));
        }
        Ok(painter.finish())
    }
}

/// A panel in the making.
struct Painter<'a> {
    header: &'a Header,
    timeline: TimelinePainter<'a>,
    meter: UnderloadMeter,
    underload: Vec<UnderloadPoint>,
}

impl<'a> Painter<'a> {
    fn new(header: &'a Header, last: Time, columns: u32) -> Self {
        Painter {
            header,
            timeline: TimelinePainter::new(header, last, columns),
            meter: UnderloadMeter::new(header),
            underload: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        self.timeline.event(event);
        self.underload.extend(self.meter.event(event));
    }

    fn finish(mut self) -> TimelinePanel {
        self.underload.extend(self.meter.finish(self.header.duration));
        let timeline = self.timeline.finish();
        let segments = timeline.cores.iter().zip(0u32..).flat_map(|(core, row)| {
            core.segments.iter().map(move |s| Segment {
                row,
                t0: s.t0 as f64 / SECOND,
                t1: s.t1 as f64 / SECOND,
                ghz: s.khz_mean as f32 / 1e6,
                busy: s.busy_fraction,
            })
        });
        let cores = timeline.cores.iter();
        let cores = cores.map(|it| CoreRow { label: it.core.to_string(), socket: it.socket.into() });
        let (low, high) = self.header.khz_range;
        TimelinePanel {
            setting: setting(self.header),
            duration_s: timeline.duration as f64 / SECOND,
            ghz_range: (low as f32 / 1e6, high as f32 / 1e6),
            cores: cores.collect(),
            segments: segments.collect(),
            underload: underload(&self.underload),
        }
    }
}

impl Distribution {
    /// Adds the busy time of one run.
    pub fn add(&mut self, run: &Summary) {
        let unknown = [(0.0, run.frequency_unknown_ms)];
        for (ghz, ms) in run.frequency_residency.iter().map(|it| (it.ghz, it.ms)).chain(unknown) {
            match self.residency.iter_mut().find(|(known, _)| *known == ghz) {
                Some((_, sum)) => *sum += ms,
                None => self.residency.push((ghz, ms)),
            }
        }
    }
}

fn setting(header: &Header) -> Setting {
    let machine = header.machine.clone();
    match &header.source {
        Source::Simulated { policy, params, governor, .. } => {
            let params: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let params = if params.is_empty() { String::new() } else { format!(" ({})", params.join(", ")) };
            Setting { machine, governor: governor.clone(), policy: format!("{policy}{params}") }
        }
        Source::Recorded(recording) => {
            let policy = recording.policy.as_ref().map_or("recorded".into(), ToString::to_string);
            Setting { machine, policy, ..Setting::default() }
        }
        Source::Unknown => Setting { machine, ..Setting::default() },
    }
}

/// The intervals that have underload; between two that are not neighbours there is none.
fn underload(points: &[UnderloadPoint]) -> Vec<(f64, f64)> {
    let mut steps = Vec::new();
    let mut end = None;
    for point in points {
        if let Some(end) = end.filter(|end| *end < point.time) {
            steps.push((end as f64 / SECOND, 0.0));
        }
        steps.push((point.time as f64 / SECOND, f64::from(point.underload)));
        end = Some(point.time + UNDERLOAD_INTERVAL);
    }
    steps.extend(end.map(|end| (end as f64 / SECOND, 0.0)));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::{CoreInfo, IDLE, Kind, Stop, ThreadInfo};

    const MS: u64 = 1_000_000;

    /// A thread runs 2 ms on core 0, then 2 ms on core 1, which is on another socket.
    fn trace() -> Trace {
        let thread = ThreadInfo { tid: 7, name: "sh".into(), traced: true, ..ThreadInfo::default() };
        let at = |time, core, kind| Event { time, core, kind };
        let run = |prev, next| Kind::Switch { prev, stop: Stop::Preempted, next };
        Trace {
            header: Header {
                source: Source::Simulated {
                    policy: "nest".into(),
                    params: vec![("s_max".into(), "0".into())],
                    workload: "w".into(),
                    governor: "schedutil".into(),
                    seed: 1,
                },
                machine: "m".into(),
                cores: (0..2).map(|i| CoreInfo { physical: i, llc: i, numa: i, socket: i }).collect(),
                duration: 20 * MS,
                threads: vec![thread],
                khz_range: (1_000_000, 3_000_000),
                ..Header::default()
            },
            events: vec![
                at(0, 0, Kind::Frequency { khz: 2_000_000 }),
                at(0, 0, Kind::Fork { parent: IDLE, child: 7, target: 0 }),
                at(0, 0, run(IDLE, 7)),
                at(2 * MS, 0, run(7, IDLE)),
                at(2 * MS, 0, Kind::Migrate { thread: 7, from: 0, to: 1 }),
                at(2 * MS, 1, run(IDLE, 7)),
                at(4 * MS, 1, Kind::Exit { thread: 7 }),
                at(4 * MS, 1, Kind::Switch { prev: 7, stop: Stop::Exited, next: IDLE }),
            ],
        }
    }

    #[test]
    fn a_trace_becomes_a_panel() {
        let panel = TimelinePanel::from_trace(&trace(), 10);
        assert_eq!(panel.setting.policy, "nest (s_max=0)");
        assert_eq!((panel.duration_s, panel.ghz_range), (0.02, (1.0, 3.0)));
        assert_eq!(panel.cores.iter().map(|core| core.socket).collect::<Vec<_>>(), [0, 1]);
        let segment = |row, t0, t1, ghz| Segment { row, t0, t1, ghz, busy: 1.0 };
        assert_eq!(panel.segments, [segment(0, 0.0, 0.002, 2.0), segment(1, 0.002, 0.004, 0.0)]);
        assert_eq!(panel.underload, [(0.0, 1.0), (0.004, 0.0)]);
    }

    #[test]
    fn a_stored_trace_gives_the_same_panel() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        trace().write(&path).unwrap();
        let read = TimelinePanel::read(Reader::open(&path).unwrap(), 10).unwrap();
        assert_eq!(read, TimelinePanel::from_trace(&trace(), 10));
    }

    #[test]
    fn runs_add_up() {
        let mut distribution = Distribution::default();
        let run = trace().summary();
        distribution.add(&run);
        distribution.add(&run);
        distribution.residency.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(distribution.residency, [(0.0, 4.0), (2.0, 4.0)]);
    }

    #[test]
    fn an_empty_trace_too() {
        let panel = TimelinePanel::from_trace(&Trace::default(), 10);
        assert!(panel.segments.is_empty() && panel.underload.is_empty());
    }
}
