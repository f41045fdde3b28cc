//! Compiled form of a thread's steps: flattened, so that one number identifies a step, with everything that can
//! be computed before the play.

use hearth_workload::{BarrierIdx, MAX_DEPTH, Obstacle, Op, SemIdx, ThreadIdx, TimerIdx, Workload};
use std::fmt;

/// A thread name as the kernel stores it: at most 15 bytes and a terminating 0.
pub type Name = [u8; 16];

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    Run {
        cycles: u64,
    },
    Fork(ThreadIdx),
    Join(ThreadIdx),
    /// Duration in nanoseconds, as for `Io`.
    Sleep(u64),
    Io(u64),
    /// Index of the timer, and its period in nanoseconds.
    Timer(TimerIdx, u64),
    /// `asks`: the post is a request and the wait directly after it is the answer.
    Post {
        sem: SemIdx,
        asks: bool,
    },
    /// `answers`: the post directly before it is a request.
    Wait {
        sem: SemIdx,
        answers: bool,
    },
    Barrier(BarrierIdx),
    Yield,
    /// Index of the name in [`Program::names`].
    Exec(u32),
    /// Start of a repeat, with its number of rounds.
    Repeat(u32),
    /// End of a repeat, with the index of its [`Step::Repeat`]; the next round starts after that.
    Again(u32),
}

#[derive(Default)]
pub struct Program {
    pub steps: Vec<Step>,
    pub name: Name,
    pub names: Vec<Name>,
    /// The thread that forks it; `None` for a root.
    pub parent: Option<ThreadIdx>,
    /// Number of executed waits, joins and barriers.
    pub waits: u64,
    /// Number of executed sleeps, I/O waits and timers.
    pub delays: u64,
    pub requests: u64,
}

/// Maximum nesting depth of repeats, including the outermost level.
pub const LEVELS: usize = MAX_DEPTH + 1;

/// Compiles all threads of a [well-formed](Workload::validate) workload.
pub fn programs(workload: &Workload) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::with_capacity(workload.threads.len());
    for (index, thread) in workload.threads.iter().enumerate() {
        let name = match thread.name.is_empty() {
            true => short_name(&format!("thread {index}")),
            false => short_name(&thread.name),
        };
        let mut program = Program { name, ..Program::default() };
        program.append(&thread.ops, 1);
        program.mark_requests(&workload.semaphores);
        programs.push(program);
    }
    for parent in 0..programs.len() {
        for step in 0..programs[parent].steps.len() {
            if let Step::Fork(child) = programs[parent].steps[step] {
                programs[child as usize].parent = Some(parent as ThreadIdx);
            }
        }
    }
    programs
}

impl Program {
    /// Appends `ops`, which are executed `times` times.
    fn append(&mut self, ops: &[Op], times: u64) {
        for op in ops {
            let step = match *op {
                Op::Run(cycles) => Step::Run { cycles },
                Op::Fork(child) => Step::Fork(child),
                Op::Join(child) => Step::Join(child),
                Op::Sleep(ns) => Step::Sleep(ns),
                Op::Io(ns) => Step::Io(ns),
                Op::Timer(timer, ns) => Step::Timer(timer, ns),
                Op::Post(sem) => Step::Post { sem, asks: false },
                Op::Wait(sem) => Step::Wait { sem, answers: false },
                Op::Barrier(barrier) => Step::Barrier(barrier),
                Op::Yield => Step::Yield,
                Op::Exec(ref name) => {
                    self.names.push(short_name(name));
                    Step::Exec(self.names.len() as u32 - 1)
                }
                Op::Repeat(count, ref ops) => {
                    if count > 0 && !ops.is_empty() {
                        self.steps.push(Step::Repeat(count));
                        let start = self.steps.len() as u32 - 1;
                        self.append(ops, times.saturating_mul(count.into()));
                        self.steps.push(Step::Again(start));
                    }
                    continue;
                }
            };
            let counter = match step {
                Step::Join(_) | Step::Wait { .. } | Step::Barrier(_) => Some(&mut self.waits),
                Step::Sleep(_) | Step::Io(_) | Step::Timer(..) => Some(&mut self.delays),
                _ => None,
            };
            if let Some(counter) = counter {
                *counter = counter.saturating_add(times);
            }
            self.steps.push(step);
        }
    }
}

