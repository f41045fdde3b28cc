//! Runs policies in the kernel, through sched_ext.
//!
//! A policy ([`hearth_policy::Policy`]) is compiled to a BPF object ([`object`]), whose other half is GPL-2.0-only C that is
//! found in a folder ([`library`]) and never linked into this program. [`session`] loads the object, makes it
//! the kernel's scheduler, and shares memory with it ([`arena`], [`layout`]): what the loader says about the
//! machine ([`topology`], [`frequency`]), and what the policy counts ([`statistics`]), which others read through a
//! socket ([`server`], [`client`]). [`recording`] records a trace meanwhile; [`log`] writes down every handler
//! with all that it saw, for the simulator to repeat.

pub mod arena;
pub mod cgroup;
pub mod client;
pub mod error;
pub mod exit;
pub mod frequency;
pub mod layout;
pub mod library;
pub mod load;
pub mod log;
pub mod object;
pub mod protocol;
pub mod recording;
pub mod requirements;
pub mod schedule;
pub mod server;
pub mod session;
pub mod statistics;
pub mod topology;
pub mod verify;

pub use error::Error;

pub use session::{Ended, Options, Partial, Session, Summary};
