//! Reference implementation of the metrics for tests: applies the definitions to a list of the full
//! state after every event. The streaming metrics must give the same results.

use super::*;
use crate::event::{CoreInfo, IDLE};
use crate::testing::{self, Moment, Step, any_khz, any_trace, moments};
use proptest::prelude::*;

fn runnable(at: &Moment) -> usize {
    at.running.iter().filter(|tid| **tid != IDLE).count() + at.ready.len()
}

/// True if the core is busy at less than 90 % of the frequency of an idle one. Frequencies here are
/// multiples of 100 MHz.
fn inverted(at: &Moment, core: usize) -> bool {
    let fastest = at.idle().map(|idle| at.khz[idle]).max().unwrap_or(0);
    let khz = u64::from(at.khz[core]);
    at.running[core] != IDLE && khz > 0 && khz * 10 < u64::from(fastest) * 9
}

fn reference(trace: &Trace) -> Summary {
    let cores = trace.header.cores.len();
    let all = moments(trace);
    let duration = trace.header.duration;
    let mut summary = Summary { duration_s: duration as f64 / 1e9, ..Summary::default() };

    let (mut underload, mut all_used) = (0, 0);
    for begin in (0..=duration).step_by(UNDERLOAD_INTERVAL as usize) {
        let end = begin + UNDERLOAD_INTERVAL;
        // The last state before the interval, then all states inside it.
        let before = all.iter().rposition(|at| at.time < begin);
        let inside = all
            .iter()
            .enumerate()
            .filter(|(index, at)| Some(*index) == before || (begin..end).contains(&at.time));
        let inside: Vec<&Moment> = inside.map(|(_, at)| at).collect();
        let used = (0..cores).filter(|core| inside.iter().any(|at| at.running[*core] != IDLE)).count();
        let most = inside.iter().map(|at| runnable(at)).max().unwrap_or(0);
        underload += used.saturating_sub(most);
        all_used += used;
    }
    summary.underload_per_s = underload as f64 / summary.duration_s;
    summary.cores_used_per_tick = all_used as f64 / (duration / UNDERLOAD_INTERVAL + 1) as f64;
    let wakeup = |event: &&Event| matches!(event.kind, Kind::Wakeup { .. });
    summary.wakeups = trace.events.iter().filter(wakeup).count() as u64;

    let (mut overload, mut inversion, mut busy) = (0, 0, 0);
    for pair in all.windows(2) {
        let (at, ns) = (&pair[0], pair[1].time - pair[0].time);
        let on = |core: &usize| at.runnable_on(*core);
        if (0..cores).any(|core| on(&core) == 0) {
            overload += ns * (0..cores).filter(|core| on(core) > 1).count() as u64;
        }
        inversion += ns * (0..cores).filter(|core| inverted(at, *core)).count() as u64;
        busy += ns * at.running.iter().filter(|tid| **tid != IDLE).count() as u64;
        let begins = |core: &usize| !inverted(at, *core) && inverted(&pair[1], *core);
        summary.inversions += (0..cores).filter(begins).count() as u64;
    }
    summary.overload_core_ms = overload as f64 / 1e6;
    summary.inversion_core_ms = inversion as f64 / 1e6;
    summary.busy_core_s = busy as f64 / 1e9;
    summary.cores_used =
        (0..cores).filter(|core| all.iter().any(|at| at.running[*core] != IDLE)).count() as u32;

    // Per-thread metrics.
    let (mut waited, mut longest) = (0, 0);
    for (index, event) in trace.events.iter().enumerate() {
        let Kind::Switch { next, .. } = event.kind else { continue };
        summary.context_switches += 1;
        if next == IDLE {
            continue;
        }
        let before = trace.events[..index].iter().rev();
        let last_run =
            before.clone().find(|e| matches!(e.kind, Kind::Switch { next: tid, .. } if tid == next));
        summary.migrations += u64::from(last_run.is_some_and(|e| e.core != event.core));
        let woken = before
            .take_while(|e| !matches!(e.kind, Kind::Switch { next: tid, .. } if tid == next))
            .find(|e| match e.kind {
                Kind::Wakeup { thread, .. } => thread == next,
                Kind::Fork { child, .. } => child == next,
                _ => false,
            });
        if let Some(woken) = woken {
            summary.wakeup_latency_us.count += 1;
            waited += event.time - woken.time;
            longest = longest.max(event.time - woken.time);
        }
    }
    summary.wakeup_latency_us.mean = waited as f64 / summary.wakeup_latency_us.count.max(1) as f64 / 1e3;
    summary.wakeup_latency_us.max = longest as f64 / 1e3;
    summary
}

const CORES: u16 = 5;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pass = prop_oneof![0..3u64, 0..3_000_000u64, Just(4_000_000), 0..20_000_000u64];
    testing::steps(CORES, pass, any_khz().prop_map(|khz| Kind::Frequency { khz }))
}

/// A trace in which all threads are traced.
fn play(steps: &[Step]) -> Trace {
    let core = |n| CoreInfo { physical: n / 2, llc: n / 2, numa: 0, socket: n / 3 };
    let header = Header { cores: (0..CORES).map(core).collect(), ..Header::default() };
    let mut trace = testing::play(header, steps);
    trace.header.threads.iter_mut().for_each(|thread| thread.traced = true);
    trace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(128, 2048)))]

    #[test]
    fn streaming_agrees_with_the_definitions(steps in steps()) {
        let trace = play(&steps);
        prop_assert_eq!(trace.check(), vec![]);
        let (fast, slow) = (trace.summary(), reference(&trace));
        prop_assert_eq!(fast.underload_per_s, slow.underload_per_s);
        prop_assert_eq!(fast.overload_core_ms, slow.overload_core_ms);
        prop_assert_eq!(fast.inversion_core_ms, slow.inversion_core_ms);
        prop_assert_eq!(fast.inversions, slow.inversions);
        prop_assert!((fast.busy_core_s - slow.busy_core_s).abs() < 1e-9);
        prop_assert_eq!(fast.cores_used, slow.cores_used);
        prop_assert_eq!(fast.context_switches, slow.context_switches);
        prop_assert_eq!(fast.migrations, slow.migrations);
        prop_assert_eq!(fast.wakeup_latency_us.count, slow.wakeup_latency_us.count);
        prop_assert_eq!(fast.wakeup_latency_us.mean, slow.wakeup_latency_us.mean);
        prop_assert_eq!(fast.wakeup_latency_us.max, slow.wakeup_latency_us.max);
        let points: u32 = crate::series::underload(&trace).iter().map(|point| point.underload).sum();
        prop_assert_eq!(f64::from(points) / fast.duration_s, fast.underload_per_s);
    }

    /// Inconsistent traces give numbers, not panics.
    #[test]
    fn nonsense_never_panics(mut trace in any_trace(), small in any::<bool>()) {
        for event in trace.events.iter_mut().filter(|_| small) {
            // Few threads and cores, so that events interact.
            event.core %= 4;
            if let Kind::Switch { prev, next, .. } = &mut event.kind {
                (*prev, *next) = (*prev % 4, *next % 4);
            }
            if let Kind::Wakeup { thread, target, .. } = &mut event.kind {
                (*thread, *target) = (*thread % 4, *target % 4);
            }
        }
        trace.summary();
        trace.check();
    }
}
