//! Work of known length in cycles: chains of dependent instructions.
//!
//! In a chain, a register addition takes one cycle on every processor in use. A multiplication takes a small, fixed
//! number of cycles and leaves the core's other units to the second hyperthread. A chain of multiplications therefore
//! measures the clock with little disturbance. Their number of cycles is calibrated against the additions.

use crate::settle::{median, quantile};
use std::time::Instant;

/// Instructions of one round of a chain's loop.
const UNROLLED: u32 = 16;
/// Pairs of chains per vote of the calibration, number of votes, and number of votes that must agree.
const PAIRS: usize = 201;
const VOTES: usize = 5;
const MAJORITY: usize = 3;
/// Rounds of a chain in the calibration: some microseconds.
const ROUNDS: u32 = 200;
/// Maximum deviation of the measured cycles from a whole number.
const TOLERANCE: f64 = 0.08;
/// Maximum plausible latency of a multiplication in cycles, on supported processors.
const MOST_CYCLES: f64 = 8.0;
/// Length of a chunk: short against a window, long against reading the clock.
const CHUNK_NS: f64 = 4_000.0;

/// Work of fixed length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chunk {
    rounds: u32,
    /// Cycles of one multiplication, if known.
    pub cycles: Option<u32>,
    /// Time of the chunk during calibration: the unit of speeds if the cycles are unknown.
    reference_ns: f64,
}

impl Chunk {
    /// Measures the latency of a multiplication on the current core.
    pub fn calibrate() -> Chunk {
        let vote = |_| -> Vec<(f64, f64)> {
            (0..PAIRS).map(|_| (time(additions, ROUNDS), time(multiplications, ROUNDS))).collect()
        };
        let votes: Vec<Vec<(f64, f64)>> = (0..VOTES).map(vote).collect();
        let cycles = elected(votes.iter().map(|pairs| whole_cycles(pairs)));
        let took: Vec<f64> = votes.iter().flatten().map(|(_, muls)| *muls).collect();
        let typical_ns = median(&took).unwrap_or(1.0).max(1.0);
        let rounds = (f64::from(ROUNDS) * CHUNK_NS / typical_ns).clamp(1.0, 1e6) as u32;
        let reference_ns = typical_ns * f64::from(rounds) / f64::from(ROUNDS);
        Chunk { rounds, cycles, reference_ns }
    }

    /// Executes the work.
    #[inline]
    pub fn run(&self) {
        multiplications(self.rounds);
    }

    /// The clock in kHz of a core that executes the work in `ns`; relative to the calibration if the cycles are
    /// unknown.
    pub fn speed(&self, ns: f64) -> f64 {
        match self.cycles {
            Some(cycles) => f64::from(self.rounds) * f64::from(UNROLLED) * f64::from(cycles) / ns * 1e6,
            None => self.reference_ns / ns,
        }
    }

    /// The chunk of a core at 1 GHz.
    #[cfg(test)]
    pub fn of_a_gigahertz() -> Chunk {
        Chunk { rounds: 125, cycles: Some(2), reference_ns: CHUNK_NS }
    }
}

/// Cycles of a multiplication, from pairs of times of additions and of multiplications. `None` if the ratio is not a
/// whole number, as under emulation.
fn whole_cycles(pairs: &[(f64, f64)]) -> Option<u32> {
    // Disturbances only slow a chain down, so the fastest times are undisturbed.
    let fast = |times: Vec<f64>| quantile(&times, 0.1);
    let additions = fast(pairs.iter().map(|(adds, _)| *adds).collect())?;
    let ratio = fast(pairs.iter().map(|(_, muls)| *muls).collect())? / additions;
    let whole = ratio.round();
    let sound = (ratio - whole).abs() <= TOLERANCE && (2.0..=MOST_CYCLES).contains(&whole);
    (sound && HAS_CHAINS).then_some(whole as u32)
}

/// The majority of the votes.
fn elected(votes: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    let votes: Vec<u32> = votes.flatten().collect();
    let count = |cycles: u32| votes.iter().filter(|&&vote| vote == cycles).count();
    votes.iter().copied().find(|&cycles| count(cycles) >= MAJORITY)
}

fn time(chain: fn(u32), rounds: u32) -> f64 {
    let begin = Instant::now();
    chain(rounds);
    begin.elapsed().as_nanos() as f64
}

/// Runs `rounds` (at least 1) iterations of a loop that takes as many cycles as its chain.
macro_rules! chain {
    ($name:ident, $x86:literal, $arm:literal) => {
        #[inline(never)]
        fn $name(rounds: u32) {
            let rounds = u64::from(rounds.max(1));
            #[cfg(target_arch = "x86_64")]
            // SAFETY: registers only.
            unsafe {
                std::arch::asm!(
                    "2:", $x86, $x86, $x86, $x86, $x86, $x86, $x86, $x86,
                    $x86, $x86, $x86, $x86, $x86, $x86, $x86, $x86,
                    "dec {n}", "jnz 2b",
                    n = inout(reg) rounds => _, x = inout(reg) 3u64 => _, y = in(reg) 5u64,
                    options(nomem, nostack)
                );
            }
            #[cfg(target_arch = "aarch64")]
            // SAFETY: registers only.
            unsafe {
                std::arch::asm!(
                    "2:", $arm, $arm, $arm, $arm, $arm, $arm, $arm, $arm,
                    $arm, $arm, $arm, $arm, $arm, $arm, $arm, $arm,
                    "subs {n}, {n}, #1", "b.ne 2b",
                    n = inout(reg) rounds => _, x = inout(reg) 3u64 => _, y = in(reg) 5u64,
                    options(nomem, nostack)
                );
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            {
                let mut x = 3u64;
                for _ in 0..rounds * u64::from(UNROLLED) {
                    x = std::hint::black_box(x.wrapping_mul(5));
                }
                std::hint::black_box(x);
            }
        }
    };
}

/// Whether the chains are written in assembly; compiled loops have no guaranteed length.
const HAS_CHAINS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

chain!(additions, "add {x}, {y}", "add {x}, {x}, {y}");
chain!(multiplications, "imul {x}, {y}", "mul {x}, {x}, {y}");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_whole_or_unknown() {
        assert_eq!(whole_cycles(&[(100.0, 300.0), (100.0, 302.0), (100.0, 900.0)]), HAS_CHAINS.then_some(3));
        assert_eq!(whole_cycles(&[(100.0, 250.0)]), None);
        assert_eq!(whole_cycles(&[(100.0, 100.0)]), None);
        assert_eq!(whole_cycles(&[(0.0, 0.0)]), None);
        assert_eq!(whole_cycles(&[]), None);
    }

    #[test]
    fn most_votes_win() {
        assert_eq!(elected([Some(3), None, Some(3), Some(4), Some(3)].into_iter()), Some(3));
        assert_eq!(elected([Some(3), None, Some(3), Some(4), Some(4)].into_iter()), None);
    }

    #[test]
    fn speed_is_cycles_over_time() {
        let chunk = Chunk::of_a_gigahertz();
        assert_eq!(chunk.speed(4_000.0), 1e6);
        assert_eq!(chunk.speed(2_000.0), 2e6);
        let relative = Chunk { cycles: None, ..chunk };
        assert_eq!(relative.speed(8_000.0), 0.5);
    }
}
