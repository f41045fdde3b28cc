//! The steps of a thread one by one, with its repeats written out.

use crate::{Op, Thread};

/// Iterator over a thread's steps in the order of their execution. `Repeat` itself never appears.
/// The state is one entry per level of nesting, however long the repeats are.
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    /// Innermost last.
    levels: Vec<Level<'a>>,
}

#[derive(Clone, Debug)]
struct Level<'a> {
    ops: &'a [Op],
    next: usize,
    /// Rounds still to come after this one.
    rounds: u32,
}

/// What one move of the iterator did.
pub(crate) enum Move<'a> {
    Step(&'a Op),
    /// A repeat was entered, begun anew, or left.
    Turn,
    End,
}

impl<'a> Steps<'a> {
    pub fn new(ops: &'a [Op]) -> Self {
        Steps { levels: vec![Level { ops, next: 0, rounds: 0 }] }
    }

    /// One move. Unlike [`next`](Iterator::next) it returns within bounded time even for absurd
    /// graphs (repeats of repeats of nothing), so that a caller can count.
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
    /// The thread's steps with its repeats written out.
    pub fn steps(&self) -> Steps<'_> {
        Steps::new(&self.ops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
