//! When the kernel updates the load of idle cores. On the E7 cores 0, 4 and 8 share a cache, core 1 has another one.

use crate::common::{MS, TICK, model};
use hearth_machine::{Governor, Model};

fn e7() -> Model {
    model("xeon-e7-8870v4", Governor::Schedutil)
}

/// Update times of core 8, which stays idle, seen after each tick of the busy cores.
fn seen(busy: &[u16]) -> Vec<u64> {
    let mut e7 = e7();
    busy.iter().for_each(|&core| e7.set_active(0, core, true));
    let mut seen = Vec::new();
    for now in (1..=20).map(|n| n * TICK) {
        busy.iter().for_each(|&core| {
            e7.tick(now, core);
        });
        seen.push(e7.load_updated(now, 8) / MS);
    }
    seen.dedup();
    seen
}

#[test]
fn one_busy_core_updates_the_idle_ones_every_36_ms() {
    assert_eq!(seen(&[0]), [0, 36, 72]);
    assert_eq!(seen(&[0, 1]), [0, 36, 72], "each is alone in its cache");
}

#[test]
fn two_busy_cores_of_a_cache_update_them_at_every_tick() {
    assert_eq!(seen(&[0, 4]), (1..=20).map(|n| 4 * n).collect::<Vec<_>>());
}

#[test]
fn a_core_that_goes_idle_updates_the_others_after_32_ms() {
    let mut e7 = e7();
    for (from, to, updated) in [(0, 31, 0), (32, 33, 33), (60, 64, 33), (64, 65, 65)] {
        e7.set_active(from * MS, 0, true);
        e7.set_active(to * MS, 0, false);
        assert_eq!(e7.load_updated(to * MS, 8), updated * MS, "busy until {to} ms");
        assert_eq!(e7.load_updated(to * MS, 0), 0, "not itself");
    }
}

#[test]
fn a_core_whose_tick_goes_on_updates_itself() {
    let mut e7 = e7();
    for n in 0..8 {
        e7.set_active(n * MS, 0, true);
        e7.set_active(n * MS + MS / 2, 0, false);
    }
    assert_eq!(e7.load_updated(8 * MS - 1, 0), 0, "the first idle times stop the tick");
    assert_eq!(e7.load_updated(8 * MS, 0), 8 * MS);
    assert_eq!(e7.load_updated(11 * MS, 0), 8 * MS);
    assert_eq!(e7.load_updated(12 * MS, 0), 12 * MS);
}
