//! Processes events and fills the cells of the current bin, one per core.

use super::cell::{Cell, Run};
use super::tile::{MOST_SETS, Shape};
use crate::event::{Event, IDLE, Kind, Tid, Time};
use crate::metrics::{Class, CoreState, FREQUENCY_BINS, INVERSION_THRESHOLD_PERCENT, Inversion};
use crate::metrics::{Observer, Occupant, State, Underload};

/// Machine-wide maxima over a bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Strip {
    /// Number of traced threads that run or are ready.
    pub runnable: u32,
    /// Number of cores in each set.
    pub sets: [u32; MOST_SETS],
}

impl Strip {
    pub fn append(&mut self, next: &Strip) {
        self.runnable = self.runnable.max(next.runnable);
        for (most, next) in self.sets.iter_mut().zip(next.sets) {
            *most = (*most).max(next);
        }
    }
}

/// State of a core beyond [`State`] that a snapshot must keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    pub spin: bool,
    pub sets: u8,
    pub reason: u8,
}

/// Accumulated time during which a condition held.
#[derive(Clone, Copy, Default)]
struct Clock {
    before: Time,
    since: Option<Time>,
}

impl Clock {
    fn read(&self, now: Time) -> Time {
        self.before + self.since.map_or(0, |since| now - since)
    }

    fn set(&mut self, now: Time, on: bool) {
        match (on, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(_)) => (self.before, self.since) = (self.read(now), None),
            _ => {}
        }
    }
}

#[derive(Clone, Default)]
struct Lane {
    core: CoreState,
    thread: Tid,
    marks: Marks,
    /// Time up to which `cell` is complete, and the clock readings at that time.
    since: Time,
    idle_then: Time,
    inverted_then: Time,
}

/// Cells of the current bin. A core's cell is updated only when that core changes. Conditions that
/// depend on *other* cores (whether one is idle, frequency of the fastest idle one) are read from
/// shared clocks.
pub struct Lanes {
    state: State,
    meters: Meters,
    now: Time,
}

struct Meters {
    lanes: Vec<Lane>,
    cells: Vec<Cell>,
    strip: Strip,
    /// Current values, of which `strip` is the maximum.
    level: Strip,
    shape: Shape,
    idle_cores: usize,
    some_idle: Clock,
    inversion: Inversion,
    limit: usize,
    /// By frequency bin: accumulated time during which a core busy at that frequency was, or would
    /// have been, inverted.
    inverted: [Clock; FREQUENCY_BINS],
    /// Underload meter and intervals with underload; only when processing a trace from its first
    /// event.
    underload: Option<(Underload, Vec<(u64, u32)>)>,
}

impl Lanes {
    /// `state` and `marks` hold at `now`, before the events of that instant.
    pub fn new(shape: Shape, state: State, marks: &[Marks], now: Time) -> Lanes {
        let mut meters = Meters {
            lanes: Vec::with_capacity(shape.cores),
            cells: vec![Cell::default(); shape.cores],
            strip: Strip::default(),
            level: Strip { runnable: state.runnable(), ..Strip::default() },
            shape,
            idle_cores: state.cores().iter().filter(|core| core.idle()).count(),
            some_idle: Clock::default(),
            inversion: Inversion::new(INVERSION_THRESHOLD_PERCENT),
            limit: 0,
            inverted: [Clock::default(); FREQUENCY_BINS],
            underload: None,
        };
        meters.some_idle.set(now, meters.idle_cores > 0);
        for (index, &core) in state.cores().iter().enumerate() {
            meters.inversion.core(CoreState::default(), core);
            let marks = marks.get(index).copied().unwrap_or_default();
            for set in 0..shape.sets {
                meters.level.sets[set] += u32::from(marks.sets >> set & 1);
            }
            meters.lanes.push(Lane { core, thread: state.current(index), marks, ..Lane::default() });
        }
        meters.follow_limit(now);
        let mut lanes = Lanes { state, meters, now };
        lanes.open();
        lanes
    }

