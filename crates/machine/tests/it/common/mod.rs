//! Helpers shared by the tests.
#![allow(dead_code)] // Each test uses some of the helpers.

use hearth_machine::{Governor, Machine, Model};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
/// Longest wait for an update window of the power control unit, on any machine.
pub const WINDOW: u64 = MS;

pub fn machine(name: &str) -> Machine {
    Machine::builtin(name).expect("a built-in machine")
}

pub fn model(name: &str, governor: Governor) -> Model {
    machine(name).frequency_model(governor)
}

/// One core on each of the first `n` physical cores of socket 0.
pub fn spread(machine: &Machine, n: usize) -> Vec<u16> {
    let first = machine.topology.shape().cores_per_socket;
    (0..first).take(n).map(|physical| machine.topology.cores_of_physical(physical)[0]).collect()
}

/// (time, kHz) at each frequency change of `core` from the last `now` to `until`.
pub fn trace(model: &mut Model, core: u16, until: u64) -> Vec<(u64, u32)> {
    let mut points = Vec::new();
    let mut last = model.khz(core);
    while model.next_change() <= until {
        let at = model.next_change();
        model.advance(at);
        if model.khz(core) != last {
            last = model.khz(core);
            points.push((at, last));
        }
    }
    model.advance(until);
    points
}

pub use hearth_base::constants::TICK_NS as TICK;

/// Keeps `core` busy from `start` to `end`, with ticks at multiples of 4 ms. Calls `see` with the
/// time and the model every 100 us and at both ends.
pub fn busy(model: &mut Model, core: u16, start: u64, end: u64, mut see: impl FnMut(u64, &Model)) {
    model.set_active(start, core, true);
    see(start, model);
    let mut now = start;
    while now < end {
        now = end.min((now / (100 * US) + 1) * 100 * US);
        model.advance(now);
        if now.is_multiple_of(TICK) {
            model.tick(now, core);
            model.update_util(now, core, core, || 1024);
        }
        see(now, model);
    }
    // The thread is dequeued.
    model.update_util(end, core, core, || 1024);
    model.set_active(end, core, false);
}
