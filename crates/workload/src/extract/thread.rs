//! One thread on the way through the trace: its state, and the steps found so far.

use hearth_trace::{CoreId, Time};

use super::clock::Work;
use crate::{Op, ThreadIdx};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// No event of it yet: not forked yet, or it existed before the trace.
    Unseen,
    Ready,
    Running {
        core: CoreId,
    },
    /// Where and since when. `None`: since before the trace.
    Blocked {
        core: Option<CoreId>,
        since: Time,
    },
    Ended,
}

pub(super) struct ThreadBuilder {
    pub state: State,
    /// Its `Exit` was seen; the last `Switch` may be still to come.
    pub exiting: bool,
    /// Some step of the graph forks it.
    pub forked: bool,
    /// Its children that have exited and for which it has not waited yet, oldest first.
    pub unreaped: std::collections::VecDeque<ThreadIdx>,
    /// The thread that forked it, in the graph.
    pub parent: Option<ThreadIdx>,
    work: Work,
    ops: Vec<Op>,
}

impl ThreadBuilder {
    pub fn new() -> Self {
        ThreadBuilder {
            state: State::Unseen,
            exiting: false,
            forked: false,
            unreaped: Default::default(),
            parent: None,
            work: Work::default(),
            ops: Vec::new(),
        }
    }

    /// Work done from `from` to `to` at `khz`.
    pub fn ran(&mut self, from: Time, to: Time, khz: u32) {
        self.work.add(from, to, khz);
    }

    /// Appends a step, after the work before it.
    pub fn push(&mut self, op: Op) {
        self.flush();
        self.ops.push(op);
    }

    /// Turns the work since the last step into a `Run`.
    fn flush(&mut self) {
        match (self.work.take_cycles(), self.ops.last_mut()) {
            (0, _) => {}
            (cycles, Some(Op::Run(before))) => *before = before.saturating_add(cycles),
            (cycles, _) => self.ops.push(Op::Run(cycles)),
        }
    }

    pub fn finish(mut self) -> Vec<Op> {
        self.flush();
        self.ops.shrink_to_fit();
        self.ops
    }
}
