//! Each metric on a trace small enough to compute by hand.

use super::*;
use crate::event::{CoreInfo, IDLE, Stop, ThreadInfo, Tid, Waker};

const MS: Time = 1_000_000;

fn at(time: Time, core: CoreId, kind: Kind) -> Event {
    Event { time, core, kind }
}

fn switch(time: Time, core: CoreId, prev: Tid, stop: Stop, next: Tid) -> Event {
    at(time, core, Kind::Switch { prev, stop, next })
}

/// Switch from idle to `next`.
fn run(time: Time, core: CoreId, next: Tid) -> Event {
    switch(time, core, IDLE, Stop::Preempted, next)
}

/// `prev` blocks and the core becomes idle.
fn block(time: Time, core: CoreId, prev: Tid) -> Event {
    switch(time, core, prev, Stop::Blocked, IDLE)
}

fn wake(time: Time, thread: Tid, target: CoreId) -> Event {
    at(time, target, Kind::Wakeup { thread, waker: Waker::Interrupt, target, sync: false })
}

fn khz(time: Time, core: CoreId, ghz_tenths: u32) -> Event {
    at(time, core, Kind::Frequency { khz: ghz_tenths * 100_000 })
}

/// Cores on separate sockets.
fn machine(cores: u16) -> Header {
    let core = |n| CoreInfo { physical: n, llc: n, numa: n, socket: n };
    Header { cores: (0..cores).map(core).collect(), ..Header::default() }
}

fn summary(header: Header, duration: Time, events: &[Event]) -> Summary {
    Trace { header: Header { duration, ..header }, events: events.to_vec() }.summary()
}

/// Interval 0 (0–4 ms): thread 1 runs on core 0, then on core 1, then on core 2: 3 cores for one
/// thread, underload 2. Interval 1 (4–8 ms): core 2 only: 0. Interval 2 (8–12 ms): threads 1 and 2
/// at the same time, on cores 2 and 3: 0. Result: 2 in 12 ms = 2 / 0.012 s.
#[test]
fn underload_is_cores_used_minus_threads_runnable() {
    let events = [
        run(0, 0, 1),
        block(MS, 0, 1),
        run(MS, 1, 1),
        block(2 * MS, 1, 1),
        run(2 * MS, 2, 1),
        run(9 * MS, 3, 2),
        block(10 * MS, 3, 2),
        block(11 * MS, 2, 1),
    ];
    let summary = summary(machine(4), 12 * MS, &events);
    assert_eq!(summary.underload_per_s, 2.0 / 0.012);
    assert_eq!((summary.cores_used, summary.sockets_used), (4, 4));
}

/// One core at a time within one interval, but two threads were ready at once, so the second core
/// was needed: 2 cores - 2 runnable = 0. Underload is never negative: in interval 1, three threads
/// wait for one core.
#[test]
fn ready_threads_count_against_underload() {
    let events = [
        run(0, 0, 1),
        wake(MS, 2, 1),
        block(MS, 0, 1),
        run(2 * MS, 1, 2),
        wake(5 * MS, 3, 1),
        wake(5 * MS, 4, 1),
        wake(5 * MS, 5, 1),
    ];
    assert_eq!(summary(machine(2), 8 * MS, &events).underload_per_s, 0.0);
}

/// The last interval counts although it is shorter. A core in use when an interval begins is used
/// in it: thread 1 moves from core 0 to core 1 at 5 ms. Interval 1: 2 - 1.
#[test]
fn cores_in_use_at_the_start_of_an_interval_count() {
    let events = [run(3 * MS, 0, 1), block(5 * MS, 0, 1), run(5 * MS, 1, 1)];
    assert_eq!(summary(machine(2), 5 * MS, &events).underload_per_s, 1.0 / 0.005);
}

/// Only thread 1 is traced, thread 2 is ignored: thread 1 uses core 0, then core 1: 2 - 1.
#[test]
fn underload_is_that_of_the_traced_threads() {
    let thread = |tid, traced| ThreadInfo { tid, traced, ..ThreadInfo::default() };
    let header = Header { threads: vec![thread(1, true), thread(2, false)], ..machine(3) };
    let events = [run(0, 2, 2), run(0, 0, 1), block(MS, 0, 1), run(MS, 1, 1)];
    let summary = summary(header, 1000 * MS, &events);
    assert_eq!(summary.underload_per_s, 1.0);
    assert_eq!(summary.cores_used, 2);
    assert_eq!(summary.busy_core_s, 1.0);
    assert_eq!(summary.context_switches, 3);
}

