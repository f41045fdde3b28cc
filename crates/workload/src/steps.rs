//! Iteration over the steps of a thread, with repeats expanded.

use crate::{Op, Thread};

/// Iterator over a thread's steps in execution order, without `Repeat` itself. Its memory is one
/// entry per nesting level, however long the repeats are.
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    /// Nesting levels, innermost last.
    levels: Vec<Level<'a>>,
}

#[derive(Clone, Debug)]
struct Level<'a> {
    ops: &'a [Op],
    next: usize,
    /// Rounds that remain after the current one.
    rounds: u32,
}

/// Result of one move of the iterator.
pub(crate) enum Move<'a> {
    Step(&'a Op),
    /// A repeat was entered, restarted or left.
    Turn,
    End,
}

impl<'a> Steps<'a> {
    pub fn new(ops: &'a [Op]) -> Self {
        Steps { levels: vec![Level { ops, next: 0, rounds: 0 }] }
    }

    /// The steps before the last one that was taken.
    pub(crate) fn done(&self) -> Vec<Op> {
        let mut done = Vec::new();
        for (level, inner) in self.levels.iter().zip(self.levels.iter().map(Some).skip(1).chain([None])) {
            let current = level.next.saturating_sub(1);
            done.extend_from_slice(&level.ops[..current]);
            if let (Some(Op::Repeat(count, ops)), Some(inner)) = (level.ops.get(current), inner) {
                match count.saturating_sub(1) - inner.rounds {
                    0 => {}
                    1 => done.extend_from_slice(ops),
                    rounds => done.push(Op::repeat(rounds, ops.to_vec())),
                }
            }
        }
        done
    }

    /// Makes one move. Unlike [`next`](Iterator::next), it takes bounded time even for pathological
    /// graphs (nested empty repeats), so that callers can limit the number of moves.
    pub(crate) fn advance(&mut self) -> Move<'a> {
        let Some(level) = self.levels.last_mut() else { return Move::End };
        match level.ops.get(level.next) {
            Some(Op::Repeat(count, ops)) => {
                level.next += 1;
                if let Some(rounds) = count.checked_sub(1) {
                    self.levels.push(Level { ops, next: 0, rounds });
                }
                Move::Turn
            }
            Some(op) => {
                level.next += 1;
                Move::Step(op)
            }
            None if level.rounds > 0 => {
                level.rounds -= 1;
                level.next = 0;
                Move::Turn
            }
            None => {
                self.levels.pop();
                Move::Turn
            }
        }
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = &'a Op;

    fn next(&mut self) -> Option<&'a Op> {
        loop {
            match self.advance() {
                Move::Step(op) => return Some(op),
                Move::Turn => {}
                Move::End => return None,
            }
        }
    }
}

impl Thread {
    /// Steps of the thread with repeats expanded.
    pub fn steps(&self) -> Steps<'_> {
        Steps::new(&self.ops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_known() {
        let inner = vec![Op::Run(2), Op::Run(3)];
        let ops = [Op::Run(1), Op::repeat(5, vec![Op::repeat(4, inner.clone()), Op::Run(4)])];
        let mut steps = Steps::new(&ops);
        assert_eq!(steps.by_ref().take(1 + 2 * 9 + 5).last(), Some(&Op::Run(2)));
        let round = vec![Op::repeat(4, inner.clone()), Op::Run(4)];
        assert_eq!(steps.done(), [Op::Run(1), Op::repeat(2, round), Op::repeat(2, inner)]);
    }

    #[test]
    fn repeats_are_written_out() {
        let ops = [
            Op::Run(1),
            Op::repeat(2, vec![Op::Run(2), Op::repeat(3, vec![Op::Run(3)]), Op::repeat(0, vec![Op::Run(9)])]),
            Op::repeat(5, vec![]),
            Op::Run(4),
        ];
        let runs: Vec<u64> =
            Steps::new(&ops).map(|op| if let Op::Run(n) = op { *n } else { unreachable!() }).collect();
        assert_eq!(runs, [1, 2, 3, 3, 3, 2, 3, 3, 3, 4]);
    }
}
