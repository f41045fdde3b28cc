//! Measures turbo frequencies: the speed of n busy cores, for n = 1, 2, …

use crate::error::Error;
use crate::ftl::WINDOW;
use crate::os;
use crate::rounds::Meter;
use crate::settle::median;
use crate::work::Chunk;
use std::sync::Barrier;
use std::time::Duration;

/// Time for which the cores work before and during the measurement.
const SETTLE: Duration = Duration::from_millis(150);
const LOOK: Duration = Duration::from_millis(100);
const TRIES: usize = 4;
/// Maximum number of core counts that are measured on one socket.
const MOST_STEPS: usize = 24;

/// The speed of a number of busy cores, in kHz or relative to the speed of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Together {
    pub cores: u16,
    pub khz: f64,
}

/// Measures the median speed of the first `n` of `cores` while these `n` are busy, for growing `n`. `None` if the
/// processor's cycles cannot be counted or other work disturbed the cores too much. The cores should belong to one
/// socket and to different physical cores.
pub fn measure(cores: &[u32], mut progress: impl FnMut()) -> Result<Option<Vec<Together>>, Error> {
    let mut measured = Vec::new();
    for n in steps(cores.len()) {
        let Some(khz) = patiently(&cores[..n])? else { return Ok(None) };
        measured.push(Together { cores: n as u16, khz });
        progress();
    }
    Ok(Some(measured))
}

/// The core counts to measure: all, or a selection that prefers small ones.
pub fn steps(cores: usize) -> Vec<usize> {
    if cores <= MOST_STEPS {
        return (1..=cores).collect();
    }
    let dense = MOST_STEPS / 2;
    let rest = MOST_STEPS - dense;
    let spread = (1..=rest).map(|i| dense + (cores - dense) * i / rest);
    (1..=dense).chain(spread).collect()
}

/// Number of attempts: on a busy machine the first one may fail.
fn patiently(cores: &[u32]) -> Result<Option<f64>, Error> {
    for _ in 0..TRIES {
        if let Some(khz) = together(cores)? {
            return Ok(Some(khz));
        }
    }
    Ok(None)
}

fn together(cores: &[u32]) -> Result<Option<f64>, Error> {
    let start = &Barrier::new(cores.len());
    let speeds = std::thread::scope(|scope| {
        let threads: Vec<_> = cores.iter().map(|&core| scope.spawn(move || one(core, start))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(Error::Thread)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let known: Option<Vec<f64>> = speeds.into_iter().collect();
    Ok(known.and_then(|known| median(&known)))
}

/// Measures the speed of one core.
fn one(core: u32, start: &Barrier) -> Result<Option<f64>, Error> {
    let pinned = os::pin(core).map_err(|source| Error::Pin { core, source });
    // If refused, windows in which something else ran stay unknown.
    os::real_time();
    // A thread that cannot take part must still arrive at the barrier: the others wait for it.
    start.wait();
    pinned?;
    let chunk = Chunk::calibrate();
    let mut meter = Meter::new(chunk, None, SETTLE + LOOK, WINDOW);
    let speeds = meter.busy(SETTLE + LOOK, WINDOW);
    let settled = (SETTLE.as_nanos() / WINDOW.as_nanos()) as usize;
    let known: Vec<f64> = speeds.iter().skip(settled).flatten().copied().collect();
    Ok(median(&known).filter(|_| chunk.cycles.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cores_of_a_small_socket_and_some_of_a_large_one() {
        assert_eq!(steps(3), [1, 2, 3]);
        assert_eq!(steps(0), [] as [usize; 0]);
        for cores in [25, 64, 1000] {
            let steps = steps(cores);
            assert!(steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
            assert_eq!((steps.len(), steps.last()), (MOST_STEPS, Some(&cores)));
        }
    }
}
