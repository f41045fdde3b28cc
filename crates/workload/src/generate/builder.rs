//! Builder for graphs.

use super::CYCLES_PER_US;
use super::random::Random;
use crate::{BarrierIdx, Op, SemIdx, Thread, ThreadIdx, Workload};

/// `Run` for `us` microseconds of CPU time at the nominal frequency.
pub(super) fn run(us: u64) -> Op {
    Op::Run(us * CYCLES_PER_US)
}

/// Delay in microseconds, ended by a device.
pub(super) fn io(us: u64) -> Op {
    Op::Io(us * 1000)
}

/// Delay in microseconds, ended by a timer.
pub(super) fn sleep(us: u64) -> Op {
    Op::Sleep(us * 1000)
}

/// `times` random rounds. To keep files small, draws 16 rounds and repeats that sequence, which is
/// enough variation between successive rounds and neighbouring threads.
pub(super) fn varied(
    random: &mut Random,
    times: u64,
    mut round: impl FnMut(&mut Random) -> Vec<Op>,
) -> Vec<Op> {
    const KINDS: u64 = 16;
    let mut ops = Vec::new();
    if let Ok(repeats @ 2..) = u32::try_from(times / KINDS) {
        let kinds = (0..KINDS).flat_map(|_| round(random)).collect();
        ops.push(Op::repeat(repeats, kinds));
        ops.extend((0..times % KINDS).flat_map(|_| round(random)));
    } else {
        ops.extend((0..times).flat_map(|_| round(random)));
    }
    ops
}

#[derive(Default)]
pub(super) struct Builder {
    workload: Workload,
}

impl Builder {
    pub fn thread(&mut self, name: &str) -> ThreadIdx {
        self.workload.threads.push(Thread { name: name.to_string(), ..Thread::default() });
        (self.workload.threads.len() - 1) as ThreadIdx
    }

    /// Adds a thread with its steps.
    pub fn thread_with(&mut self, name: &str, ops: Vec<Op>) -> ThreadIdx {
        let thread = self.thread(name);
        self.workload.threads[thread as usize].ops = ops;
        thread
    }

    pub fn semaphore(&mut self, count: u32) -> SemIdx {
        self.workload.semaphores.push(count);
        (self.workload.semaphores.len() - 1) as SemIdx
    }

    /// A semaphore whose posts are writes to a pipe, or reads that make room there: the kernel wakes the other end with
    /// the flag `WF_SYNC` (`pipe_write` and `pipe_read` in fs/pipe.c).
    pub fn pipe(&mut self, count: u32) -> SemIdx {
        let semaphore = self.semaphore(count);
        self.workload.sync.push(semaphore);
        semaphore
    }

    pub fn barrier(&mut self, count: u32) -> BarrierIdx {
        self.workload.barriers.push(count);
        (self.workload.barriers.len() - 1) as BarrierIdx
    }

    /// Appends a step. Merges successive runs, as in an extracted graph.
    pub fn push(&mut self, thread: ThreadIdx, op: Op) {
        let ops = &mut self.workload.threads[thread as usize].ops;
        match (ops.last_mut(), op) {
            (_, Op::Run(0)) => {}
            (Some(Op::Run(last)), Op::Run(more)) => *last += more,
            (_, op) => ops.push(op),
        }
    }

    pub fn extend(&mut self, thread: ThreadIdx, ops: impl IntoIterator<Item = Op>) {
        for op in ops {
            self.push(thread, op);
        }
    }

    pub fn finish(self) -> Workload {
        self.workload
    }
}
