//! Traces for tests: by hand, and of a machine that makes no mistakes.

use crate::{Analysis, Findings, Wanted};
use hearth_trace::{
    CoreId, CoreInfo, Event, Header, IDLE, Kind, Sink, Stop, ThreadInfo, Tid, Time, Trace, Waker,
};
use proptest::collection::vec;
use proptest::prelude::*;

pub const MS: Time = 1_000_000;

pub fn at(time: Time, core: CoreId, kind: Kind) -> Event {
    Event { time, core, kind }
}

pub fn switch(time: Time, core: CoreId, prev: Tid, stop: Stop, next: Tid) -> Event {
    at(time, core, Kind::Switch { prev, stop, next })
}

/// From idle to `next`.
pub fn run(time: Time, core: CoreId, next: Tid) -> Event {
    switch(time, core, IDLE, Stop::Preempted, next)
}

/// `prev` blocks, and nothing else is there.
pub fn block(time: Time, core: CoreId, prev: Tid) -> Event {
    switch(time, core, prev, Stop::Blocked, IDLE)
}

pub fn wake(time: Time, thread: Tid, target: CoreId) -> Event {
    at(time, target, Kind::Wakeup { thread, waker: Waker::Interrupt, target })
}

pub fn wake_by(time: Time, core: CoreId, waker: Tid, thread: Tid, target: CoreId) -> Event {
    at(time, core, Kind::Wakeup { thread, waker: Waker::Thread(waker), target })
}

pub fn khz(time: Time, core: CoreId, ghz_tenths: u32) -> Event {
    at(time, core, Kind::Frequency { khz: ghz_tenths * 100_000 })
}

pub fn thread(tid: Tid, name: &str) -> ThreadInfo {
    ThreadInfo { tid, name: name.into(), parent: 0, traced: true }
}

/// Hyperthreads in pairs, dies of four, nodes of eight, sockets of sixteen.
pub fn trace(cores: u16, duration: Time, events: &[Event]) -> Trace {
    let core = |n| CoreInfo { physical: n / 2, llc: n / 4, numa: n / 8, socket: n / 16 };
    let cores = (0..cores).map(core).collect();
    Trace { header: Header { cores, duration, ..Header::default() }, events: events.to_vec() }
}

pub fn find(trace: &Trace, wanted: Wanted) -> Findings {
    let mut analysis = Analysis::new(&trace.header, wanted);
    trace.events.iter().for_each(|event| analysis.event(event));
    analysis.finish(trace.header.duration)
}

/// Sums in another order differ in the last digits.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

/// What the machine tries next; what is not possible is left out.
#[derive(Clone, Debug)]
pub enum Step {
    Pass(Time),
    Fork(CoreId, CoreId),
    /// A thread, to the second core; by whoever runs on the first.
    Wake(usize, CoreId, CoreId),
    /// The core takes the n-th of its ready threads, or goes idle.
    Switch(CoreId, usize, bool),
    Migrate(usize, CoreId),
    Frequency(CoreId, u32),
}

pub const CORES: u16 = 5;

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let core = || 0..CORES;
    let pass = prop_oneof![0..3u64, 0..3 * MS, Just(4 * MS), 0..20 * MS];
    let step = prop_oneof![
        4 => pass.prop_map(Step::Pass),
        2 => (core(), core()).prop_map(|(core, target)| Step::Fork(core, target)),
        4 => (any::<usize>(), core(), core()).prop_map(|(n, core, target)| Step::Wake(n, core, target)),
        8 => (core(), any::<usize>(), any::<bool>()).prop_map(|(core, n, block)| Step::Switch(core, n, block)),
        1 => (any::<usize>(), core()).prop_map(|(n, core)| Step::Migrate(n, core)),
        2 => (core(), 0..45u32).prop_map(|(core, tenths)| Step::Frequency(core, tenths * 100_000)),
    ];
    vec(step, 0..150)
}

/// Plays the steps. Two of three threads are traced, and four share three names.
pub fn play(steps: &[Step]) -> Trace {
    let mut trace = trace(CORES, 0, &[]);
    let mut time = 0;
    let mut running = [IDLE; CORES as usize];
    let (mut ready, mut blocked) = (Vec::<(Tid, CoreId)>::new(), Vec::<Tid>::new());
    let mut threads = 0;
    for step in steps {
        let (core, kind) = match *step {
            Step::Pass(ns) => {
                time += ns;
                continue;
            }
            Step::Fork(core, target) => {
                threads += 1;
                ready.push((threads, target));
                (core, Kind::Fork { parent: running[usize::from(core)], child: threads, target })
            }
            Step::Wake(n, core, target) => {
                if blocked.is_empty() {
                    continue;
                }
                let thread = blocked.swap_remove(n % blocked.len());
                ready.push((thread, target));
                let waker = match running[usize::from(core)] {
                    IDLE => Waker::Interrupt,
                    waker => Waker::Thread(waker),
                };
                (core, Kind::Wakeup { thread, waker, target })
            }
            Step::Switch(core, n, block) => {
                let queue: Vec<usize> = (0..ready.len()).filter(|i| ready[*i].1 == core).collect();
                let prev = running[usize::from(core)];
                let next = match queue.is_empty() {
                    true => IDLE,
                    false => ready.swap_remove(queue[n % queue.len()]).0,
                };
                if prev == next {
                    continue;
                }
                let stop =
                    if prev != IDLE && (block || next == IDLE) { Stop::Blocked } else { Stop::Preempted };
                match stop {
                    Stop::Blocked => blocked.push(prev),
                    _ if prev != IDLE => ready.push((prev, core)),
                    _ => {}
                }
                running[usize::from(core)] = next;
                (core, Kind::Switch { prev, stop, next })
            }
            Step::Migrate(n, to) => {
                if ready.is_empty() {
                    continue;
                }
                let index = n % ready.len();
                let (thread, from) = ready[index];
                ready[index] = (thread, to);
                (to, Kind::Migrate { thread, from, to })
            }
            Step::Frequency(core, khz) => (core, Kind::Frequency { khz }),
        };
        trace.events.push(at(time, core, kind));
    }
    trace.header.duration = time + 1;
    let name = |tid| ["", "make", "cc1", "cc1"][tid as usize % 4];
    trace.header.threads =
        (1..=threads).map(|tid| ThreadInfo { traced: tid % 3 != 0, ..thread(tid, name(tid)) }).collect();
    trace
}

