//! Tiles made of nothing but the definitions: slow and obvious.

use super::{BINS, Field, MOST_SETS, Shape, TileId, bin_width};
use crate::Trace;
use crate::event::{CoreId, IDLE, Kind, Stop, Tid, Time, Waker};
use crate::metrics::UNDERLOAD_INTERVAL;
use std::collections::{BTreeMap, BTreeSet};

/// All that is the case from `time` on.
#[derive(Clone, Default)]
struct Moment {
    time: Time,
    running: Vec<Tid>,
    ready: BTreeMap<Tid, CoreId>,
    khz: Vec<u32>,
    exact: BTreeSet<CoreId>,
    spin: Vec<bool>,
    members: BTreeSet<(u8, CoreId)>,
    reason: Vec<u8>,
}

/// The moments of a trace, and what they amount to.
pub struct Reference<'a> {
    trace: &'a Trace,
    moments: Vec<Moment>,
    untraced: BTreeSet<Tid>,
    end: Time,
}

impl Moment {
    fn runnable_on(&self, core: usize) -> usize {
        usize::from(self.running[core] != IDLE)
            + self.ready.values().filter(|queue| usize::from(**queue) == core).count()
    }

    fn idle(&self, core: usize) -> bool {
        self.runnable_on(core) == 0
    }

    /// Frequencies in these traces are multiples of 100 MHz.
    fn inverted(&self, core: usize) -> bool {
        let idle = (0..self.running.len()).filter(|other| self.idle(*other));
        let fastest = idle.map(|other| self.khz[other]).max().unwrap_or(0);
        let khz = u64::from(self.khz[core]);
        self.running[core] != IDLE && khz > 0 && khz * 10 < u64::from(fastest) * 9
    }

    fn overloaded(&self, core: usize) -> bool {
        self.runnable_on(core) > 1 && (0..self.running.len()).any(|other| self.idle(other))
    }
}

impl Reference<'_> {
    pub fn new(trace: &Trace, end: Time) -> Reference<'_> {
        let cores = trace.header.cores.len();
        let mut now = Moment {
            running: vec![IDLE; cores],
            khz: vec![0; cores],
            spin: vec![false; cores],
            reason: vec![0; cores],
            ..Moment::default()
        };
        let mut moments = vec![now.clone()];
        for event in &trace.events {
            now.time = event.time;
            let core = usize::from(event.core);
            match event.kind {
                Kind::Switch { prev, stop, next } => {
                    if prev != IDLE && matches!(stop, Stop::Preempted | Stop::Yielded) {
                        now.ready.insert(prev, event.core);
                    }
                    now.ready.remove(&next);
                    now.running[core] = next;
                }
                Kind::Wakeup { thread, target, waker: Waker::Thread(_) | Waker::Interrupt }
                | Kind::Fork { child: thread, target, .. } => {
                    now.ready.insert(thread, target);
                }
                Kind::Migrate { thread, to, .. } => {
                    now.ready.insert(thread, to);
                }
                Kind::Place { target, reason, .. } => now.reason[usize::from(target)] = reason as u8 + 1,
                Kind::Frequency { khz } => {
                    now.exact.insert(event.core);
                    now.khz[core] = khz;
                }
                Kind::Tick { khz } if !now.exact.contains(&event.core) => now.khz[core] = khz,
                Kind::Spin { on } => now.spin[core] = on,
                Kind::Set { set, member: true } => {
                    now.members.insert((set, event.core));
                }
                Kind::Set { set, member: false } => {
                    now.members.remove(&(set, event.core));
                }
                _ => {}
            }
            moments.push(now.clone());
        }
        let untraced = trace.header.threads.iter().filter(|thread| !thread.traced).map(|thread| thread.tid);
        Reference { trace, moments, untraced: untraced.collect(), end }
    }

    fn traced(&self, tid: Tid) -> bool {
        tid != IDLE && !self.untraced.contains(&tid)
    }

    /// What holds when `begin` comes, before its events, and what they make of it up to `end`.
    fn seen(&self, begin: Time, end: Time) -> impl Iterator<Item = &Moment> {
        let before = self.moments.iter().rposition(|moment| moment.time < begin).unwrap_or(0);
        let inside =
            move |(index, moment): &(usize, &Moment)| *index == before || (begin..end).contains(&moment.time);
        self.moments.iter().enumerate().filter(inside).map(|(_, moment)| moment)
    }

    /// For how long something holds between `begin` and `end`.
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

    /// The thread that ran longest at a stretch.
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

    /// The entries of one field of a tile, in the order in which they lie there.
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
            Field::Overload => part(&|moment| moment.overloaded(row)),
            Field::Inverted => part(&|moment| moment.inverted(row)),
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
