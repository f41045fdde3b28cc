//! Computes the speed in each window from the timed chunks.

use crate::counters::Reading;
use crate::work::Chunk;

/// A chunk of work: its end, relative to the start of the phase, and its duration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timed {
    pub end_ns: u64,
    pub took_ns: u32,
}

/// A reading of the counters and its time, relative to the start of the phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    pub at_ns: u64,
    pub reading: Reading,
}

/// Minimum number of chunks in a window for a valid speed.
const FEWEST_CHUNKS: usize = 3;
/// Maximum share of a window's time lost to other work, for a valid speed.
const LEAST_SHARE: f64 = 0.25;

/// The speed in each window, computed from its median chunk. Interrupts and other threads do not affect the median
/// unless they take half of the window.
pub fn from_chunks(timed: &[Timed], chunk: &Chunk, window_ns: u64, windows: usize) -> Vec<Option<f64>> {
    let mut took: Vec<Vec<u32>> = vec![Vec::new(); windows];
    for timed in timed {
        // A chunk belongs to the window that contains its midpoint.
        let middle = timed.end_ns.saturating_sub(u64::from(timed.took_ns) / 2);
        if let Some(window) = took.get_mut((middle / window_ns.max(1)) as usize) {
            window.push(timed.took_ns);
        }
    }
    took.into_iter().map(|window| typical(window, window_ns).map(|ns| chunk.speed(ns))).collect()
}

/// Duration of the window's median chunk in nanoseconds; `None` if the window has too few or too disturbed chunks.
fn typical(mut took: Vec<u32>, window_ns: u64) -> Option<f64> {
    if took.len() < FEWEST_CHUNKS {
        return None;
    }
    took.sort_unstable();
    let median = f64::from(took[took.len() / 2]);
    let undisturbed = took.iter().filter(|&&ns| f64::from(ns) < 1.5 * median).count() as f64 * median;
    (median > 0.0 && undisturbed >= LEAST_SHARE * window_ns as f64).then_some(median)
}

/// The speed in each window, computed from counters read near the end of each window. A late reading leaves the
/// windows that it skips unknown.
pub fn from_counters(
    counted: &[Counted],
    mperf_khz: f64,
    window_ns: u64,
    windows: usize,
) -> Vec<Option<f64>> {
    let window_ns = window_ns.max(1);
    let mut speeds = vec![None; windows];
    for pair in counted.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let span = after.at_ns.saturating_sub(before.at_ns);
        let middle = before.at_ns + span / 2;
        if span < 2 * window_ns
            && let Some(speed) = speeds.get_mut((middle / window_ns) as usize)
        {
            *speed = after.reading.ratio_since(&before.reading).map(|ratio| ratio * mperf_khz);
        }
    }
    speeds
}

/// Excess time of the chunks over their undisturbed duration.
pub fn lost_ns(timed: &[Timed]) -> u64 {
    // A change of the clock is not a loss, so each chunk is compared with its neighbours.
    timed
        .chunks(25)
        .map(|near| {
            let mut took: Vec<u32> = near.iter().map(|timed| timed.took_ns).collect();
            took.sort_unstable();
            let median = took[took.len() / 2];
            took.iter().filter(|&&ns| ns / 2 > median).map(|ns| u64::from(ns - median)).sum::<u64>()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u64 = 100_000;

    /// Chunks of a core that runs at `mhz(time)`, with breaks of the given length at the given times.
    fn run(until_ns: u64, mhz: impl Fn(u64) -> f64, breaks: &[(u64, u64)]) -> Vec<Timed> {
        let (mut now, mut timed, mut breaks) = (0, Vec::new(), breaks.iter().peekable());
        while now < until_ns {
            let mut took = (4_000.0 * 1000.0 / mhz(now)) as u64;
            if let Some((_, length)) = breaks.next_if(|(at, _)| *at < now + took) {
                took += length;
            }
            now += took;
            timed.push(Timed { end_ns: now, took_ns: took as u32 });
        }
        timed
    }

    #[test]
    fn a_window_has_the_speed_of_its_median_chunk() {
        let timed = run(300_000, |now| if now < 100_000 { 1000.0 } else { 2000.0 }, &[]);
        let speeds = from_chunks(&timed, &Chunk::of_a_gigahertz(), WINDOW, 3);
        assert_eq!(speeds, [Some(1e6), Some(2e6), Some(2e6)]);
    }

    #[test]
    fn interrupts_do_not_make_a_core_slow() {
        let breaks = [(10_000, 9_000), (50_000, 20_000), (130_000, 30_000)];
        let timed = run(300_000, |_| 1000.0, &breaks);
        let speeds = from_chunks(&timed, &Chunk::of_a_gigahertz(), WINDOW, 3);
        assert_eq!(speeds, [Some(1e6); 3]);
        assert_eq!(lost_ns(&timed), 59_000);
    }

    #[test]
    fn a_window_that_was_stolen_is_not_known() {
        let timed = run(400_000, |_| 1000.0, &[(110_000, 180_000)]);
        let speeds = from_chunks(&timed, &Chunk::of_a_gigahertz(), WINDOW, 5);
        assert_eq!(speeds[0], Some(1e6));
        assert_eq!(&speeds[1..3], [None, None]);
        assert_eq!(&speeds[3..], [Some(1e6), None]);
    }

    #[test]
    fn counters_count_from_window_to_window() {
        let at = |us: u64, aperf, mperf| Counted { at_ns: us * 1000, reading: Reading { aperf, mperf } };
        // The third reading comes two windows late.
        let counted = [at(0, 0, 0), at(101, 100, 200), at(401, 1000, 800), at(500, 1400, 1000)];
        let speeds = from_counters(&counted, 2e6, WINDOW, 6);
        assert_eq!(speeds, [Some(1e6), None, None, None, Some(4e6), None]);
    }

    #[test]
    fn nothing_is_no_speed() {
        assert_eq!(from_chunks(&[], &Chunk::of_a_gigahertz(), WINDOW, 2), [None, None]);
        assert_eq!(from_counters(&[], 1e6, WINDOW, 1), [None]);
        assert_eq!(lost_ns(&[]), 0);
    }
}
