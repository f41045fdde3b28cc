//! Slow reference implementation of tiles, directly from the definitions.

use super::{BINS, Field, MOST_SETS, Shape, TileId, bin_width};
use crate::Trace;
use crate::event::{CoreId, IDLE, Kind, Tid, Time};
use crate::metrics::UNDERLOAD_INTERVAL;
use crate::testing::{Moment, moments};
use std::collections::BTreeSet;

/// Computes tile entries from the moments of a trace.
pub struct Reference<'a> {
    trace: &'a Trace,
    moments: Vec<Moment>,
    untraced: BTreeSet<Tid>,
    end: Time,
}

/// True if the core is busy at less than 90 % of the frequency of an idle one. Frequencies in these
/// traces are multiples of 100 MHz.
fn inverted(at: &Moment, core: usize) -> bool {
    let fastest = at.idle().map(|idle| at.khz[idle]).max().unwrap_or(0);
    let khz = u64::from(at.khz[core]);
    at.running[core] != IDLE && khz > 0 && khz * 10 < u64::from(fastest) * 9
}

fn overloaded(at: &Moment, core: usize) -> bool {
    at.runnable_on(core) > 1 && at.idle().next().is_some()
}

impl Reference<'_> {
    pub fn new(trace: &Trace, end: Time) -> Reference<'_> {
        let untraced = trace.header.threads.iter().filter(|thread| !thread.traced).map(|thread| thread.tid);
        Reference { trace, moments: moments(trace), untraced: untraced.collect(), end }
    }

    fn traced(&self, tid: Tid) -> bool {
        tid != IDLE && !self.untraced.contains(&tid)
    }

    /// State when `begin` is reached, before its events, and all states up to `end`.
    fn seen(&self, begin: Time, end: Time) -> impl Iterator<Item = &Moment> {
        let before = self.moments.iter().rposition(|moment| moment.time < begin).unwrap_or(0);
        let inside =
            move |(index, moment): &(usize, &Moment)| *index == before || (begin..end).contains(&moment.time);
        self.moments.iter().enumerate().filter(inside).map(|(_, moment)| moment)
    }

    /// Time between `begin` and `end` during which `holds` is true.
    fn time(&self, begin: Time, end: Time, holds: impl Fn(&Moment) -> bool) -> Time {
        self.pieces(begin, end).filter(|(moment, _)| holds(moment)).map(|(_, ns)| ns).sum()
    }

    fn pieces(&self, begin: Time, end: Time) -> impl Iterator<Item = (&Moment, Time)> {
        let ends = self.moments[1..].iter().map(|moment| moment.time).chain([self.end]);
        self.moments.iter().zip(ends).filter_map(move |(moment, until)| {
            let ns = until.min(end).saturating_sub(moment.time.max(begin));
            (ns > 0).then_some((moment, ns))
        })
    }

    /// Thread with the longest uninterrupted run.
    fn longest(&self, core: usize, begin: Time, end: Time) -> Tid {
        let (mut best, mut run) = ((IDLE, 0), (IDLE, 0));
        for (moment, ns) in self.pieces(begin, end) {
            let thread = moment.running[core];
            run = if run.0 == thread { (thread, run.1 + ns) } else { (thread, ns) };
            if thread != IDLE && run.1 > best.1 {
                best = run;
            }
        }
        best.0
    }

    fn count(&self, begin: Time, end: Time, matches: impl Fn(&Kind) -> bool) -> u64 {
        let inside = self.trace.events.iter().filter(|event| (begin..end).contains(&event.time));
        inside.filter(|event| matches(&event.kind)).count().min(255) as u64
    }

    fn underload(&self, interval: u64) -> u64 {
        let (begin, end) = (interval * UNDERLOAD_INTERVAL, (interval + 1) * UNDERLOAD_INTERVAL);
        let runnable = |moment: &Moment| {
            let threads = moment.running.iter().chain(moment.ready.keys());
            threads.filter(|tid| self.traced(**tid)).count()
        };
        let most = self.seen(begin, end).map(runnable).max().unwrap_or(0);
        self.used(begin, end).saturating_sub(most) as u64
    }

    fn used(&self, begin: Time, end: Time) -> usize {
        let used = |core: &usize| self.seen(begin, end).any(|moment| self.traced(moment.running[*core]));
        (0..self.trace.header.cores.len()).filter(used).count()
    }

    /// Entries of a field of a tile, in storage order.
    pub fn field(&self, id: TileId, field: Field) -> Vec<f64> {
        let shape = Shape::of(&self.trace.header);
        let rows = match field {
            Field::Runnable | Field::CoresUsed | Field::Underload => 1,
            Field::SetSizes => shape.sets,
            _ => shape.cores,
        };
        let width = bin_width(id.level);
        let first = id.index * BINS as u64;
        let bins = |row| (0..BINS as u64).map(move |bin| (row, (first + bin) * width));
        (0..rows).flat_map(bins).map(|(row, begin)| self.entry(field, row, begin, width)).collect()
    }

    fn entry(&self, field: Field, row: usize, begin: Time, width: Time) -> f64 {
        if begin > self.end {
            return 0.0;
        }
        let end = begin + width;
        let core = row as CoreId;
        let part = |holds: &dyn Fn(&Moment) -> bool| {
            let part = self.time(begin, end, holds) as f64 / width as f64;
            if part == 0.0 { 0.0 } else { (part * 255.0).round().max(1.0) }
        };
        let most =
            |value: &dyn Fn(&Moment) -> usize| self.seen(begin, end).map(value).max().unwrap_or(0) as f64;
        match field {
            Field::Busy => part(&|moment| moment.running[row] != IDLE),
            Field::Traced => part(&|moment| self.traced(moment.running[row])),
            Field::Overload => part(&|moment| overloaded(moment, row)),
            Field::Inverted => part(&|moment| inverted(moment, row)),
            Field::Spin => part(&|moment| moment.spin[row]),
            Field::Mhz => {
                let busy = |(moment, _): &(&Moment, Time)| moment.running[row] != IDLE && moment.khz[row] > 0;
                let (mut sum, mut time) = (0u64, 0);
                for (moment, ns) in self.pieces(begin, end).filter(busy) {
                    sum += u64::from(moment.khz[row]) * ns;
                    time += ns;
                }
                sum.checked_div(time).map_or(0.0, |khz| (khz as f64 / 1000.0).round())
            }
            Field::Thread => f64::from(self.longest(row, begin, end)),
            Field::Queue => most(&|moment| moment.runnable_on(row)),
            Field::Reason => {
                let before = self.moments.iter().rfind(|moment| moment.time < end);
                f64::from(before.map_or(0, |moment| moment.reason[row]))
            }
            Field::Sets => {
                let bits = |set: u8| {
                    let member = self.seen(begin, end).any(|moment| moment.members.contains(&(set, core)));
                    u32::from(member) << set
                };
                (0..MOST_SETS as u8).map(bits).sum::<u32>().into()
            }
            Field::Wakeups => {
                self.count(begin, end, |kind| matches!(kind, Kind::Wakeup { target, .. } if *target == core))
                    as f64
            }
            Field::Migrations => {
                self.count(begin, end, |kind| matches!(kind, Kind::Migrate { to, .. } if *to == core)) as f64
            }
            Field::Forks => {
                self.count(begin, end, |kind| matches!(kind, Kind::Fork { target, .. } if *target == core))
                    as f64
            }
            Field::Runnable => most(&|moment| {
                let threads = moment.running.iter().chain(moment.ready.keys());
                threads.filter(|tid| self.traced(**tid)).count()
            }),
            Field::CoresUsed => self.used(begin, end) as f64,
            Field::SetSizes => {
                most(&|moment| moment.members.iter().filter(|(set, _)| usize::from(*set) == row).count())
            }
            Field::Underload => {
                let mut sum = 0;
                for interval in begin / UNDERLOAD_INTERVAL..=(end - 1) / UNDERLOAD_INTERVAL {
                    let from = (interval * UNDERLOAD_INTERVAL).max(begin);
                    let to = ((interval + 1) * UNDERLOAD_INTERVAL).min(end).min(self.end);
                    sum += self.underload(interval) * to.saturating_sub(from);
                }
                f64::from((sum as f64 / width as f64) as f32)
            }
        }
    }
}
