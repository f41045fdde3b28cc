//! Evaluation of all rounds of a measurement.

use crate::disturbance::Disturbance;
use crate::rounds::{Round, Times};
use crate::settle::{Settling, median, quantile, settling};
use serde::Serialize;

/// Values that are smoothed into one, in the busy loop and while idle.
const SPAN_UP: usize = 5;
const SPAN_DOWN: usize = 3;
/// Minimum number of usable rounds for a verdict.
const FEWEST_ROUNDS: usize = 3;
/// Share of the rounds that must move in the same direction.
const AGREEING: f64 = 0.75;

/// The result of a measurement: the document of `hearth ftl --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub schema: &'static str,
    /// The kernel's number.
    pub core: u32,
    pub model: String,
    pub source: Source,
    /// Whether the loop ran as SCHED_FIFO.
    pub real_time: bool,
    /// The cpufreq governor; `None` without cpufreq.
    pub governor: Option<String>,
    pub times: TimesMs,
    /// Idle to busy.
    pub up: Phase,
    /// Busy to idle.
    pub down: Phase,
    pub disturbance: Disturbance,
    pub warnings: Vec<String>,
}

/// Source of the speeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    /// `msr`, `perf`, or `rate`: of a calibrated loop.
    pub kind: &'static str,
    pub unit: Unit,
    /// Cycles of one instruction of the loop, if speeds are computed from it.
    pub cycles: Option<u32>,
    /// Whether this runs under a hypervisor.
    pub virtual_machine: bool,
    /// Why no better source could be used.
    pub why_not: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// The core's clock.
    Khz,
    /// 1 is the speed at which the loop ran when it was calibrated.
    Relative,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimesMs {
    pub quiet: f64,
    pub busy: f64,
    pub idle: f64,
    pub window: f64,
    pub gap: f64,
    pub probe: f64,
}

impl From<&Times> for TimesMs {
    fn from(times: &Times) -> TimesMs {
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        TimesMs {
            quiet: ms(times.quiet),
            busy: ms(times.busy),
            idle: ms(times.idle),
            window: ms(times.window),
            gap: ms(times.gap),
            probe: ms(times.probe),
        }
    }
}

/// Result of one direction, up or down.
#[derive(Debug, Clone, Serialize)]
pub struct Phase {
    pub verdict: Verdict,
    pub direction: Option<Direction>,
    /// Medians over the rounds.
    pub from: Option<f64>,
    pub to: Option<f64>,
    /// Half of the band around `to`.
    pub band: Option<f64>,
    /// Time until the speed was in the band for the first time; only if a transition was seen.
    pub reached_ms: Option<Quantiles>,
    /// Time until it stayed there; only if a transition was seen.
    pub settled_ms: Option<Quantiles>,
    /// Resolution of both times.
    pub resolution_ms: f64,
    pub rounds: usize,
    /// Number of rounds with enough known values.
    pub usable: usize,
    /// Number of rounds that moved in `direction`, or in either direction if there is none.
    pub moved: usize,
    /// Over the rounds.
    pub curve: Vec<Point>,
    /// Each round's speeds, at the times of `curve`.
    pub speeds: Vec<Vec<Option<f64>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A transition that settled.
    Seen,
    /// The speed at the start equals that at the end.
    NotSeen,
    /// A transition that had not settled at the end of the measurement.
    Unsettled,
    /// The rounds disagree about a transition or its direction.
    Unclear,
    /// Too few values are known.
    TooLittle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Rises,
    Falls,
}

/// Over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    pub q10: f64,
    pub median: f64,
    pub q90: f64,
}

impl Quantiles {
    pub fn of(values: &[f64]) -> Option<Quantiles> {
        Some(Quantiles { q10: quantile(values, 0.1)?, median: median(values)?, q90: quantile(values, 0.9)? })
    }
}

/// One point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Since the start or the end of the busy loop.
    pub at_ms: f64,
    /// `None` if fewer than half of the rounds have a known value.
    pub speed: Option<Quantiles>,
}

