//! Open loop: the frequencies that the cores of a machine would have had under a recorded schedule.
//!
//! The schedule stays as it is: on a faster core, a thread runs no shorter. So the frequencies show how warm the
//! recorded scheduler kept its cores, without a model of that scheduler.

use crate::batch::governor_name;
use crate::engine::{ENERGY_INTERVAL, TICK_NS};
use crate::kernel_load::KernelLoad;
use hearth_machine::frequency::{Governor, Model};
use hearth_machine::{Machine, Topology};
use hearth_trace::{
    CoreId, CoreInfo, EnergySampler, Event, Header, IDLE, Kind, LaidOver, Sink, Source, Stop, ThreadInfo, Tid,
};
use std::collections::{BTreeSet, HashMap};

/// Why a schedule does not fit on a machine.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum OverlayError {
    #[error("the trace has more {what} than {machine}, which has {has}")]
    TooSmall { what: &'static str, machine: String, has: usize },
}

/// A sink that replaces the frequencies of a trace by those of a machine, and passes all other events on.
///
/// Sockets, physical cores and hyperthreads of the trace take the places of those of the machine, in order.
pub struct Overlay<S> {
    model: Model,
    /// Utilisation, if the governor asks for it.
    load: Option<KernelLoad>,
    topology: Topology,
    /// The machine's core of each core of the trace.
    place: Vec<u16>,
    /// The trace's core of each core of the machine.
    traced: Vec<Option<CoreId>>,
    /// What each core of the trace runs, and its frequency in kHz (0: not in the trace yet).
    cores: Vec<(Tid, u32)>,
    threads: HashMap<Tid, Thread>,
    /// Time of the next tick of each core, if the trace has no ticks.
    ticks: Option<Vec<u64>>,
    /// The core that went idle with the last event. It sleeps unless the next event says that it spins.
    idle: Option<CoreId>,
    now: u64,
    energy: EnergySampler,
    changed: Vec<u16>,
    sink: S,
}

/// A thread's number in [`KernelLoad`], and where the trace has put it. Cores are the machine's.
#[derive(Clone, Copy)]
struct Thread {
    number: u32,
    seat: Seat,
}

#[derive(Clone, Copy, PartialEq)]
enum Seat {
    Unknown,
    Blocked(u32),
    Ready(u32),
    Running(u32),
}

impl<S: Sink> Overlay<S> {
    /// # Errors
    /// The machine has fewer sockets, cores per socket or hyperthreads per core than the trace.
    pub fn new(
        header: &Header,
        machine: &Machine,
        governor: Governor,
        sink: S,
    ) -> Result<Self, OverlayError> {
        let place = places(&header.cores, machine)?;
        let model = machine.frequency_model(governor);
        let mut traced = vec![None; machine.topology.core_count()];
        for (core, at) in place.iter().enumerate() {
            traced[usize::from(*at)] = Some(core as CoreId);
        }
        let thread = |(number, info): (u32, &ThreadInfo)| (info.tid, Thread { number, seat: Seat::Unknown });
        let simulated = matches!(header.source, Source::Simulated { .. });
        let needs_load = governor == Governor::Schedutil;
        Ok(Overlay {
            load: needs_load.then(|| KernelLoad::new(traced.len(), header.threads.len())),
            topology: machine.topology.clone(),
            cores: vec![(IDLE, 0); place.len()],
            threads: (0..).zip(&header.threads).map(thread).collect(),
            ticks: (!simulated).then(|| vec![u64::MAX; place.len()]),
            idle: None,
            now: 0,
            energy: EnergySampler::new(ENERGY_INTERVAL),
            changed: Vec::new(),
            model,
            place,
            traced,
            sink,
        })
    }

    /// Takes a sample of the energy, if it is time and the machine does not change at this moment.
    fn sample_energy(&mut self) {
        if self.energy.is_due(self.now)
            && self.model.next_change() > self.now
            && let Some(uj) = self.model.energy_uj(self.now)
        {
            self.energy.take(self.now, uj);
        }
    }

    /// Handles what happens until the end of the trace. Returns the header of the resulting trace.
    pub fn finish(mut self, header: &Header, machine: &Machine, governor: Governor) -> Header {
        self.until(header.duration);
        let mut source = header.source.clone();
        if let Source::Recorded(recording) = &mut source {
            let over =
                LaidOver { machine: machine.name.clone(), governor: governor_name(machine, governor).into() };
            recording.laid_over = Some(over);
            recording.energy = None;
        }
        let energy_uj = self.model.energy_uj(header.duration);
        Header {
            source,
            khz_range: (machine.frequency.min_khz, machine.frequency.max_khz()),
            energy_uj: energy_uj.unwrap_or(0),
            energy_by_time: energy_uj.map_or_else(Vec::new, |uj| self.energy.finish(header.duration, uj)),
            ..header.clone()
        }
    }

