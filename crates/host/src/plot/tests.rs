use super::*;
use crate::disturbance::Disturbance;
use crate::report::{Source, TimesMs};
use crate::rounds::{Round, Times};
use std::time::Duration;

/// Rounds of a core like the E7: up in 29 ms, down in 10 with two bounces, the last of which ends after
/// 98 ms. Some are quicker than others, and there is noise.
fn rounds() -> Vec<Round> {
    let mut state = 1u32;
    let mut noise = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24) - 0.5
    };
    let between = |from: f64, to: f64, part: f64| from + (to - from) * part.clamp(0.0, 1.0);
    (0..15)
        .map(|_| {
            let late = 4.0 * noise();
            let up = (0..2000).map(|i| {
                let clean = between(1.2e6, 3.0e6, (f64::from(i) / 10.0 - late) / 29.0);
                Some(clean * (1.0 + 0.01 * noise()))
            });
            let up = up.collect();
            let down = (1..=150).map(|ms| {
                let clean = match ms {
                    42..47 => 1.9e6,
                    90..98 => 1.6e6,
                    _ => between(3.0e6, 1.2e6, (f64::from(ms) + 0.3 * late) / 10.0),
                };
                Some(clean * (1.0 + 0.01 * noise()))
            });
            Round { up, down: down.collect(), lost: Duration::ZERO, switches: 0 }
        })
        .collect()
}

fn report() -> Report {
    let ms = Duration::from_millis;
    let times = Times {
        quiet: ms(100),
        busy: ms(200),
        idle: ms(150),
        window: Duration::from_micros(100),
        gap: ms(1),
        probe: Duration::from_micros(50),
    };
    let source = Source {
        kind: "rate",
        unit: Unit::Khz,
        cycles: Some(3),
        virtual_machine: false,
        why_not: Vec::new(),
    };
    let rounds = rounds();
    Report {
        schema: "hearth.ftl/1",
        core: 3,
        model: "Made-up rounds".into(),
        source,
        real_time: true,
        governor: None,
        times: TimesMs::from(&times),
        up: Phase::up(&rounds, &times),
        down: Phase::down(&rounds, &times),
        disturbance: Disturbance::default(),
        warnings: Vec::new(),
    }
}

/// The book's picture equals the plot.
#[test]
fn the_books_picture() {
    hearth_tests::golden("docs/src/img/ftl.svg", &svg(&report()));
}

#[test]
fn nothing_known_is_drawn_as_nothing() {
    let mut report = report();
    for phase in [&mut report.up, &mut report.down] {
        phase.curve.iter_mut().for_each(|point| point.speed = None);
        phase.settled_ms = None;
    }
    assert!(svg(&report).contains("GHz"));
    report.up.curve.clear();
    report.source.unit = Unit::Relative;
    assert!(svg(&report).contains("relative speed"));
}
