//! The built-in machine most similar to this one, which supplies the numbers that cannot be read.

use super::topology::Regular;
use super::{Processor, Vendor};
use hearth_machine::{Control, Machine};

/// The frequency control of a built-in machine that corresponds to this vendor.
pub fn control(processor: &Processor) -> Control {
    match processor.vendor {
        Vendor::Intel if processor.speed_shift => Control::SpeedShift,
        Vendor::Intel => Control::SpeedStep,
        Vendor::Amd | Vendor::Other => Control::PerCore,
    }
}

/// Finds the most similar machine: first by frequency control, then by the socket's size, then by the number of
/// sockets.
pub fn nearest(processor: &Processor, shape: &Regular) -> Machine {
    let wanted = control(processor);
    let distance = |machine: &Machine| {
        let theirs = machine.topology.shape();
        let octaves = |a: u16, b: u16| (f64::from(a.max(1)) / f64::from(b.max(1))).log2().abs();
        let other = if machine.frequency.control == wanted { 0.0 } else { 1000.0 };
        let size = octaves(theirs.cores_per_socket, shape.cores_per_socket);
        other + 10.0 * size + octaves(theirs.sockets, shape.sockets)
    };
    let mut machines: Vec<Machine> =
        Machine::names().filter_map(|name| Machine::builtin(name).ok()).collect();
    // Its numbers are scaled: it must have power, and one kind of core.
    machines.retain(|machine| machine.power.is_some() && machine.topology.shape().kinds.is_empty());
    machines.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    // Built-in machines load, which their own tests say.
    machines.into_iter().next().unwrap_or_else(|| unreachable!("there are built-in machines"))
}