    /// Handles ticks, and what the machine does by itself, before `now`.
    fn until(&mut self, now: u64) {
        loop {
            let change = self.model.next_change();
            let ticks = self.ticks.iter().flatten().zip(0..);
            let (tick, core) = ticks.map(|(at, core)| (*at, core)).min().unwrap_or((u64::MAX, 0));
            if tick.min(change) >= now {
                break;
            }
            self.now = tick.min(change);
            if tick <= change {
                self.tick(core);
            } else {
                self.model.advance(change);
                self.frequencies();
            }
        }
        self.now = now;
        self.sample_energy();
    }

    /// A tick of a core that runs a thread. An idle core has none.
    fn tick(&mut self, core: CoreId) {
        let (current, _) = self.cores[usize::from(core)];
        if let Some(ticks) = &mut self.ticks {
            ticks[usize::from(core)] = if current == IDLE { u64::MAX } else { self.now + TICK_NS };
        }
        if current == IDLE {
            return;
        }
        let khz = self.model.tick(self.now, self.place[usize::from(core)]);
        self.emit(core, Kind::Tick { khz });
        if let (Some(load), Some(Thread { number, seat: Seat::Running(at) })) =
            (&mut self.load, self.threads.get(&current))
        {
            load.tick(self.now, *number, *at, self.model.scale(*at as u16));
        }
        self.update_util(core, core);
        self.frequencies();
    }

    /// The scheduler on core `from` calls the governor of `core`.
    fn update_util(&mut self, core: CoreId, from: CoreId) {
        let [at, from] = [core, from].map(|core| self.place[usize::from(core)]);
        let (now, load) = (self.now, &self.load);
        let util = || load.as_ref().map_or(0, |load| load.util(now, at.into()));
        self.model.update_util(now, at, from, util);
    }

    /// Passes on the frequencies that have changed.
    fn frequencies(&mut self) {
        let mut changed = std::mem::take(&mut self.changed);
        self.model.drain_changed(|physical| changed.push(physical));
        for physical in changed.drain(..) {
            for i in 0..self.topology.cores_of_physical(physical).len() {
                let at = self.topology.cores_of_physical(physical)[i];
                if let Some(core) = self.traced[usize::from(at)] {
                    self.show_frequency(core);
                }
            }
        }
        self.changed = changed;
    }

    fn show_frequency(&mut self, core: CoreId) {
        let khz = self.model.khz(self.place[usize::from(core)]);
        if std::mem::replace(&mut self.cores[usize::from(core)].1, khz) != khz {
            self.emit(core, Kind::Frequency { khz });
        }
    }

    fn emit(&mut self, core: CoreId, kind: Kind) {
        self.sink.event(&Event { time: self.now, core, kind });
    }

    fn active(&mut self, core: CoreId, active: bool) {
        self.model.set_active(self.now, self.place[usize::from(core)], active);
    }

    /// A core that went idle with the last event sleeps, unless `next` says that it spins.
    fn sleep_unless_spinning(&mut self, next: &Event) {
        let Some(core) = self.idle.take() else { return };
        if *next != (Event { time: self.now, core, kind: Kind::Spin { on: true } }) {
            self.active(core, false);
        }
        if let Some(load) = &mut self.load {
            load.idle(self.now, self.place[usize::from(core)].into());
        }
        self.frequencies();
    }

    fn switch(&mut self, core: CoreId, prev: Tid, stop: Stop, next: Tid) {
        let at = u32::from(self.place[usize::from(core)]);
        if prev != IDLE {
            self.stopped(core, prev, stop);
        }
        if next != IDLE {
            self.ready(next, at);
            self.seat(next, Seat::Running(at), |load, now, thread| load.started(now, thread, at));
            self.active(core, true);
        }
        self.cores[usize::from(core)].0 = next;
        if next == IDLE {
            self.idle = Some(core);
            return;
        }
        self.show_frequency(core);
        self.frequencies();
        if let Some(ticks) = &mut self.ticks
            && ticks[usize::from(core)] == u64::MAX
        {
            // Ticks are spread over the cores, as in Linux with skew_tick.
            let phase = u64::from(core) * TICK_NS / self.place.len() as u64;
            ticks[usize::from(core)] = (self.now + TICK_NS - phase) / TICK_NS * TICK_NS + phase;
        }
    }