impl Phase {
    /// The busy loop; each round starts at the speed of its own first windows.
    pub fn up(rounds: &[Round], times: &Times) -> Phase {
        let found = rounds.iter().map(|round| settling(&round.up, None, SPAN_UP)).collect();
        let speeds = rounds.iter().map(|round| round.up.clone()).collect();
        Phase::new(found, speeds, 0.0, times.window.as_secs_f64() * 1e3)
    }

    /// The idle time after the loop; each round starts at the final speed of its busy loop.
    pub fn down(rounds: &[Round], times: &Times) -> Phase {
        let found = rounds.iter().map(|round| {
            let busy = settling(&round.up, None, SPAN_UP)?;
            settling(&round.down, Some(busy.to), SPAN_DOWN)
        });
        let speeds = rounds.iter().map(|round| round.down.clone()).collect();
        let gap = times.gap.as_secs_f64() * 1e3;
        Phase::new(found.collect(), speeds, gap, gap)
    }

    /// Value `i` of a round belongs to the time `first_ms + i * step_ms`.
    fn new(
        found: Vec<Option<Settling>>,
        speeds: Vec<Vec<Option<f64>>>,
        first_ms: f64,
        step_ms: f64,
    ) -> Phase {
        let usable: Vec<Settling> = found.iter().flatten().copied().collect();
        let part =
            |number: fn(&Settling) -> f64, of: &[Settling]| of.iter().map(number).collect::<Vec<f64>>();
        let (verdict, direction, movers) = verdict(&usable, found.len());
        let time = |index: usize| first_ms + index as f64 * step_ms;
        let seen = verdict == Verdict::Seen;
        let times = |index: fn(&Settling) -> usize| {
            let times: Vec<f64> = movers.iter().map(|settling| time(index(settling))).collect();
            Quantiles::of(&times).filter(|_| seen)
        };
        Phase {
            from: median(&part(|s| s.from, &usable)),
            to: median(&part(|s| s.to, &usable)),
            band: median(&part(|s| s.band, &usable)),
            reached_ms: times(|s| s.reached),
            settled_ms: times(|s| s.settled),
            resolution_ms: step_ms,
            rounds: found.len(),
            usable: usable.len(),
            moved: movers.len(),
            curve: curve(&speeds, time),
            speeds,
            verdict,
            direction,
        }
    }
}

/// The verdict of the usable rounds, its direction, and the rounds that moved in that direction.
fn verdict(usable: &[Settling], rounds: usize) -> (Verdict, Option<Direction>, Vec<Settling>) {
    let movers = |keep: fn(&Settling) -> bool| -> Vec<Settling> {
        usable.iter().filter(|s| s.moved() && keep(s)).copied().collect()
    };
    let all = movers(|_| true);
    if usable.len() < FEWEST_ROUNDS.min(rounds).max(1) || 2 * usable.len() < rounds {
        return (Verdict::TooLittle, None, all);
    }
    let enough = |moved: &[Settling]| moved.len() as f64 >= AGREEING * usable.len() as f64;
    for (direction, moved) in
        [(Direction::Rises, movers(|s| s.to > s.from)), (Direction::Falls, movers(|s| s.to < s.from))]
    {
        if enough(&moved) {
            let in_time = moved.iter().filter(|s| s.in_time).count();
            let verdict = if 2 * in_time > moved.len() { Verdict::Seen } else { Verdict::Unsettled };
            return (verdict, Some(direction), moved);
        }
    }
    let few = all.len() as f64 <= (1.0 - AGREEING) * usable.len() as f64;
    (if few { Verdict::NotSeen } else { Verdict::Unclear }, None, all)
}

fn curve(speeds: &[Vec<Option<f64>>], time: impl Fn(usize) -> f64) -> Vec<Point> {
    let length = speeds.iter().map(Vec::len).max().unwrap_or(0);
    let point = |i: usize| {
        let known: Vec<f64> = speeds.iter().filter_map(|round| *round.get(i)?).collect();
        let speed = Quantiles::of(&known).filter(|_| 2 * known.len() >= speeds.len());
        Point { at_ms: time(i), speed }
    };
    (0..length).map(point).collect()
}

#[cfg(test)]
mod tests;