/// What holds from `time` until the next one, for references.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub time: Time,
    pub running: Vec<Tid>,
    pub ready: Vec<(Tid, CoreId)>,
    pub khz: Vec<u32>,
}

impl Snapshot {
    pub fn runnable_on(&self, core: usize) -> usize {
        usize::from(self.running[core] != IDLE) + self.ready_on(core).count()
    }

    pub fn ready_on(&self, core: usize) -> impl Iterator<Item = Tid> + '_ {
        self.ready.iter().filter(move |(_, on)| usize::from(*on) == core).map(|(tid, _)| *tid)
    }

    pub fn overloaded(&self) -> Vec<usize> {
        (0..self.running.len()).filter(|core| self.runnable_on(*core) > 1).collect()
    }

    pub fn idle(&self) -> Vec<usize> {
        (0..self.running.len()).filter(|core| self.runnable_on(*core) == 0).collect()
    }

    /// Whether a core is busy below 90 % of an idle one. Frequencies are multiples of 100 MHz.
    pub fn inverted(&self, core: usize) -> bool {
        let fastest = self.idle().into_iter().map(|idle| self.khz[idle]).max().unwrap_or(0);
        let khz = u64::from(self.khz[core]);
        self.running[core] != IDLE && khz > 0 && khz * 10 < u64::from(fastest) * 9
    }
}

/// The state after every event of a sound trace, and once more at its end.
pub fn snapshots(trace: &Trace) -> Vec<Snapshot> {
    let cores = trace.header.cores.len();
    let mut now = Snapshot { running: vec![IDLE; cores], khz: vec![0; cores], ..Snapshot::default() };
    let mut all = vec![now.clone()];
    for event in &trace.events {
        now.time = event.time;
        let core = usize::from(event.core);
        let moved = |now: &mut Snapshot, tid: Tid, to: Option<CoreId>| {
            now.ready.retain(|(ready, _)| *ready != tid);
            now.ready.extend(to.map(|to| (tid, to)));
        };
        match event.kind {
            Kind::Switch { prev, stop, next } => {
                moved(&mut now, next, None);
                if prev != IDLE && stop == Stop::Preempted {
                    moved(&mut now, prev, Some(event.core));
                }
                now.running[core] = next;
            }
            Kind::Wakeup { thread: tid, target: to, .. }
            | Kind::Fork { child: tid, target: to, .. }
            | Kind::Migrate { thread: tid, to, .. } => moved(&mut now, tid, Some(to)),
            Kind::Frequency { khz } => now.khz[core] = khz,
            _ => {}
        }
        all.push(now.clone());
    }
    now.time = trace.header.duration;
    all.push(now);
    all
}

/// Random events of few cores and threads, which contradict each other: nothing may panic.
pub fn nonsense() -> impl Strategy<Value = Trace> {
    let stop =
        prop_oneof![Just(Stop::Preempted), Just(Stop::Yielded), Just(Stop::Blocked), Just(Stop::Exited)];
    let (tid, core) = (|| prop_oneof![0..5u32, Just(u32::MAX)], || 0..4u16);
    let kind = prop_oneof![
        (tid(), stop, tid()).prop_map(|(prev, stop, next)| Kind::Switch { prev, stop, next }),
        (tid(), tid(), core()).prop_map(|(thread, waker, target)| Kind::Wakeup {
            thread,
            waker: Waker::Thread(waker),
            target
        }),
        (tid(), tid(), core()).prop_map(|(parent, child, target)| Kind::Fork { parent, child, target }),
        (tid(), core(), core()).prop_map(|(thread, from, to)| Kind::Migrate { thread, from, to }),
        any::<u32>().prop_map(|khz| Kind::Frequency { khz }),
        any::<u32>().prop_map(|khz| Kind::Tick { khz }),
        (0..4_000_000u32).prop_map(|khz| Kind::Frequency { khz }),
    ];
    let time = prop_oneof![0..50_000_000u64, any::<u64>()];
    let event = (time, core(), kind).prop_map(|(time, core, kind)| at(time, core, kind));
    (vec(event, 0..120), any::<u64>(), 0..4u16, any::<bool>()).prop_map(
        |(mut events, duration, cores, sorted)| {
            if sorted {
                events.sort_by_key(|event| event.time);
            }
            trace(cores, duration, &events)
        },
    )
}

proptest! {
    #[test]
    fn the_machine_makes_no_mistakes(steps in steps()) {
        prop_assert_eq!(play(&steps).check(), vec![]);
    }

    #[test]
    fn nothing_panics(trace in nonsense()) {
        let all = Wanted {
            interval: Some(10 * MS),
            threads: true,
            wakers: true,
            inversions: Some(3),
            overloads: Some(3),
            underload: true,
        };
        find(&trace, all);
    }
}
