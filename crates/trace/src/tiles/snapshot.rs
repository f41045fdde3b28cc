//! Snapshot of the state, to start processing in the middle of a trace.

use super::lanes::{Lanes, Marks};
use super::tile::Shape;
use crate::event::{CoreId, IDLE, Tid, Time};
use crate::metrics::State;

/// State before a group of events, from which its events can be processed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Time of the last event before the group.
    pub time: Time,
    pub cores: Vec<CoreSnapshot>,
    /// Ready threads by number, and the core on which each waits.
    pub ready: Vec<(Tid, CoreId)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreSnapshot {
    pub current: Tid,
    pub khz: u32,
    /// True if the core had a `Frequency` event; its ticks carry no new information.
    pub exact: bool,
    pub marks: Marks,
}

impl Snapshot {
    /// Snapshot before the first event.
    pub fn start(cores: usize) -> Snapshot {
        Snapshot { cores: vec![CoreSnapshot::default(); cores], ..Snapshot::default() }
    }

    pub fn take(lanes: &Lanes, time: Time) -> Snapshot {
        let state = lanes.state();
        let core = |(index, marks): (usize, Marks)| CoreSnapshot {
            current: state.current(index),
            khz: state.cores()[index].khz,
            exact: state.exact(index),
            marks,
        };
        Snapshot {
            time,
            cores: lanes.marks().into_iter().enumerate().map(core).collect(),
            ready: state.ready(),
        }
    }

    /// Restores the snapshot into `state`, which must be without events. Ignores cores that do not
    /// exist, because the snapshot may come from a damaged file.
    pub fn restore(&self, mut state: State) -> State {
        let cores = state.cores().len();
        for (index, core) in self.cores.iter().take(cores).enumerate() {
            state.restore_core(index as CoreId, core.current, core.khz, core.exact);
        }
        for &(tid, core) in self.ready.iter().filter(|(tid, core)| *tid != IDLE && usize::from(*core) < cores)
        {
            state.restore_ready(tid, core);
        }
        state
    }

    /// Lanes that start from the snapshot at `time`.
    pub fn lanes(&self, shape: Shape, state: State, time: Time) -> Lanes {
        let marks: Vec<Marks> = self.cores.iter().map(|core| core.marks).collect();
        Lanes::new(shape, self.restore(state), &marks, time)
    }
}
