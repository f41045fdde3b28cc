//! A thread of the workload as it executes: where it is in its steps, and what is left to do.

use hearth_workload::Op;

/// A position in nested steps.
struct Frame<'w> {
    ops: &'w [Op],
    at: usize,
    /// Rounds still to do after this one.
    again: u32,
}

/// The steps of a thread, one by one, with repeats unrolled as they come.
pub struct Cursor<'w> {
    frames: Vec<Frame<'w>>,
}

impl<'w> Cursor<'w> {
    pub fn new(ops: &'w [Op]) -> Self {
        Cursor { frames: vec![Frame { ops, at: 0, again: 0 }] }
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
                        self.frames.push(Frame { ops, at: 0, again: times - 1 });
                    }
                }
                Some(op) => {
                    frame.at += 1;
                    return Some(op);
                }
                None if frame.again > 0 => {
                    frame.again -= 1;
                    frame.at = 0;
                }
                None => {
                    self.frames.pop();
                }
            }
        }
    }
}

/// What the simulator knows of a thread, beside what the policy may see.
pub struct Task<'w> {
    pub cursor: Cursor<'w>,
    /// Work left of the present `Run`, in millionths of a cycle (kHz x ns).
    pub left: u64,
    /// The barrier at which it spins: `left` is then how much longer, and no work of the workload's.
    pub spins_at: Option<u32>,
    /// `Run` steps begun, for the noise.
    pub runs: u64,
    /// Where it last executed, if it did.
    pub last_core: Option<u32>,
    /// Generation of the policy's timer: an armed timer of an older one is void.
    pub timer: u32,
    /// Threads that wait for its exit.
    pub joiners: Vec<u32>,
    pub exited: bool,
}

impl<'w> Task<'w> {
    pub fn new(ops: &'w [Op]) -> Self {
        Task {
            cursor: Cursor::new(ops),
            left: 0,
            spins_at: None,
            runs: 0,
            last_core: None,
            timer: 0,
            joiners: Vec::new(),
            exited: false,
        }
    }
}

/// A factor in `1 - noise .. 1 + noise` for one `Run`, in millionths, that depends on nothing but
/// the seed, the thread and the step: the same work under every policy and machine.
pub fn noise_millionths(seed: u64, thread: u32, run: u64, noise: f64) -> u64 {
    if noise == 0.0 {
        return 1_000_000;
    }
    let mut x = seed ^ (u64::from(thread) << 40) ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // splitmix64's finaliser: every input bit reaches every output bit.
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
    fn noise_is_bounded_centred_and_repeatable() {
        let all: Vec<_> = (0..10_000).map(|i| noise_millionths(7, 3, i, 0.02)).collect();
        assert!(all.iter().all(|f| (980_000..=1_020_000).contains(f)));
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        assert!((mean - 1e6).abs() < 500.0, "{mean}");
        assert_eq!(all[17], noise_millionths(7, 3, 17, 0.02));
        assert_ne!(all[17], noise_millionths(8, 3, 17, 0.02));
    }
}
