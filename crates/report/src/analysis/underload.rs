//! Underload over time in a bounded number of columns, for plots.

use crate::analysis::{Consumer, seconds};
use hearth_trace::follow::{CoreState, Observer, Underload};
use hearth_trace::{Time, UNDERLOAD_INTERVAL};
use serde::{Deserialize, Serialize};

/// Beyond this number, pairs of columns are merged.
const MOST_COLUMNS: usize = 2048;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct UnderloadSeries {
    pub duration_s: f64,
    /// Width of a column: 4 ms times a power of two.
    pub column_s: f64,
    /// Columns in order of time. After the last one, the underload is 0.
    pub columns: Vec<UnderloadColumn>,
}

/// Mean and maximum underload of the 4 ms intervals in a column, in cores.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct UnderloadColumn {
    pub mean: f64,
    pub max: u32,
}

pub struct Columns {
    underload: Underload,
    /// Number of 4 ms intervals in a column.
    intervals: u64,
    /// Sum and maximum of each column.
    columns: Vec<(u64, u32)>,
}

impl Columns {
    pub fn new(cores: usize) -> Self {
        Columns { underload: Underload::new(cores), intervals: 1, columns: Vec::new() }
    }

    pub fn finish(mut self, now: Time) -> UnderloadSeries {
        if let Some((index, underload)) = self.underload.finish() {
            self.add(index, underload);
        }
        let mean = |sum: u64| sum as f64 / self.intervals as f64;
        UnderloadSeries {
            duration_s: seconds(now),
            column_s: seconds(UNDERLOAD_INTERVAL.saturating_mul(self.intervals)),
            columns: self
                .columns
                .iter()
                .map(|(sum, max)| UnderloadColumn { mean: mean(*sum), max: *max })
                .collect(),
        }
    }

    fn add(&mut self, index: u64, underload: u32) {
        while index / self.intervals >= MOST_COLUMNS as u64 {
            self.intervals *= 2;
            let pair = |pair: &[(u64, u32)]| {
                pair.iter().fold((0, 0), |(sum, most), (s, max)| (sum + s, most.max(*max)))
            };
            self.columns = self.columns.chunks(2).map(pair).collect();
        }
        let column = (index / self.intervals) as usize;
        if column >= self.columns.len() {
            self.columns.resize(column + 1, (0, 0));
        }
        let (sum, max) = &mut self.columns[column];
        *sum += u64::from(underload);
        *max = (*max).max(underload);
    }
}

impl Consumer for Columns {
    fn advance(&mut self, now: Time) {
        if let Some((index, underload)) = self.underload.advance(now) {
            self.add(index, underload);
        }
    }
}

impl Observer for Columns {
    fn core(&mut self, _: Time, core: usize, before: CoreState, after: CoreState) {
        self.underload.core(core, before, after);
    }

    fn runnable(&mut self, count: u32) {
        self.underload.runnable(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Request;
    use crate::analysis::testing::*;
    use hearth_trace::Trace;
    use hearth_trace::series;
    use proptest::prelude::*;

    fn of(trace: &Trace) -> UnderloadSeries {
        find(trace, Request { underload: true, ..Request::default() }).underload.unwrap()
    }

    /// Thread 1 uses two cores in each of 3000 intervals, one after the other.
    #[test]
    fn columns_are_merged() {
        let mut events = Vec::new();
        for interval in 0..3000 {
            let begin = interval * UNDERLOAD_INTERVAL;
            events.extend([
                run(begin, 0, 1),
                block(begin + MS, 0, 1),
                run(begin + MS, 1, 1),
                block(begin + 2 * MS, 1, 1),
            ]);
        }
        let series = of(&trace(2, 3000 * UNDERLOAD_INTERVAL, &events));
        assert_eq!((series.columns.len(), series.column_s), (1500, 0.008));
        assert!(series.columns.iter().all(|column| (column.mean, column.max) == (1.0, 1)));
    }

    proptest! {
        #[test]
        fn agrees_with_the_series(steps in steps()) {
            let trace = play(&steps);
            let ours = of(&trace);
            let columns = ours.columns.iter().enumerate().filter(|(_, column)| column.max > 0);
            let ours: Vec<_> = columns.map(|(at, column)| (at as u64 * UNDERLOAD_INTERVAL, column.max)).collect();
            let series: Vec<_> = series::underload(&trace).iter().map(|point| (point.time, point.underload)).collect();
            prop_assert_eq!(ours, series);
        }
    }
}
