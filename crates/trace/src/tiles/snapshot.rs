//! What must be known to begin in the middle of a trace.

use super::lanes::{Lanes, Marks};
use super::tile::Shape;
use crate::event::{CoreId, IDLE, Tid, Time};
use crate::metrics::State;

/// The state behind all events that came before a group: what its events are to be followed from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// The time of the last event before.
    pub time: Time,
    pub cores: Vec<CoreSnapshot>,
    /// The ready threads by number, and where they wait.
    pub ready: Vec<(Tid, CoreId)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreSnapshot {
    pub current: Tid,
    pub khz: u32,
    /// The core has had a `Frequency` event, behind which ticks say nothing new.
    pub exact: bool,
    pub marks: Marks,
}

impl Snapshot {
    /// Before anything happened.
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

    /// Puts it into `state`, in which nothing has happened yet. What a snapshot (of a file) says
    /// of cores that there are not, is left out.
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

    /// Cells from `time` on, which nothing happened before but what the snapshot says.
    pub fn lanes(&self, shape: Shape, state: State, time: Time) -> Lanes {
        let marks: Vec<Marks> = self.cores.iter().map(|core| core.marks).collect();
        Lanes::new(shape, self.restore(state), &marks, time)
    }
}
