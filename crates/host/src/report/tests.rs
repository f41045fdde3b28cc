use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn times() -> Times {
    Times {
        quiet: Duration::from_millis(100),
        busy: Duration::from_millis(200),
        idle: Duration::from_millis(150),
        window: Duration::from_micros(100),
        gap: Duration::from_millis(1),
        probe: Duration::from_micros(50),
    }
}

/// A core that rises from 1.2 to 3.0 GHz in so many ms, and falls back in so many, with a bounce to
/// 2 GHz that ends at 98 ms.
fn round(up_ms: f64, down_ms: f64, bounce: bool) -> Round {
    let between = |from: f64, to: f64, part: f64| from + (to - from) * part.min(1.0);
    let up = (0..2000).map(|i| Some(between(1.2e6, 3.0e6, f64::from(i) / 10.0 / up_ms)));
    let down = (1..=150).map(|ms| match ms {
        90..98 if bounce => Some(2e6),
        _ => Some(between(3.0e6, 1.2e6, f64::from(ms) / down_ms)),
    });
    Round { up: up.collect(), down: down.collect(), lost: Duration::ZERO, switches: 0 }
}

fn flat() -> Round {
    Round { up: vec![Some(3e6); 2000], down: vec![Some(3e6); 150], lost: Duration::ZERO, switches: 0 }
}

#[test]
fn the_papers_machine() {
    let rounds = vec![round(29.0, 10.0, true); 10];
    let (up, down) = (Phase::up(&rounds, &times()), Phase::down(&rounds, &times()));
    assert_eq!((up.verdict, up.direction), (Verdict::Seen, Some(Direction::Rises)));
    // The band of 2 % of 3 GHz is met 1 ms before the end of the ramp.
    assert!((up.settled_ms.unwrap().median - 28.1).abs() < 0.05, "{:?}", up.settled_ms);
    assert_eq!((down.verdict, down.direction), (Verdict::Seen, Some(Direction::Falls)));
    assert_eq!((down.reached_ms.unwrap().median, down.settled_ms.unwrap().median), (10.0, 98.0));
    assert_eq!((down.from, down.to), (Some(3e6), Some(1.2e6)));
    assert_eq!((up.curve.len(), down.curve.len(), down.curve[0].at_ms), (2000, 150, 1.0));
}

#[test]
fn no_transition_is_invented() {
    let rounds = vec![flat(); 10];
    for phase in [Phase::up(&rounds, &times()), Phase::down(&rounds, &times())] {
        assert_eq!((phase.verdict, phase.direction, phase.moved), (Verdict::NotSeen, None, 0));
        assert_eq!((phase.reached_ms, phase.settled_ms), (None, None));
        assert_eq!(phase.to, Some(3e6));
    }
}

#[test]
fn a_few_rounds_that_move_are_no_transition_and_half_of_them_are_unclear() {
    let mut rounds = vec![flat(); 8];
    rounds.extend(vec![round(29.0, 10.0, false); 2]);
    assert_eq!(Phase::up(&rounds, &times()).verdict, Verdict::NotSeen);
    rounds.extend(vec![round(29.0, 10.0, false); 6]);
    let unclear = Phase::up(&rounds, &times());
    assert_eq!((unclear.verdict, unclear.moved, unclear.settled_ms), (Verdict::Unclear, 8, None));
}

#[test]
fn a_loop_that_is_too_short_says_so() {
    let rounds = vec![round(199.0, 10.0, false); 5];
    let up = Phase::up(&rounds, &times());
    assert_eq!((up.verdict, up.settled_ms), (Verdict::Unsettled, None));
}

#[test]
fn nothing_known_is_too_little() {
    let gone = Round { up: vec![None; 2000], down: vec![None; 150], lost: Duration::ZERO, switches: 0 };
    for rounds in [vec![], vec![gone; 4]] {
        let phase = Phase::up(&rounds, &times());
        assert_eq!((phase.verdict, phase.from), (Verdict::TooLittle, None));
        assert!(phase.curve.iter().all(|point| point.speed.is_none()));
    }
}

/// The median over the rounds does not care for a few that were disturbed.
#[test]
fn disturbed_rounds_do_not_count() {
    let mut rounds = vec![round(20.0, 5.0, false); 17];
    for disturbed in &mut rounds[..3] {
        disturbed.up[700..720].fill(Some(0.9e6));
    }
    let settled = Phase::up(&rounds, &times()).settled_ms.unwrap();
    assert!((settled.median - 19.4).abs() < 0.05 && settled.q90 > 70.0, "{settled:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn noisy_rounds_give_the_clean_answer(
        up_ms in 2.0..60.0f64,
        down_ms in 3.0..40.0f64,
        noise in proptest::collection::vec(-0.005..0.005f64, 4000),
        missing in proptest::collection::vec(0u8..12, 4000),
    ) {
        let rounds: Vec<Round> = (0..9)
            .map(|r| {
                let mut round = round(up_ms, down_ms, false);
                for (i, value) in round.up.iter_mut().chain(&mut round.down).enumerate() {
                    let dice = (i * 7 + r * 911) % 4000;
                    *value = (missing[dice] > 0).then(|| value.unwrap() * (1.0 + noise[dice]));
                }
                round
            })
            .collect();
        let (up, down) = (Phase::up(&rounds, &times()), Phase::down(&rounds, &times()));
        // In the band of 2 % (60 MHz of 1800 up, 24 MHz down), give or take the noise of 0.5 %.
        let (fast, slow) = (up_ms * (1.0 - 90.0 / 1800.0), up_ms * (1.0 - 40.0 / 1800.0));
        let found = up.settled_ms.unwrap().median;
        prop_assert!((fast - 0.3..slow + 0.7).contains(&found), "{found} for {up_ms}");
        let found = down.settled_ms.unwrap().median;
        // Samples that are missing in a row make it later.
        prop_assert!((0.95 * down_ms - 1.0..down_ms + 3.1).contains(&found), "{found} for {down_ms}");
    }
}
