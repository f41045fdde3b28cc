//! Time series for plots: underload over time, and the frequency of each core over time.

use crate::Trace;
use crate::event::{CoreId, Event, Header, Time};
use crate::metrics::{CoreState, Observer, Occupant, State, UNDERLOAD_INTERVAL, Underload};
use serde::{Deserialize, Serialize};

/// Underload of the interval of [`UNDERLOAD_INTERVAL`] that begins at `time`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnderloadPoint {
    pub time: Time,
    pub underload: u32,
}

/// Intervals with underload, in order of time; all others have none. The length is therefore
/// bounded by the number of events, even if a file claims a huge duration.
pub fn underload(trace: &Trace) -> Vec<UnderloadPoint> {
    let mut meter = UnderloadMeter::new(&trace.header);
    let mut points: Vec<_> = trace.events.iter().filter_map(|event| meter.event(event)).collect();
    points.extend(meter.finish(trace.header.duration));
    points
}

/// Streaming version of [`underload`].
pub struct UnderloadMeter {
    state: State,
    meter: Meter,
    now: Time,
}

struct Meter(Underload);

impl Observer for Meter {
    fn core(&mut self, _: Time, core: usize, before: CoreState, after: CoreState) {
        self.0.core(core, before, after);
    }
    fn runnable(&mut self, count: u32) {
        self.0.runnable(count);
    }
}

impl UnderloadMeter {
    pub fn new(header: &Header) -> Self {
        let meter = Meter(Underload::new(header.cores.len()));
        UnderloadMeter { state: State::new(header), meter, now: 0 }
    }

    /// Processes the next event. Returns the interval that ended before it, if that had underload.
    pub fn event(&mut self, event: &Event) -> Option<UnderloadPoint> {
        if !self.state.possible(event) {
            return None;
        }
        let ended = self.advance(event.time);
        self.state.apply(&Event { time: self.now, ..*event }, &mut self.meter);
        ended
    }

    /// Last intervals with underload of a trace of this duration.
    pub fn finish(mut self, duration: Time) -> impl Iterator<Item = UnderloadPoint> {
        let ended = self.advance(duration);
        ended.into_iter().chain(self.meter.0.finish().map(point))
    }

    fn advance(&mut self, time: Time) -> Option<UnderloadPoint> {
        self.now = time.max(self.now);
        self.meter.0.advance(self.now).map(point)
    }
}

fn point((index, underload): (u64, u32)) -> UnderloadPoint {
    UnderloadPoint { time: index * UNDERLOAD_INTERVAL, underload }
}

/// Execution trace as in the papers: activity and frequency of each core over time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Timeline {
    /// Length in nanoseconds.
    pub duration: Time,
    /// One row per core, grouped by socket, NUMA node, last-level cache and physical core.
    pub cores: Vec<CoreRow>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CoreRow {
    pub core: CoreId,
    pub socket: u16,
    /// In order of time, without overlap. In the gaps, the core ran no traced thread.
    pub segments: Vec<Segment>,
}

/// From `t0` to `t1` (ns, exclusive), a core ran traced threads for `busy_fraction` of the time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Segment {
    pub t0: Time,
    pub t1: Time,
    /// Mean frequency while busy, in kHz; 0: unknown.
    pub khz_mean: u32,
    pub busy_fraction: f32,
}

/// Reduces a trace to `columns` columns of time. Each core has at most that many segments, made of
/// whole columns. Adjacent segments with equal values are merged.
pub fn timeline(trace: &Trace, columns: u32) -> Timeline {
    let last = trace.events.iter().map(|event| event.time).max().unwrap_or(0);
    let mut painter = TimelinePainter::new(&trace.header, last, columns);
    trace.events.iter().for_each(|event| painter.event(event));
    painter.finish()
}

/// [`timeline`] as a stream. The length of the trace must be known before: it decides the columns.
pub struct TimelinePainter<'a> {
    header: &'a Header,
    state: State,
    rows: Rows,
    now: Time,
}

impl<'a> TimelinePainter<'a> {
    /// `last`: the time of the last event.
    pub fn new(header: &'a Header, last: Time, columns: u32) -> Self {
        let duration = header.duration.max(last);
        let grid = Grid { duration, columns: u64::from(columns.max(1)).min(duration.max(1)) };
        let rows = Rows { grid, rows: vec![Row::default(); header.cores.len()] };
        TimelinePainter { header, state: State::new(header), rows, now: 0 }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        if self.state.possible(event) {
            self.now = event.time.max(self.now);
            self.state.apply(&Event { time: self.now, ..*event }, &mut self.rows);
        }
    }

