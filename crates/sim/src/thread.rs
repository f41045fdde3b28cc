//! The progress of a workload's thread: its position in its steps, and the rest of its current step.

use crate::runtime::Effect;
use hearth_trace::Waker;
use hearth_workload::Op;

/// Who forks or wakes a thread.
#[derive(Clone, Copy)]
pub struct Cause {
    pub waker: Waker,
    /// The waker says that it is about to sleep.
    pub sync: bool,
}

impl From<Waker> for Cause {
    fn from(waker: Waker) -> Cause {
        Cause { waker, sync: false }
    }
}

/// A position in nested steps.
struct Frame<'w> {
    ops: &'w [Op],
    at: usize,
    /// Rounds after this one.
    rounds_left: u32,
}

/// An iterator over the steps of a thread that unrolls repeats lazily.
pub struct Cursor<'w> {
    frames: Vec<Frame<'w>>,
}

impl<'w> Cursor<'w> {
    pub fn new(ops: &'w [Op]) -> Self {
        Cursor { frames: vec![Frame { ops, at: 0, rounds_left: 0 }] }
    }

    /// Whether the last step has been taken.
    pub fn at_end(&self) -> bool {
        self.frames.iter().all(|frame| frame.rounds_left == 0 && frame.at == frame.ops.len())
    }
}

impl<'w> Iterator for Cursor<'w> {
    type Item = &'w Op;

    /// The next step that is not a repeat.
    fn next(&mut self) -> Option<&'w Op> {
        loop {
            let frame = self.frames.last_mut()?;
            match frame.ops.get(frame.at) {
                Some(Op::Repeat(times, ops)) => {
                    frame.at += 1;
                    if *times > 0 && !ops.is_empty() {
                        self.frames.push(Frame { ops, at: 0, rounds_left: times - 1 });
                    }
                }
                Some(op) => {
                    frame.at += 1;
                    return Some(op);
                }
                None if frame.rounds_left > 0 => {
                    frame.rounds_left -= 1;
                    frame.at = 0;
                }
                None => {
                    self.frames.pop();
                }
            }
        }
    }
}

/// The simulator's state of a thread that the policy cannot see.
pub struct Task<'w> {
    pub cursor: Cursor<'w>,
    /// Work left of the current `Run`, in millionths of a cycle (kHz x ns).
    pub left: u64,
    /// Work before it can block, in the same unit: it has woken another thread.
    pub owed: u64,
    /// Work of the next `Run` that is done already: it was owed.
    pub ahead: u64,
    /// The step that waits until what is owed is done.
    pub deferred: Option<&'w Op>,
    /// Work of the last `Run` that remains after the exit.
    pub after_exit: u64,
    /// It spins at a barrier or for a semaphore. `left` is then the spin that remains, which is not work of the workload.
    pub spins: bool,
    /// Number of `Run` steps begun: the noise depends on it.
    pub runs: u64,
    /// The core on which it last ran.
    pub last_core: Option<u32>,
    /// Generation of the policy's timer. Timers of older generations are cancelled.
    pub timer: u32,
    /// Threads that wait for its exit in a `Join`.
    pub joiners: Vec<u32>,
    pub exited: bool,
    /// When it began.
    pub began: u64,
    /// Effects at the end of its placement that is under way, and who forks or wakes it.
    pub placement: Vec<Effect>,
    pub cause: Cause,
}

impl<'w> Task<'w> {
    pub fn new(ops: &'w [Op]) -> Self {
        Task {
            cursor: Cursor::new(ops),
            left: 0,
            owed: 0,
            ahead: 0,
            deferred: None,
            after_exit: 0,
            spins: false,
            runs: 0,
            last_core: None,
            timer: 0,
            joiners: Vec::new(),
            exited: false,
            began: 0,
            placement: Vec::new(),
            cause: Waker::Interrupt.into(),
        }
    }
}

/// Calls `visit` with the child of each `Fork`, also of those in repeats.
pub fn for_each_child(ops: &[Op], visit: &mut dyn FnMut(u32)) {
    for op in ops {
        match op {
            Op::Fork(child) => visit(*child),
            Op::Repeat(_, ops) => for_each_child(ops, visit),
            _ => {}
        }
    }
}

/// A factor in `1 - noise .. 1 + noise` for one `Run`, in millionths. It depends on the seed, the thread and the
/// step only, so the work is the same under every policy and on every machine.
pub fn noise_millionths(seed: u64, thread: u32, run: u64, noise: f64) -> u64 {
    if noise == 0.0 {
        return 1_000_000;
    }
    let mut x = seed ^ (u64::from(thread) << 40) ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The finaliser of splitmix64: every input bit affects every output bit.
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    let unit = (x >> 11) as f64 / (1u64 << 53) as f64;
    (1e6 * (1.0 + noise * (2.0 * unit - 1.0))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_unroll() {
        let ops = [
            Op::Run(1),
            Op::repeat(2, vec![Op::Run(2), Op::repeat(2, vec![Op::Yield])]),
            Op::repeat(0, vec![Op::Run(9)]),
            Op::repeat(1_000_000, vec![]),
            Op::Run(3),
        ];
        let steps: Vec<_> = Cursor::new(&ops).cloned().collect();
        use Op::*;
        assert_eq!(steps, [Run(1), Run(2), Yield, Yield, Run(2), Yield, Yield, Run(3)]);
    }

    #[test]
    fn the_end_is_after_the_last_round() {
        let ops = [Op::Run(1), Op::repeat(2, vec![Op::Yield])];
        let mut cursor = Cursor::new(&ops);
        let ends: Vec<_> = std::iter::from_fn(|| cursor.next().map(|_| cursor.at_end())).collect();
        assert_eq!(ends, [false, false, true]);
    }

    #[test]
    fn noise_is_bounded_centred_and_repeatable() {
        let all: Vec<_> = (0..10_000).map(|i| noise_millionths(7, 3, i, 0.02)).collect();
        assert!(all.iter().all(|f| (980_000..=1_020_000).contains(f)));
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        assert!((mean - 1e6).abs() < 500.0, "{mean}");
        assert_eq!(all[17], noise_millionths(7, 3, 17, 0.02));
        assert_ne!(all[17], noise_millionths(8, 3, 17, 0.02));
    }
}