    /// Starts at the beginning of a trace and computes its underload.
    pub fn whole(shape: Shape, state: State) -> Lanes {
        let mut lanes = Lanes::new(shape, state, &[], 0);
        lanes.meters.underload = Some((Underload::new(shape.cores), Vec::new()));
        lanes
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Intervals with underload, of a trace that ends at `end`.
    pub fn finish_underload(&mut self, end: Time) -> Vec<(u64, u32)> {
        let Some((mut underload, mut found)) = self.meters.underload.take() else { return Vec::new() };
        found.extend(underload.advance(end));
        found.extend(underload.finish());
        found
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn marks(&self) -> Vec<Marks> {
        self.meters.lanes.iter().map(|lane| lane.marks).collect()
    }

    /// Begins a bin at `now` with the state before the events of this instant.
    fn open(&mut self) {
        let meters = &mut self.meters;
        meters.strip = meters.level;
        for (core, lane) in meters.lanes.iter_mut().enumerate() {
            lane.since = self.now;
            meters.cells[core] = Cell {
                queue: lane.core.runnable,
                used: lane.core.occupant == Occupant::Traced,
                sets: lane.marks.sets,
                ..Cell::default()
            };
        }
        (0..meters.lanes.len()).for_each(|core| meters.mark(core, self.now));
    }

    /// Ends the current bin at `end`, passes it to `show`, and begins the next.
    pub fn close(&mut self, end: Time, show: impl FnOnce(&[Cell], &Strip)) {
        for core in 0..self.meters.lanes.len() {
            self.meters.settle(core, end);
            self.meters.cells[core].reason = self.meters.lanes[core].marks.reason;
        }
        self.now = end;
        show(&self.meters.cells, &self.meters.strip);
        self.open();
    }

    /// Processes an event between `now` and the end of the bin.
    pub fn event(&mut self, event: &Event) {
        let now = event.time;
        self.now = now;
        if !self.state.possible(event) {
            return;
        }
        let meters = &mut self.meters;
        if let Some((underload, found)) = &mut meters.underload {
            found.extend(underload.advance(now));
        }
        match event.kind {
            Kind::Wakeup { target, .. } => bump(&mut meters.cells[usize::from(target)].wakeups),
            Kind::Fork { target, .. } => bump(&mut meters.cells[usize::from(target)].forks),
            Kind::Migrate { to, .. } => bump(&mut meters.cells[usize::from(to)].migrations),
            Kind::Place { target, reason, .. } => {
                meters.lanes[usize::from(target)].marks.reason = reason.min(254) as u8 + 1;
            }
            Kind::Spin { on } => {
                meters.settle(usize::from(event.core), now);
                meters.lanes[usize::from(event.core)].marks.spin = on;
            }
            Kind::Set { set, member } => meters.set(usize::from(event.core), usize::from(set), member),
            _ => {}
        }
        self.state.apply(event, meters);
        if let Kind::Switch { .. } = event.kind {
            let core = usize::from(event.core);
            meters.thread(now, core, self.state.current(core));
        }
    }
}

fn bump(count: &mut u32) {
    *count = count.saturating_add(1);
}

impl Meters {
    /// Updates the cell of `core` to `now`.
    fn settle(&mut self, core: usize, now: Time) {
        let (lane, cell) = (&self.lanes[core], &mut self.cells[core]);
        let ns = now - lane.since;
        if ns == 0 {
            return;
        }
        if lane.core.busy() {
            cell.busy += ns;
            if lane.core.occupant == Occupant::Traced {
                cell.traced += ns;
            }
            if lane.core.khz != 0 {
                cell.known += ns;
                cell.khz += u128::from(ns) * u128::from(lane.core.khz);
            }
            cell.run(Run { thread: lane.thread, from: lane.since, to: now });
        }
        if lane.core.runnable > 1 {
            cell.overload += self.some_idle.read(now) - lane.idle_then;
        }
        if let Class::Busy(bin) = Class::of(lane.core) {
            cell.inverted += self.inverted[bin].read(now) - lane.inverted_then;
        }
        if lane.marks.spin {
            cell.spin += ns;
        }
        self.lanes[core].since = now;
        self.mark(core, now);
    }

    /// Records the readings of the clocks that apply to `core`.
    fn mark(&mut self, core: usize, now: Time) {
        let lane = &mut self.lanes[core];
        lane.idle_then = self.some_idle.read(now);
        if let Class::Busy(bin) = Class::of(lane.core) {
            lane.inverted_then = self.inverted[bin].read(now);
        }
    }

    fn thread(&mut self, now: Time, core: usize, thread: Tid) {
        if self.lanes[core].thread != thread {
            self.settle(core, now);
            self.lanes[core].thread = thread;
        }
    }

    fn set(&mut self, core: usize, set: usize, member: bool) {
        if set >= self.shape.sets {
            return;
        }
        let (sets, bit) = (&mut self.lanes[core].marks.sets, 1 << set);
        if member && *sets & bit == 0 {
            *sets |= bit;
            self.cells[core].sets |= bit;
            self.level.sets[set] += 1;
            self.strip.sets[set] = self.strip.sets[set].max(self.level.sets[set]);
        } else if !member && *sets & bit != 0 {
            *sets &= !bit;
            self.level.sets[set] -= 1;
        }
    }

    /// Lets the clocks of exactly the frequencies below the inversion limit run.
    fn follow_limit(&mut self, now: Time) {
        let (old, new) = (self.limit.max(1), self.inversion.limit().max(1));
        self.inverted[old.min(new)..old.max(new)].iter_mut().for_each(|clock| clock.set(now, new > old));
        self.limit = new;
    }
}

impl Observer for Meters {
    fn core(&mut self, now: Time, core: usize, before: CoreState, after: CoreState) {
        if let Some((underload, _)) = &mut self.underload {
            underload.core(core, before, after);
        }
        self.settle(core, now);
        self.idle_cores = self.idle_cores + usize::from(after.idle()) - usize::from(before.idle());
        self.some_idle.set(now, self.idle_cores > 0);
        self.inversion.core(before, after);
        self.follow_limit(now);
        let lane = &mut self.lanes[core];
        lane.core = after;
        if !after.busy() {
            lane.thread = IDLE;
        }
        let cell = &mut self.cells[core];
        cell.queue = cell.queue.max(after.runnable);
        cell.used |= after.occupant == Occupant::Traced;
        self.mark(core, now);
    }

    fn runnable(&mut self, count: u32) {
        if let Some((underload, _)) = &mut self.underload {
            underload.runnable(count);
        }
        self.level.runnable = count;
        self.strip.runnable = self.strip.runnable.max(count);
    }
}