/// Truncates a name to 15 bytes at a character boundary, and at the first 0.
fn short_name(name: &str) -> Name {
    let name = name.split('\0').next().unwrap_or_default();
    let length = (0..=name.len().min(15)).rfind(|&length| name.is_char_boundary(length)).unwrap_or(0);
    let mut short = Name::default();
    short[..length].copy_from_slice(&name.as_bytes()[..length]);
    short
}

/// Path of step number `step` in the workload's nested steps, counted from 0: `[2, 1]` is the second step of the
/// repeat that is the third step. Empty if `step` is past the end.
pub fn path(ops: &[Op], step: usize) -> Vec<usize> {
    let mut first = 0;
    for (index, op) in ops.iter().enumerate() {
        let size = size(op);
        if step < first + size {
            let mut path = vec![index];
            if let Op::Repeat(_, ops) = op {
                path.extend(self::path(ops, step.saturating_sub(first + 1)));
            }
            return path;
        }
        first += size;
    }
    Vec::new()
}

/// Number of program steps that `op` compiles to.
fn size(op: &Op) -> usize {
    match op {
        Op::Repeat(count, ops) if *count == 0 || ops.is_empty() => 0,
        Op::Repeat(_, ops) => 2 + ops.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Describes what the thread does at this step, for messages.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Step::Run { cycles } => write!(f, "it executes {cycles} cycles"),
            Step::Join(thread) => Obstacle::Exit(thread).fmt(f),
            Step::Wait { sem, .. } => Obstacle::Semaphore(sem).fmt(f),
            Step::Barrier(barrier) => Obstacle::Barrier(barrier).fmt(f),
            Step::Sleep(ns) => write!(f, "it sleeps for {} s", ns as f64 / 1e9),
            Step::Io(ns) => write!(f, "it waits for a device for {} s", ns as f64 / 1e9),
            Step::Timer(_, ns) => write!(f, "it waits for a timer with a period of {} s", ns as f64 / 1e9),
            _ => write!(f, "it is runnable but has no core"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_workload::Thread;

    fn nested() -> Vec<Op> {
        vec![
            Op::Run(1),
            Op::repeat(0, vec![Op::Yield]),
            Op::repeat(2, vec![Op::Post(0), Op::Wait(1), Op::repeat(3, vec![Op::Sleep(5)]), Op::Run(2)]),
            Op::Exec("a name that is too long".into()),
        ]
    }

    #[test]
    fn repeats_become_jumps() {
        let ops = nested();
        let thread = Thread { ops, ..Thread::default() };
        let workload = Workload { threads: vec![thread], semaphores: vec![0, 0], ..Workload::default() };
        let program = &programs(&workload)[0];
        let expected = [
            Step::Run { cycles: 1 },
            Step::Repeat(2),
            Step::Post { sem: 0, asks: true },
            Step::Wait { sem: 1, answers: true },
            Step::Repeat(3),
            Step::Sleep(5),
            Step::Again(4),
            Step::Run { cycles: 2 },
            Step::Again(1),
            Step::Exec(0),
        ];
        assert_eq!(program.steps, expected);
        assert_eq!((program.waits, program.delays, program.requests), (2, 6, 2));
        assert_eq!(program.names, [*b"a name that is \0"]);
        assert_eq!(program.name, *b"thread 0\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn steps_are_found_again() {
        let ops = nested();
        let found: Vec<Vec<usize>> = [0, 2, 3, 5, 7, 9, 10].map(|step| path(&ops, step)).into();
        let expected: [&[usize]; 7] = [&[0], &[2, 0], &[2, 1], &[2, 2, 0], &[2, 3], &[3], &[]];
        assert_eq!(found, expected);
    }

    #[test]
    fn names_are_cut_between_characters() {
        assert_eq!(short_name("cc1"), *b"cc1\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(short_name("a\0b"), *b"a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        let cut = short_name("abcdefghijklmn\u{e9}");
        assert_eq!(&cut[..15], b"abcdefghijklmn\0");
    }

    #[test]
    fn parents_are_known() {
        let thread = |ops| Thread { ops, ..Thread::default() };
        let workload = Workload {
            threads: vec![
                thread(vec![Op::repeat(1, vec![Op::Fork(1)])]),
                thread(vec![Op::Fork(2)]),
                thread(vec![]),
            ],
            ..Workload::default()
        };
        let parents: Vec<_> = programs(&workload).iter().map(|program| program.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1)]);
    }
}
