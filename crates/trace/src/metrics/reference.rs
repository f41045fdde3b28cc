//! The metrics again, slow and obvious: a list of everything's state after every event, and the
//! definitions applied to that list. The streaming metrics must agree with it.

use super::*;
use crate::event::{IDLE, Stop, Tid, Waker};
use crate::testing::any_trace;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The state from `time` until the next snapshot.
#[derive(Clone, Default)]
struct Snapshot {
    time: Time,
    running: Vec<Tid>,
    ready: BTreeMap<Tid, CoreId>,
    khz: Vec<u32>,
}

impl Snapshot {
    fn runnable_on(&self, core: usize) -> usize {
        usize::from(self.running[core] != IDLE)
            + self.ready.values().filter(|queue| usize::from(**queue) == core).count()
    }

    fn runnable(&self) -> usize {
        self.running.iter().filter(|tid| **tid != IDLE).count() + self.ready.len()
    }

    /// Whether a core is busy at a frequency below 90 % of that of an idle one. Frequencies here
    /// are multiples of 100 MHz.
    fn inverted(&self, core: usize) -> bool {
        let idle = |other: &usize| self.runnable_on(*other) == 0;
        let fastest = (0..self.running.len()).filter(idle).map(|other| self.khz[other]).max().unwrap_or(0);
        let khz = u64::from(self.khz[core]);
        self.running[core] != IDLE && khz > 0 && khz * 10 < u64::from(fastest) * 9
    }
}

fn snapshots(trace: &Trace) -> Vec<Snapshot> {
    let cores = trace.header.cores.len();
    let mut now = Snapshot { running: vec![IDLE; cores], khz: vec![0; cores], ..Snapshot::default() };
    let mut all = vec![now.clone()];
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
            Kind::Wakeup { thread, target, .. } | Kind::Fork { child: thread, target, .. } => {
                now.ready.insert(thread, target);
            }
            Kind::Migrate { thread, to, .. } => {
                now.ready.insert(thread, to);
            }
            Kind::Frequency { khz } => now.khz[core] = khz,
            _ => {}
        }
        all.push(now.clone());
    }
    now.time = trace.header.duration;
    all.push(now);
    all
}

fn reference(trace: &Trace) -> Summary {
    let cores = trace.header.cores.len();
    let all = snapshots(trace);
    let duration = trace.header.duration;
    let mut summary = Summary { duration_s: duration as f64 / 1e9, ..Summary::default() };

    let (mut underload, mut all_used) = (0, 0);
    for begin in (0..=duration).step_by(UNDERLOAD_INTERVAL as usize) {
        let end = begin + UNDERLOAD_INTERVAL;
        // What held when it began: the last state before. Then all that came in it.
        let before = all.iter().rposition(|snapshot| snapshot.time < begin);
        let inside = all
            .iter()
            .enumerate()
            .filter(|(index, snapshot)| Some(*index) == before || (begin..end).contains(&snapshot.time));
        let inside: Vec<&Snapshot> = inside.map(|(_, snapshot)| snapshot).collect();
        let used = (0..cores).filter(|core| inside.iter().any(|at| at.running[*core] != IDLE)).count();
        let most = inside.iter().map(|at| at.runnable()).max().unwrap_or(0);
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
        inversion += ns * (0..cores).filter(|core| at.inverted(*core)).count() as u64;
        busy += ns * at.running.iter().filter(|tid| **tid != IDLE).count() as u64;
        let begins = |core: &usize| !at.inverted(*core) && pair[1].inverted(*core);
        summary.inversions += (0..cores).filter(begins).count() as u64;
    }
    summary.overload_core_ms = overload as f64 / 1e6;
    summary.inversion_core_ms = inversion as f64 / 1e6;
    summary.busy_core_s = busy as f64 / 1e9;
    summary.cores_used =
        (0..cores).filter(|core| all.iter().any(|at| at.running[*core] != IDLE)).count() as u32;

    // Histories of single threads.
    let mut longest = 0;
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
            longest = longest.max(event.time - woken.time);
        }
    }
    summary.wakeup_latency_us.max = longest as f64 / 1e3;
    summary
}

/// What the machine tries next; what is not possible is left out.
#[derive(Clone, Debug)]
enum Step {
    Pass(Time),
    Fork(CoreId),
    Wake(usize, CoreId),
    /// The core takes the n-th of its ready threads, or goes idle.
    Switch(CoreId, usize, bool),
    Migrate(usize, CoreId),
    Frequency(CoreId, u32),
}

const CORES: u16 = 5;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let core = || 0..CORES;
    let step = prop_oneof![
        4 => prop_oneof![0..3u64, 0..3_000_000u64, Just(4_000_000), 0..20_000_000u64].prop_map(Step::Pass),
        2 => core().prop_map(Step::Fork),
        4 => (any::<usize>(), core()).prop_map(|(n, core)| Step::Wake(n, core)),
        8 => (core(), any::<usize>(), any::<bool>()).prop_map(|(core, n, block)| Step::Switch(core, n, block)),
        1 => (any::<usize>(), core()).prop_map(|(n, core)| Step::Migrate(n, core)),
        2 => (core(), 0..45u32).prop_map(|(core, tenths)| Step::Frequency(core, tenths * 100_000)),
    ];
    vec(step, 0..150)
}

/// Plays the steps on a machine that makes no mistakes.
fn play(steps: &[Step]) -> Trace {
    let mut trace = Trace::default();
    trace.header.cores =
        (0..CORES).map(|n| CoreInfo { physical: n / 2, llc: n / 2, numa: 0, socket: n / 3 }).collect();
    let mut time = 0;
    let mut running = vec![IDLE; usize::from(CORES)];
    let (mut ready, mut blocked) = (Vec::<(Tid, CoreId)>::new(), Vec::<Tid>::new());
    let mut threads = 0;
    for step in steps {
        let (core, kind) = match *step {
            Step::Pass(ns) => {
                time += ns;
                continue;
            }
            Step::Fork(target) => {
                threads += 1;
                ready.push((threads, target));
                (target, Kind::Fork { parent: IDLE, child: threads, target })
            }
            Step::Wake(n, target) => {
                if blocked.is_empty() {
                    continue;
                }
                let thread = blocked.swap_remove(n % blocked.len());
                ready.push((thread, target));
                (target, Kind::Wakeup { thread, waker: Waker::Interrupt, target })
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
                // Only who has a successor can be preempted.
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
        trace.events.push(Event { time, core, kind });
    }
    trace.header.duration = time + 1;
    trace.header.threads = (1..=threads)
        .map(|tid| crate::event::ThreadInfo { tid, name: String::new(), parent: 0, traced: true })
        .collect();
    trace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

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
        prop_assert_eq!(fast.wakeup_latency_us.max, slow.wakeup_latency_us.max);
        let points: u32 = crate::series::underload(&trace).iter().map(|point| point.underload).sum();
        prop_assert_eq!(f64::from(points) / fast.duration_s, fast.underload_per_s);
    }

    /// Traces that contradict themselves give numbers, not panics.
    #[test]
    fn nonsense_never_panics(mut trace in any_trace(), small in any::<bool>()) {
        for event in trace.events.iter_mut().filter(|_| small) {
            // Few threads and cores, so that they meet.
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
