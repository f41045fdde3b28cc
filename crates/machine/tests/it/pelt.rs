//! Tests of per-entity load tracking.

use crate::common::MS;
use hearth_machine::pelt::{CoreUtil, FULL, PERIOD_NS, Util};
use proptest::prelude::*;

const HALF_LIFE: u64 = 32 * PERIOD_NS;

#[test]
fn a_busy_thread_gains_half_of_the_rest_each_half_life() {
    let mut thread = Util::new(0);
    for (n, expected) in [512, 768, 896, 960].into_iter().enumerate() {
        thread.update((n as u64 + 1) * HALF_LIFE, true);
        assert_eq!(thread.value(), expected);
    }
    thread.update(100 * HALF_LIFE, true);
    assert_eq!(thread.value(), FULL);
    thread.update(101 * HALF_LIFE, false);
    assert_eq!(thread.value(), 512);
    thread.update(1000 * HALF_LIFE, false);
    assert_eq!(thread.value(), 0);
}

#[test]
fn a_half_busy_thread_is_about_half() {
    let mut thread = Util::new(0);
    for n in 0..500 {
        thread.update(n * 2 * MS + MS, true);
        thread.update((n + 1) * 2 * MS, false);
    }
    assert!((500..=524).contains(&thread.value()), "{}", thread.value());
}

/// Utilisation after cycles of 20 ms, `busy` of which a thread runs at `scale`.
fn at_scale(scale: u32, busy: u64) -> u32 {
    let (mut core, mut thread) = (CoreUtil::new(), Util::new(0));
    core.set_scale(0, scale);
    core.attach(0, &mut thread);
    for n in 0..50 {
        let at = n * 20 * MS;
        core.enqueue(at, &mut thread);
        core.start(at, &mut thread);
        core.stop(at + busy, &mut thread);
        core.dequeue(at + busy, &mut thread, true);
        if busy < 20 * MS {
            core.idle(at + busy);
        }
    }
    core.value(50 * 20 * MS)
}

#[test]
fn a_slow_core_counts_for_less_unless_it_is_always_busy() {
    // Linux `update_rq_clock_pelt`: time runs slower on a slow core, and catches up in idle time.
    let (fast, slow) = (at_scale(1024, 10 * MS), at_scale(512, 10 * MS));
    assert!((380..=512).contains(&fast), "{fast}");
    assert!((180..=256).contains(&slow), "{slow}");
    assert!(at_scale(512, 20 * MS) > 1000, "{}", at_scale(512, 20 * MS));
}

#[test]
fn a_new_thread_gets_half_of_what_is_spare() {
    let mut core = CoreUtil::new();
    let first = core.fork(0);
    assert_eq!(first.value(), 512);
    assert_eq!(core.value(0), 512);
    let second = core.fork(0);
    assert_eq!(second.value(), 256);
    assert_eq!(core.value(0), 768);
}

#[test]
fn a_thread_that_exited_counts_for_the_next_one_until_the_refresh() {
    let exited = || {
        let mut core = CoreUtil::new();
        let mut first = core.fork(0);
        core.enqueue(0, &mut first);
        core.start(0, &mut first);
        core.stop(MS, &mut first);
        core.dequeue(MS, &mut first, false);
        core.leave(&mut first);
        core.idle(MS);
        core
    };
    // The first one had 512 and ran: about 520.
    let mut core = exited();
    let second = core.fork(2 * MS);
    assert!((245..=253).contains(&second.value()), "{}", second.value());
    assert_eq!(core.value(2 * MS), second.value(), "the first one has left");
    let forked = |refreshed| {
        let mut core = exited();
        core.refresh(refreshed);
        core.fork(6 * MS).value()
    };
    assert_eq!(forked(5 * MS), 512);
    assert_eq!(forked(MS / 2), second.value(), "it was busy");
}

#[test]
fn a_blocked_thread_decays_where_it_was_until_it_leaves() {
    let (mut here, mut there) = (CoreUtil::new(), CoreUtil::new());
    let mut thread = here.fork(0);
    here.enqueue(0, &mut thread);
    here.start(0, &mut thread);
    here.stop(100 * HALF_LIFE, &mut thread);
    here.dequeue(100 * HALF_LIFE, &mut thread, true);
    assert_eq!(here.value(101 * HALF_LIFE), 512);
    let now = 102 * HALF_LIFE;
    here.detach(now, &mut thread);
    there.attach(now, &mut thread);
    assert_eq!((here.value(now), there.value(now)), (0, 256));
    // The estimate keeps the busy history.
    there.enqueue(now, &mut thread);
    assert_eq!(thread.estimate(), FULL);
    assert_eq!(there.requested(now), FULL);
    assert_eq!(here.requested(now), 0);
}

#[test]
fn the_estimate_rises_at_once_and_falls_by_quarters() {
    let mut core = CoreUtil::new();
    let mut thread = core.fork(0);
    let mut now = 0;
    let mut cycle = |run: u64, sleep: u64| {
        core.enqueue(now, &mut thread);
        core.start(now, &mut thread);
        now += run;
        core.stop(now, &mut thread);
        core.dequeue(now, &mut thread, true);
        now += sleep;
        thread.estimate()
    };
    assert_eq!(cycle(100 * HALF_LIFE, 100 * HALF_LIFE), FULL);
    let first = cycle(PERIOD_NS, 100 * HALF_LIFE);
    assert!((760..=780).contains(&first), "{first}");
    let second = cycle(PERIOD_NS, 100 * HALF_LIFE);
    assert!((570..=590).contains(&second), "{second}");
}

proptest! {
    /// The core's O(1) sum equals the sum over its threads.
    #[test]
    fn a_core_is_the_sum_of_its_threads(
        steps in prop::collection::vec((0usize..5, 0u64..20_000_000, any::<bool>()), 1..100),
    ) {
        let mut core = CoreUtil::new();
        let mut threads: Vec<Util> = (0..5).map(|_| {
            let mut thread = Util::new(0);
            core.attach(0, &mut thread);
            thread
        }).collect();
        let mut now = 0;
        for (i, run, sleeps) in steps {
            core.enqueue(now, &mut threads[i]);
            core.start(now, &mut threads[i]);
            now += run;
            core.stop(now, &mut threads[i]);
            core.dequeue(now, &mut threads[i], sleeps);
            let mut sum = 0;
            for thread in &mut threads {
                let mut copy = *thread;
                copy.update(now, false);
                prop_assert!(copy.value() <= FULL);
                sum += copy.value();
            }
            // Each of the five values is rounded down and may lag by 1 us.
            prop_assert!(core.value(now).abs_diff(sum.min(FULL)) <= 6);
        }
    }
}
