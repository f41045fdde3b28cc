//! Intervals in which a core ran one thread at one frequency: the view `running` of `hearth query`.

use super::events::Events;
use crate::table::{Table, column};
use arrow_array::{Float64Array, StringArray, UInt16Array, UInt32Array, UInt64Array};
use hearth_trace::follow::State;
use hearth_trace::{Error, IDLE, Tid, Time};
use pyo3::PyResult;
use std::collections::HashMap;

/// What a core does since `start`.
#[derive(Clone, Copy, Default)]
struct Open {
    thread: Tid,
    khz: u32,
    start: Time,
}

struct Slice {
    core: u16,
    open: Open,
    stop: Time,
}

pub struct Slices {
    slices: Vec<Slice>,
    names: HashMap<Tid, String>,
}

pub fn of(events: &Events) -> Result<Slices, Error> {
    let header = events.header();
    let mut state = State::new(header);
    let mut open = vec![Open::default(); header.cores.len()];
    let (mut slices, mut now) = (Vec::new(), 0);
    let mut close = |core: usize, open: &Open, stop: Time| {
        if open.thread != IDLE && stop > open.start {
            slices.push(Slice { core: core as u16, open: *open, stop });
        }
    };
    events.each(|events| {
        for event in events {
            if !state.possible(event) {
                continue;
            }
            now = event.time.max(now);
            state.apply(event, &mut ());
            let core = usize::from(event.core);
            let (thread, khz) = (state.current(core), state.cores()[core].khz);
            let before = &mut open[core];
            if (thread, khz) != (before.thread, before.khz) {
                close(core, before, now);
                *before = Open { thread, khz, start: now };
            }
        }
    })?;
    let end = now.max(header.duration);
    open.iter().enumerate().for_each(|(core, open)| close(core, open, end));
    let names = header.threads.iter().map(|thread| (thread.tid, thread.name.clone())).collect();
    Ok(Slices { slices, names })
}

impl Slices {
    pub fn table(self) -> PyResult<Table> {
        let slices = &self.slices;
        let name = |slice: &Slice| self.names.get(&slice.open.thread);
        let ghz = |khz: u32| (khz > 0).then_some(f64::from(khz) / 1e6);
        Table::of([
            column("core", UInt16Array::from_iter_values(slices.iter().map(|one| one.core))),
            column("thread", UInt32Array::from_iter_values(slices.iter().map(|one| one.open.thread))),
            column("name", StringArray::from_iter(slices.iter().map(name))),
            column("start", UInt64Array::from_iter_values(slices.iter().map(|one| one.open.start))),
            column("stop", UInt64Array::from_iter_values(slices.iter().map(|one| one.stop))),
            column("ghz", Float64Array::from_iter(slices.iter().map(|one| ghz(one.open.khz)))),
        ])
    }
}
