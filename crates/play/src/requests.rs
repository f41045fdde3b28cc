//! Detection of request-answer pairs.
//!
//! The graph does not mark requests, so they are inferred from the steps of each thread. A request is a post with
//! a wait, the answer, directly after it. Three conditions exclude other uses of semaphores:
//!
//! - The thread posts first. A thread that waits first is the one that answers.
//! - The thread makes at least two requests. A single pair is a rendezvous before or after the work.
//! - Both semaphores start at 0. Others are locks, or the free space in a pipe.

use crate::program::{Program, Step};
use hearth_workload::SemIdx;
use std::collections::BTreeMap;

impl Program {
    /// Marks the posts that are requests and the waits that are their answers.
    pub fn mark_requests(&mut self, semaphores: &[u32]) {
        let (mut first_post, mut first_wait) = (BTreeMap::new(), BTreeMap::new());
        for (at, step) in self.steps.iter().enumerate() {
            match *step {
                Step::Post { sem, .. } => first_post.entry(sem).or_insert(at),
                Step::Wait { sem, .. } => first_wait.entry(sem).or_insert(at),
                _ => continue,
            };
        }
        let from_0 = |sem: SemIdx| semaphores.get(sem as usize) == Some(&0);
        let mut requests = Vec::new();
        // Number of executions of a step, per nesting level of repeats.
        let mut times = vec![1u64];
        for (at, pair) in self.steps.windows(2).enumerate() {
            match *pair {
                [Step::Repeat(count), _] => times.push(times[times.len() - 1].saturating_mul(count.into())),
                [Step::Again(_), _] => drop(times.pop()),
                [Step::Post { sem: asked, .. }, Step::Wait { sem: answered, .. }]
                    if from_0(asked) && from_0(answered) && first_post[&asked] < first_wait[&answered] =>
                {
                    requests.push(at);
                    self.requests = self.requests.saturating_add(times[times.len() - 1]);
                }
                _ => {}
            }
        }
        if self.requests < 2 {
            self.requests = 0;
            return;
        }
        for at in requests {
            if let [Step::Post { asks, .. }, Step::Wait { answers, .. }] = &mut self.steps[at..at + 2] {
                (*asks, *answers) = (true, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::programs;
    use hearth_workload::{Op, Thread, Workload};

    #[test]
    fn requests_are_told_from_locks_and_gates() {
        let requests = |ops: Vec<Op>| {
            let thread = Thread { ops, ..Thread::default() };
            let workload =
                Workload { threads: vec![thread], semaphores: vec![0, 0, 1], ..Workload::default() };
            let program = programs(&workload).remove(0);
            let flagged = |step: &&Step| {
                matches!(step, Step::Post { asks: true, .. } | Step::Wait { answers: true, .. })
            };
            (program.requests, program.steps.iter().filter(flagged).count())
        };
        let twice = |ops| vec![Op::repeat(2, ops)];
        assert_eq!(requests(twice(vec![Op::Post(0), Op::Wait(1)])), (2, 2));
        assert_eq!(requests(vec![Op::Post(0), Op::Wait(1), Op::Run(1), Op::Post(0), Op::Wait(1)]), (2, 4));
        // The same, from the other side.
        assert_eq!(requests(vec![Op::Wait(1), Op::Post(0), Op::Wait(1), Op::Post(0), Op::Wait(1)]), (0, 0));
        // A gate that is passed once; a lock; work in between; nothing before or after.
        assert_eq!(requests(vec![Op::Post(0), Op::Wait(1)]), (0, 0));
        assert_eq!(requests(twice(vec![Op::Post(0), Op::Wait(2)])), (0, 0));
        assert_eq!(requests(twice(vec![Op::Post(0), Op::Run(1), Op::Wait(1)])), (0, 0));
        assert_eq!(requests(twice(vec![Op::Wait(1), Op::Post(0)])), (0, 0));
    }
}
