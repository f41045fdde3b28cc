//! Traces for tests, handmade and random.

use crate::analysis::{Analysis, Findings, Request};
use hearth_trace::testing::{self, any_khz};
pub use hearth_trace::testing::{Moment, Step, moments};
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

/// A switch from idle to `next`.
pub fn run(time: Time, core: CoreId, next: Tid) -> Event {
    switch(time, core, IDLE, Stop::Preempted, next)
}

/// `prev` blocks and the core goes idle.
pub fn block(time: Time, core: CoreId, prev: Tid) -> Event {
    switch(time, core, prev, Stop::Blocked, IDLE)
}

pub fn wake(time: Time, thread: Tid, target: CoreId) -> Event {
    at(time, target, Kind::Wakeup { thread, waker: Waker::Interrupt, target, sync: false })
}

pub fn wake_by(time: Time, core: CoreId, waker: Tid, thread: Tid, target: CoreId) -> Event {
    at(time, core, Kind::Wakeup { thread, waker: Waker::Thread(waker), target, sync: false })
}

pub fn khz(time: Time, core: CoreId, ghz_tenths: u32) -> Event {
    at(time, core, Kind::Frequency { khz: ghz_tenths * 100_000 })
}

pub fn thread(tid: Tid, name: &str) -> ThreadInfo {
    ThreadInfo { tid, name: name.into(), traced: true, ..ThreadInfo::default() }
}

/// A trace of a machine with pairs of hyperthreads, dies of four, nodes of eight and sockets of sixteen cores.
pub fn trace(cores: u16, duration: Time, events: &[Event]) -> Trace {
    let core = |n| CoreInfo { physical: n / 2, llc: n / 4, numa: n / 8, socket: n / 16 };
    let cores = (0..cores).map(core).collect();
    Trace { header: Header { cores, duration, ..Header::default() }, events: events.to_vec() }
}

pub fn find(trace: &Trace, request: Request) -> Findings {
    let mut analysis = Analysis::new(&trace.header, request);
    trace.events.iter().for_each(|event| analysis.event(event));
    analysis.finish(trace.header.duration)
}

/// Equality up to rounding errors of sums in another order.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

pub const CORES: u16 = 5;

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pass = prop_oneof![0..3u64, 0..3 * MS, Just(4 * MS), 0..20 * MS];
    testing::steps(CORES, pass, any_khz().prop_map(|khz| Kind::Frequency { khz }))
}

pub fn play(steps: &[Step]) -> Trace {
    testing::play(trace(CORES, 0, &[]).header, steps)
}

pub fn overloaded(at: &Moment) -> Vec<usize> {
    (0..at.running.len()).filter(|core| at.runnable_on(*core) > 1).collect()
}

/// Whether a core is busy below 90% of the frequency of an idle one. Frequencies are multiples of 100 MHz.
pub fn inverted(at: &Moment, core: usize) -> bool {
    let fastest = at.idle().map(|idle| at.khz[idle]).max().unwrap_or(0);
    let khz = u64::from(at.khz[core]);
    at.running[core] != IDLE && khz > 0 && khz * 10 < u64::from(fastest) * 9
}

/// Random contradictory events of few cores and threads.
pub fn nonsense() -> impl Strategy<Value = Trace> {
    let stop =
        prop_oneof![Just(Stop::Preempted), Just(Stop::Yielded), Just(Stop::Blocked), Just(Stop::Exited)];
    let (tid, core) = (|| prop_oneof![0..5u32, Just(u32::MAX)], || 0..4u16);
    let kind = prop_oneof![
        (tid(), stop, tid()).prop_map(|(prev, stop, next)| Kind::Switch { prev, stop, next }),
        (tid(), tid(), core()).prop_map(|(thread, waker, target)| Kind::Wakeup {
            thread,
            waker: Waker::Thread(waker),
            target,
            sync: false
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
    fn contradictory_events_do_not_panic(trace in nonsense()) {
        let all = Request {
            interval: Some(10 * MS),
            threads: true,
            by_name: false,
            wakers: true,
            inversions: Some(3),
            overloads: Some(3),
            underload: true,
            others: Some(3),
            path: Some(3),
        };
        find(&trace, all);
    }
}