/// Core 0: thread 1 runs from 0; 2 and 3 become ready there at 1 ms; 2 moves to the idle core 1 at
/// 4 ms. From 1 to 4 ms one core is overloaded (it counts once, with three threads or two) and
/// another is idle: 3 core-ms. From 4 ms on, core 1 has a ready thread and is no longer idle.
#[test]
fn overload_needs_an_idle_core() {
    let events = [
        run(0, 0, 1),
        wake(MS, 2, 0),
        wake(MS, 3, 0),
        at(4 * MS, 1, Kind::Migrate { thread: 2, from: 0, to: 1 }),
        run(6 * MS, 1, 2),
    ];
    assert_eq!(summary(machine(2), 10 * MS, &events).overload_core_ms, 3.0);
}

/// Core 0 is busy at 2.0 GHz. Core 1 is idle and last reported 3.0 GHz: 2.0 < 0.9 · 3.0, so core 0
/// is inverted from 1 ms. At 3 ms core 0 reaches 2.7 = 0.9 · 3.0: not inverted (not "more than" 10
/// %). At 5 ms it falls to 2.6: inverted. At 6 ms core 1 is busy: no fast core is idle. Total:
/// (6-5) + (3-1) = 3 ms, 2 times.
#[test]
fn inversion_is_a_slow_busy_core_beside_a_fast_idle_one() {
    let events = [
        khz(0, 0, 20),
        run(0, 0, 1),
        khz(MS, 1, 30),
        khz(3 * MS, 0, 27),
        khz(5 * MS, 0, 26),
        run(6 * MS, 1, 2),
    ];
    let result = summary(machine(2), 10 * MS, &events);
    assert_eq!((result.inversion_core_ms, result.inversions), (3.0, 2));
    let mut metrics = Metrics::with_inversion_threshold(&machine(2), 50);
    events.iter().for_each(|event| metrics.event(event));
    assert_eq!(metrics.finish(10 * MS).inversions, 0, "1.5 GHz is not below 50 % of 3.0 GHz");
}

/// A core with unknown frequency is never part of an inversion.
#[test]
fn unknown_frequencies_are_not_inverted() {
    let summary = summary(machine(2), MS, &[run(0, 0, 1), khz(0, 1, 30)]);
    assert_eq!(summary.inversions, 0);
    assert_eq!(summary.busy_ghz_mean, None);
    assert_eq!(summary.frequency_unknown_ms, 1.0);
}

/// Busy at 1.0 GHz for 1 ms and at 3.0 GHz for 3 ms: mean (1·1 + 3·3) / 4 = 2.5 GHz. The time after
/// the thread blocks does not count.
#[test]
fn residency_is_weighted_by_busy_time() {
    let events = [khz(0, 0, 10), run(0, 0, 1), khz(MS, 0, 30), block(4 * MS, 0, 1), khz(5 * MS, 0, 40)];
    let summary = summary(machine(1), 10 * MS, &events);
    assert_eq!(summary.busy_ghz_mean, Some(2.5));
    let expected = [Residency { ghz: 1.0, ms: 1.0 }, Residency { ghz: 3.0, ms: 3.0 }];
    assert_eq!(summary.frequency_residency, expected);
    assert_eq!(summary.busy_core_s, 0.004);
}

/// Ticks set the frequency only of cores without `Frequency` events.
#[test]
fn ticks_count_only_without_frequency_events() {
    let tick = |time, core, khz| at(time, core, Kind::Tick { khz });
    let events = [tick(0, 0, 1_000_000), khz(0, 1, 20), tick(0, 1, 3_000_000), run(0, 0, 1), run(0, 1, 2)];
    let expected = [Residency { ghz: 1.0, ms: 1.0 }, Residency { ghz: 2.0, ms: 1.0 }];
    assert_eq!(summary(machine(2), MS, &events).frequency_residency, expected);
}

