//! A machine that keeps running, and commands in it: `hearth vm start`, `shell` and `stop`.
//!
//! - [`start`] starts a process for the machine, which lives on.
//! - [`supervise`] is the process behind a machine: it runs QEMU, serves the shares, and listens on a socket in the
//!   machine's folder ([`Place`]). Its lock on a file there is what tells that the machine runs.
//! - [`agent`] runs in the guest and starts the commands. Each command has one of `SLOTS` virtio-serial ports, so that
//!   one whose output nobody reads does not hold up the others.
//! - [`shell`] connects the user's streams or terminal to a command. Both legs carry the same frames.

mod agent;
mod client;
mod frame;
mod place;
mod start;
mod supervisor;

pub use agent::agent;
pub use client::{Call, shell, stop};
pub use place::{DEFAULT_NAME, Lock, Place, Running, name_flag};
pub use start::{arguments_behind, detach, start};
pub use supervisor::supervise;

/// The ports of commands: at most so many run at a time.
///
/// QEMU sends three messages for each port while the guest boots, and loses those that find no place in a queue of 32
/// (`send_control_msg`, QEMU 10.0). Up to two of a port wait there, and `control` and `status` are ports, too.
const SLOTS: [&str; 12] = [
    "slot0", "slot1", "slot2", "slot3", "slot4", "slot5", "slot6", "slot7", "slot8", "slot9", "slot10",
    "slot11",
];
