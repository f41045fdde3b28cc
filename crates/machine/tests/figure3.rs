//! Figure 3 of the ATC'20 paper: an isolated busy loop of 200 ms on the E7.

mod common;
use common::{MS, US, model, trace};
use hearth_machine::Governor;

const CORE: u16 = 12;
const START: u64 = 10 * MS;
const END: u64 = START + 200 * MS;

/// Runs the figure's busy loop to its end.
fn loop_run() -> (hearth_machine::Model, Vec<(u64, u32)>) {
    let mut e7 = model("xeon-e7-8870v4", Governor::Powersave);
    e7.set_active(START, CORE, true);
    let up = trace(&mut e7, CORE, END - 1);
    e7.set_active(END, CORE, false);
    (e7, up)
}

#[test]
fn takes_29_ms_up() {
    let (_, up) = loop_run();
    let &(reached, khz) = up.last().expect("it speeds up");
    assert_eq!(khz, 3_000_000);
    let took = reached - START;
    assert!((28 * MS..=30 * MS).contains(&took), "{took} ns");
    assert!(up.windows(2).all(|p| p[0].1 < p[1].1), "rises only");
    assert!(up.iter().all(|p| p.0 % (500 * US) == 0), "in windows");
    assert_eq!(up.len(), 18, "each 100 MHz step from 1.2 to 3.0 GHz");
}

#[test]
fn falls_in_10_ms() {
    let (mut e7, _) = loop_run();
    assert_eq!(e7.khz(CORE), 3_000_000);
    let down = trace(&mut e7, CORE, END + 200 * MS);
    let &(reached, khz) = down.last().expect("it slows down");
    assert_eq!(khz, 1_200_000);
    let took = reached - END;
    assert!((9 * MS..=11 * MS).contains(&took), "{took} ns");
    assert!(down.windows(2).all(|p| p[0].1 > p[1].1), "falls only");
}

#[test]
fn bounces_for_98_ms() {
    // A probe of 10 us. It runs once per loop so that it does not itself warm the core.
    let probe = |after: u64| {
        let (mut e7, _) = loop_run();
        e7.advance(END + after);
        let shown = e7.khz(CORE);
        e7.set_active(END + after, CORE, true);
        let bounced = e7.khz(CORE);
        (shown, bounced)
    };
    let (shown, bounced) = probe(12 * MS);
    assert_eq!(shown, 1_200_000, "looks slow");
    assert!(bounced >= 2_700_000, "and is fast at once: {bounced}");
    let heights: Vec<u32> = (1..=12).map(|n| probe(n * 8 * MS).1).collect();
    assert!(heights.windows(2).all(|h| h[0] >= h[1]), "{heights:?}");
    assert!(probe(90 * MS).1 > 1_200_000, "still bounces");
    assert_eq!(probe(98 * MS).1, 1_200_000, "settled");
}

#[test]
fn a_figure_like_probe_sees_several_bounces() {
    let (mut e7, _) = loop_run();
    // Background work of 20 us every 5 ms.
    let mut seen = Vec::new();
    for touch in 1..=24 {
        let at = END + touch * 5 * MS;
        e7.set_active(at, CORE, true);
        seen.push((at - END, e7.khz(CORE)));
        e7.set_active(at + 20 * US, CORE, false);
    }
    let last_bounce = seen.iter().rev().find(|s| s.1 > 1_200_000).expect("bounces").0;
    assert!((85 * MS..=105 * MS).contains(&last_bounce), "{last_bounce}");
}

#[test]
fn a_task_shorter_than_the_ramp_never_runs_fast() {
    let mut e7 = model("xeon-e7-8870v4", Governor::Powersave);
    e7.set_active(0, CORE, true);
    e7.advance(5 * MS);
    assert!(e7.khz(CORE) <= 1_600_000);
}