/// Thread 1 waits 10 µs; thread 2, forked, waits 30 µs. The wait after a preemption does not count.
#[test]
fn latency_is_from_the_wakeup_to_the_first_run() {
    let events = [
        wake(1_000, 1, 0),
        run(11_000, 0, 1),
        at(20_000, 0, Kind::Fork { parent: 1, child: 2, target: 0 }),
        switch(50_000, 0, 1, Stop::Preempted, 2),
        switch(90_000, 0, 2, Stop::Exited, 1),
    ];
    let latency = summary(machine(1), MS, &events).wakeup_latency_us;
    assert_eq!((latency.count, latency.mean, latency.max), (2, 20.0, 30.0));
    assert!((latency.p50 / 10.0 - 1.0).abs() < 1e-3, "{latency:?}");
    assert_eq!(latency.p99, 30.0);
}

/// One thread on cores 0 1 2 4 8 8: it moves to the other hyperthread, then within the cache, the
/// node and the machine. Neither staying nor the first run is a migration.
#[test]
fn migrations_by_distance() {
    let core = |n: u16| CoreInfo { physical: n / 2, llc: n / 4, numa: n / 8, socket: 0 };
    let header = Header { cores: (0..10).map(core).collect(), ..Header::default() };
    let mut events = Vec::new();
    for (time, core) in [0, 1, 2, 4, 8, 8].into_iter().enumerate() {
        events.push(run(time as Time * 10, core, 1));
        events.push(block(time as Time * 10 + 5, core, 1));
    }
    let summary = summary(header, 100, &events);
    assert_eq!(summary.migrations_by_distance, Migrations { smt: 1, llc: 1, numa: 1, machine: 1 });
    assert_eq!((summary.migrations, summary.context_switches, summary.sockets_used), (4, 12, 1));
}

#[test]
fn placements_and_spins() {
    let place = |reason| at(0, 0, Kind::Place { thread: 1, target: 0, reason, seen_khz: 0 });
    let spin = |time, on| at(time, 0, Kind::Spin { on });
    let header = Header { reasons: vec!["attached".into(), "cfs".into()], ..machine(1) };
    let events =
        [place(1), place(1), place(0), place(7), spin(MS, true), spin(3 * MS, false), spin(9 * MS, true)];
    let summary = summary(header, 10 * MS, &events);
    let count = |reason: &str| summary.placements.get(reason).copied();
    assert_eq!((count("attached"), count("cfs"), count("reason 7")), (Some(1), Some(2), Some(1)));
    assert_eq!(summary.spin_core_ms, 3.0);
    assert_eq!(summary.events, 7);
}

#[test]
fn children_inherit_traced() {
    let thread = |tid, traced| ThreadInfo { tid, traced, ..ThreadInfo::default() };
    let header = Header { threads: vec![thread(1, false), thread(2, true)], ..machine(2) };
    let fork = |parent, child, target| at(0, 0, Kind::Fork { parent, child, target });
    let events = [fork(1, 3, 0), fork(2, 4, 1), run(0, 0, 3), run(0, 1, 4)];
    assert_eq!(summary(header, MS, &events).cores_used, 1);
}

#[test]
fn an_empty_trace_has_no_numbers() {
    let summary = summary(machine(1), 0, &[]);
    assert_eq!(summary, Summary { lost_events: Some(0), ..Summary::default() });
}

#[test]
fn events_of_cores_that_do_not_exist_are_skipped() {
    let summary = summary(machine(1), MS, &[run(0, 1, 1), wake(0, 1, 0), run(0, 0, 1)]);
    assert_eq!((summary.events, summary.skipped_events, summary.cores_used), (3, 1, 1));
}

#[test]
fn the_json_has_the_documented_names() {
    let json = serde_json::to_value(summary(machine(1), MS, &[run(0, 0, 1), khz(0, 0, 10)])).unwrap();
    for name in [
        "duration_s",
        "events",
        "skipped_events",
        "lost_events",
        "energy_j",
        "underload_per_s",
        "overload_core_ms",
        "inversion_core_ms",
        "inversions",
        "cores_used",
        "sockets_used",
        "cores_used_per_tick",
        "busy_core_s",
        "busy_ghz_mean",
        "frequency_residency",
        "frequency_unknown_ms",
        "wakeup_latency_us",
        "wakeups",
        "context_switches",
        "migrations",
        "migrations_by_distance",
        "placements",
        "spin_core_ms",
    ] {
        assert!(json.get(name).is_some(), "{name}");
    }
    assert!(json["wakeup_latency_us"]["p99_9"].is_number());
    assert!(json["frequency_residency"][0]["ghz"].is_number());
    assert_eq!(json.as_object().unwrap().len(), 23, "a new name needs a line in docs/src/metrics.md");
}