    pub fn finish(mut self) -> Timeline {
        let (grid, info) = (self.rows.grid, &self.header.cores);
        for (row, core) in self.rows.rows.iter_mut().zip(self.state.cores()) {
            row.settle(grid, grid.duration, *core);
            row.flush(grid);
        }
        let mut cores: Vec<CoreRow> = (self.rows.rows.into_iter().zip(info))
            .enumerate()
            .map(|(core, (row, info))| CoreRow {
                core: core as CoreId,
                socket: info.socket,
                segments: row.segments,
            })
            .collect();
        cores.sort_by_key(|row| {
            let info = info[usize::from(row.core)];
            (info.socket, info.numa, info.llc, info.physical, row.core)
        });
        Timeline { duration: grid.duration, cores }
    }
}

/// Columns of equal width, up to rounding to nanoseconds.
#[derive(Clone, Copy)]
struct Grid {
    duration: Time,
    /// At least 1, at most one per nanosecond.
    columns: u64,
}

impl Grid {
    fn begin(&self, column: u64) -> Time {
        (u128::from(self.duration) * u128::from(column) / u128::from(self.columns)) as Time
    }

    /// Column that contains `time`: the last one that begins no later.
    fn column(&self, time: Time) -> u64 {
        let guess = (u128::from(time) * u128::from(self.columns) / u128::from(self.duration.max(1))) as u64;
        if self.begin(guess + 1) <= time { guess + 1 } else { guess }
    }
}

struct Rows {
    grid: Grid,
    rows: Vec<Row>,
}

impl Observer for Rows {
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        if (before.occupant, before.khz) != (after.occupant, after.khz) {
            self.rows[core].settle(self.grid, now, before);
        }
    }

    fn runnable(&mut self, _: u32) {}
}

#[derive(Clone, Default)]
struct Row {
    segments: Vec<Segment>,
    /// Time up to which the row is accounted for.
    since: Time,
    /// Current column, its busy time so far, the part of that at a known frequency, and the sum of
    /// kHz × ns.
    column: u64,
    busy: Time,
    known: Time,
    cycles: u128,
}

impl Row {
    /// Accounts for the time since the last change.
    fn settle(&mut self, grid: Grid, now: Time, state: CoreState) {
        let mut from = std::mem::replace(&mut self.since, now);
        if state.occupant != Occupant::Traced {
            return;
        }
        while from < now {
            let column = grid.column(from);
            if column != self.column {
                self.flush(grid);
                self.column = column;
            }
            let last = grid.column(now);
            let whole = from == grid.begin(column) && last > column;
            if whole {
                // Adjacent columns that are busy throughout form one segment.
                let to = grid.begin(last);
                self.push(Segment { t0: from, t1: to, khz_mean: state.khz, busy_fraction: 1.0 });
                self.column = last;
                from = to;
            } else {
                let to = now.min(grid.begin(column + 1));
                self.busy += to - from;
                if state.khz != 0 {
                    self.known += to - from;
                    self.cycles += u128::from(state.khz) * u128::from(to - from);
                }
                from = to;
            }
        }
    }

    /// Turns the current column into a segment.
    fn flush(&mut self, grid: Grid) {
        let (t0, t1) = (grid.begin(self.column), grid.begin(self.column + 1));
        if self.busy > 0 {
            let khz_mean = self.cycles.checked_div(u128::from(self.known)).unwrap_or(0) as u32;
            self.push(Segment { t0, t1, khz_mean, busy_fraction: self.busy as f32 / (t1 - t0) as f32 });
        }
        (self.busy, self.known, self.cycles) = (0, 0, 0);
    }