    fn stopped(&mut self, core: CoreId, tid: Tid, stop: Stop) {
        let Some(Thread { seat: Seat::Running(at), .. }) = self.threads.get(&tid).copied() else { return };
        self.seat(tid, Seat::Ready(at), |load, now, thread| load.stopped(now, thread, at));
        match stop {
            Stop::Preempted | Stop::Yielded => return,
            Stop::Blocked => {
                self.seat(tid, Seat::Blocked(at), |load, now, thread| load.blocked(now, thread, at))
            }
            Stop::Exited => self.seat(tid, Seat::Unknown, |load, now, thread| load.exited(now, thread, at)),
        }
        self.update_util(core, core);
    }

    /// A thread is ready on a core of the machine. A recording may lack how it came there.
    fn ready(&mut self, tid: Tid, to: u32) {
        let Some(thread) = self.threads.get(&tid) else { return };
        let seat = Seat::Ready(to);
        match thread.seat {
            Seat::Unknown => {
                let updated = self.model.load_updated(self.now, to as u16);
                self.seat(tid, seat, |load, now, thread| load.forked(now, updated, thread, to));
            }
            Seat::Blocked(from) => {
                let updated = self.model.load_updated(self.now, from as u16);
                self.seat(tid, seat, |load, now, thread| load.woken(now, updated, thread, from, to));
            }
            Seat::Ready(from) if from != to => {
                self.seat(tid, seat, |load, now, thread| load.moved(now, thread, from, to));
            }
            Seat::Ready(_) | Seat::Running(_) => {}
        }
    }

    fn seat(&mut self, tid: Tid, seat: Seat, change: impl FnOnce(&mut KernelLoad, u64, u32)) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.seat = seat;
        if let Some(load) = &mut self.load {
            change(load, self.now, thread.number);
        }
    }

    fn arrives(&mut self, tid: Tid, target: CoreId, from: CoreId) {
        self.ready(tid, self.place[usize::from(target)].into());
        self.update_util(target, from);
        self.frequencies();
    }
}

impl<S: Sink> Sink for Overlay<S> {
    fn event(&mut self, event: &Event) {
        self.sleep_unless_spinning(event);
        self.until(event.time);
        match event.kind {
            Kind::Frequency { .. } => return,
            Kind::Tick { .. } => {
                if self.ticks.is_none() {
                    self.tick(event.core);
                }
                return;
            }
            _ => self.sink.event(event),
        }
        match event.kind {
            Kind::Switch { prev, stop, next } => self.switch(event.core, prev, stop, next),
            Kind::Wakeup { thread, target, .. } | Kind::Fork { child: thread, target, .. } => {
                self.arrives(thread, target, event.core);
            }
            Kind::Migrate { thread, to, .. } => self.arrives(thread, to, event.core),
            Kind::Spin { on } if self.cores[usize::from(event.core)].0 == IDLE => {
                self.active(event.core, on);
                self.frequencies();
            }
            _ => {}
        }
    }

    fn thread(&mut self, thread: &ThreadInfo) {
        self.sink.thread(thread);
    }
}

/// The machine's core of each core of a trace.
fn places(cores: &[CoreInfo], machine: &Machine) -> Result<Vec<u16>, OverlayError> {
    // Numbers of the hardware that a core shares, counted from 0 within what contains it.
    let rank =
        |keys: Vec<u16>, key: u16| keys.iter().collect::<BTreeSet<_>>().iter().position(|k| **k == key);
    let mut places = Vec::new();
    for (id, core) in cores.iter().enumerate() {
        let socket = rank(cores.iter().map(|c| c.socket).collect(), core.socket).unwrap_or_default();
        let in_socket = cores.iter().filter(|c| c.socket == core.socket).map(|c| c.physical).collect();
        let physical = rank(in_socket, core.physical).unwrap_or_default();
        let thread = cores[..id].iter().filter(|c| c.physical == core.physical).count();
        let shape = machine.topology.shape();
        for (what, position, has) in [
            ("sockets", socket, shape.sockets),
            ("cores in a socket", physical, shape.cores_per_socket),
            ("hyperthreads in a core", thread, shape.threads_per_core),
        ] {
            if position >= usize::from(has) {
                let machine = machine.name.clone();
                return Err(OverlayError::TooSmall { what, machine, has: has.into() });
            }
        }
        let physical = socket as u16 * shape.cores_per_socket + physical as u16;
        // Kinds of core may differ in hyperthreads.
        let threads = machine.topology.cores_of_physical(physical);
        places.push(*threads.get(thread).ok_or_else(|| OverlayError::TooSmall {
            what: "hyperthreads in a core",
            machine: machine.name.clone(),
            has: threads.len(),
        })?);
    }
    Ok(places)
}
