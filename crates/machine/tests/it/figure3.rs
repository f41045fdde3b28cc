//! Figure 3 of the ATC'20 paper: an isolated busy loop of 200 ms on the E7 under `powersave`.
//!
//! The paper reads 29 ms up, about 10 ms down, and bounces for around 98 ms. Nothing of this is a
//! parameter: it has to come out of `intel_pstate`'s 10 ms samples. What comes out is 12 to 16 ms up
//! and a staircase down. Its length depends on how often the idle core wakes: 45 to 54 ms if every
//! millisecond, 100 ms if every 10 ms. docs/src/gallery.md says what is missing.

use crate::common::{MS, TICK, US, busy, model};
use hearth_machine::{Governor, Model};

const CORE: u16 = 12;
const HIGHEST: u32 = 3_000_000;
const LOWEST: u32 = 1_200_000;

/// The model after the busy loop, the loop's end, and the time until the highest frequency.
fn busy_loop(phase: u64) -> (Model, u64, u64) {
    let mut e7 = model("xeon-e7-8870v4", Governor::Powersave);
    let (start, mut up) = (300 * MS + phase, None);
    let end = start + 200 * MS;
    busy(&mut e7, CORE, start, end, |now, e7| {
        if e7.khz(CORE) == HIGHEST && up.is_none() {
            up = Some(now - start);
        }
    });
    (e7, end, up.expect("the loop reaches the highest frequency"))
}

/// The idle core wakes every `period` for 30 us. Returns time since `end` and frequency of each.
fn looks(e7: &mut Model, end: u64, period: u64) -> Vec<(u64, u32)> {
    let look = |at: u64| {
        e7.update_util(at, CORE, CORE, || 0);
        busy(e7, CORE, at, at + 30 * US, |_, _| {});
        (at - end, e7.khz(CORE))
    };
    (1..=250 * MS / period).map(|n| end + n * period).map(look).collect()
}

fn phases() -> impl Iterator<Item = u64> {
    (0..16).map(|n| n * TICK / 16)
}

#[test]
fn up_takes_two_samples() {
    let ups: Vec<u64> = phases().map(|phase| busy_loop(phase).2).collect();
    let (least, most) = (ups.iter().min().copied(), ups.iter().max().copied());
    // The tick that takes the first sample comes within 4 ms, the second one 12 ms later, and the
    // grant within 0.5 ms.
    assert!(least >= Some(12 * MS) && most <= Some(16 * MS + MS / 2), "{ups:?}");
    assert!(most > Some(15 * MS), "the phase of the tick matters: {ups:?}");
}

#[test]
fn the_core_keeps_its_frequency_while_it_sleeps() {
    let (mut e7, end, _) = busy_loop(0);
    // No tick, no sample: whoever comes next finds the core fast.
    let found = looks(&mut e7, end, 250 * MS);
    assert_eq!(found, [(250 * MS, HIGHEST)]);
}

/// Time of the first and the last step down over all phases, as (least, most), in ms.
fn steps_down(period_ms: u64) -> [(u64, u64); 2] {
    let range =
        |times: &[u64]| (times.iter().min().map_or(0, |t| t / MS), times.iter().max().map_or(0, |t| t / MS));
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for phase in phases() {
        let (mut e7, end, _) = busy_loop(phase);
        let seen = looks(&mut e7, end, period_ms * MS);
        let mut steps: Vec<u32> = seen.iter().map(|&(_, khz)| khz).collect();
        steps.dedup();
        assert!(steps.windows(2).all(|s| s[0] > s[1]), "{period_ms} ms: {steps:?}");
        assert!(steps.len() >= 4, "each step halves the distance: {steps:?}");
        first.extend(seen.iter().find(|s| s.1 < HIGHEST).map(|s| s.0));
        last.extend(seen.iter().find(|s| s.1 == LOWEST).map(|s| s.0));
    }
    [range(&first), range(&last)]
}

#[test]
fn down_is_a_staircase() {
    // The first step down, and the last one.
    assert_eq!(steps_down(1), [(4, 7), (45, 54)]);
    assert_eq!(steps_down(5), [(10, 15), (60, 70)]);
    assert_eq!(steps_down(10), [(20, 20), (100, 100)]);
    assert_eq!(steps_down(20), [(40, 40), (200, 200)]);
}

#[test]
fn short_tasks_on_idle_cores_stay_slow() {
    // The paper's figure 2: tasks of up to 20 ms, each on a core that was idle for long.
    let mut e7 = model("xeon-e7-8870v4", Governor::Powersave);
    for task in 0..10u64 {
        let start = 300 * MS + task * 400 * MS;
        busy(&mut e7, CORE, start, start + 11 * MS, |_, e7| assert_eq!(e7.khz(CORE), LOWEST));
    }
}

#[test]
fn other_cores_calls_are_ignored() {
    let mut e7 = model("xeon-e7-8870v4", Governor::Powersave);
    e7.set_active(300 * MS, CORE, true);
    for ms in 1..50 {
        e7.update_util((300 + ms) * MS, CORE, CORE + 1, || 1024);
    }
    e7.advance(400 * MS);
    assert_eq!(e7.khz(CORE), LOWEST);
}
