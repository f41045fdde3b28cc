//! Runs policies in the kernel, through sched_ext.
//!
//! [`object`] compiles a policy ([`hearth_policy::Policy`]) and the BPF runtime, which is GPL-2.0-only C in a library
//! folder ([`library`]) and never linked into this program. [`session`] loads the object and makes it the kernel's
//! scheduler. Both share memory ([`arena`], [`layout`]): the loader writes the machine's [`topology`] and
//! [`frequency`] into it and reads the [`statistics`], which [`server`] serves to [`client`], and [`metrics`] encodes. An [`observer`] records a
//! trace meanwhile. [`log`] writes the input and the effects of every handler, for the simulator to replay.

pub mod arena;
pub mod cgroup;
pub mod client;
pub mod error;
pub mod exit;
pub mod frequency;
mod kernel_log;
pub mod layout;
pub mod library;
pub mod limits;
pub mod load;
pub mod log;
pub mod metrics;
pub mod object;
pub mod observer;
pub mod profile;
pub mod protocol;
pub mod requirements;
pub mod schedule;
pub mod server;
pub mod session;
pub mod statistics;
pub mod topology;
pub mod verify;

pub use error::Error;

pub use session::{Ended, Options, Partial, Session, Summary};