    fn push(&mut self, segment: Segment) {
        match self.segments.last_mut() {
            Some(last)
                if (last.t1, last.khz_mean, last.busy_fraction)
                    == (segment.t0, segment.khz_mean, segment.busy_fraction) =>
            {
                last.t1 = segment.t1;
            }
            _ => self.segments.push(segment),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CoreInfo, Header, IDLE, Kind, Stop, Tid};
    use crate::testing::any_trace;
    use proptest::prelude::*;

    fn switch(time: Time, core: CoreId, prev: Tid, next: Tid) -> Event {
        Event { time, core, kind: Kind::Switch { prev, stop: Stop::Blocked, next } }
    }

    fn on_cores(sockets: &[u16], duration: Time, events: Vec<Event>) -> Trace {
        let cores = sockets.iter().map(|&socket| CoreInfo { socket, ..CoreInfo::default() }).collect();
        Trace { header: Header { cores, duration, ..Header::default() }, events }
    }

    #[test]
    fn rows_of_a_socket_are_adjacent() {
        let timeline = timeline(&on_cores(&[0, 1, 0, 1], 10, vec![]), 4);
        assert_eq!(timeline.cores.iter().map(|row| row.core).collect::<Vec<_>>(), [0, 2, 1, 3]);
    }

    #[test]
    fn columns_merge_short_and_equal_segments() {
        // 100 ns in 10 columns. Busy from 5 to 38 at 2 GHz, and 4 ns in the column from 60.
        // Column 0: 5 of 10 ns; columns 1 and 2: whole; column 3: 8 of 10; column 6: 4 of 10.
        let frequency = Event { time: 0, core: 0, kind: Kind::Frequency { khz: 2_000_000 } };
        let events = vec![
            frequency,
            switch(5, 0, IDLE, 1),
            switch(38, 0, 1, IDLE),
            switch(60, 0, IDLE, 1),
            switch(62, 0, 1, IDLE),
            switch(63, 0, IDLE, 1),
            switch(65, 0, 1, IDLE),
        ];
        let timeline = timeline(&on_cores(&[0], 100, events), 10);
        let segment = |t0, t1, busy_fraction| Segment { t0, t1, khz_mean: 2_000_000, busy_fraction };
        let expected =
            [segment(0, 10, 0.5), segment(10, 30, 1.0), segment(30, 40, 0.8), segment(60, 70, 0.4)];
        assert_eq!(timeline.cores[0].segments, expected);
    }

    #[test]
    fn the_mean_frequency_is_weighted_by_time() {
        // One column: 6 ns at 1 GHz and 2 ns at 3 GHz are (6·1 + 2·3)/8 = 1.5 GHz, 8 of 10 ns.
        let khz = |time, khz| Event { time, core: 0, kind: Kind::Frequency { khz } };
        let events = vec![khz(0, 1_000_000), switch(0, 0, IDLE, 1), khz(6, 3_000_000), switch(8, 0, 1, IDLE)];
        let timeline = timeline(&on_cores(&[0], 10, events), 1);
        let expected = Segment { t0: 0, t1: 10, khz_mean: 1_500_000, busy_fraction: 0.8 };
        assert_eq!(timeline.cores[0].segments, [expected]);
    }

    #[test]
    fn underload_over_time() {
        // Interval 0: thread 1 uses cores 0 and 1 in turn: 2 - 1. Interval 1: only core 1: 0.
        // Interval 2: it returns to core 0: 1.
        let ms = 1_000_000;
        let events = vec![
            switch(0, 0, IDLE, 1),
            switch(ms, 0, 1, IDLE),
            switch(ms, 1, IDLE, 1),
            switch(9 * ms, 1, 1, IDLE),
            switch(9 * ms, 0, IDLE, 1),
        ];
        let points = underload(&on_cores(&[0, 0], 12 * ms, events));
        let point = |time| UnderloadPoint { time, underload: 1 };
        assert_eq!(points, [point(0), point(8 * ms)]);
    }

    proptest! {
        #[test]
        fn segments_are_ordered_bounded_and_sane(mut trace in any_trace(), columns in 0u32..20) {
            for event in &mut trace.events {
                event.core %= trace.header.cores.len().max(1) as u16;
                event.time %= 1000;
            }
            trace.events.sort_by_key(|event| event.time);
            trace.header.duration %= 2000;
            let timeline = timeline(&trace, columns);
            for row in &timeline.cores {
                prop_assert!(row.segments.len() <= columns.max(1) as usize);
                for segment in &row.segments {
                    prop_assert!(segment.t0 < segment.t1 && segment.t1 <= timeline.duration);
                    prop_assert!(segment.busy_fraction > 0.0 && segment.busy_fraction <= 1.0);
                }
                prop_assert!(row.segments.windows(2).all(|pair| pair[0].t1 <= pair[1].t0));
            }
        }

        #[test]
        fn noise_never_panics(trace in any_trace(), columns in any::<u32>()) {
            timeline(&trace, columns);
            underload(&trace);
        }
    }
}
