//! Per-entity load tracking (PELT): the kernel's view of utilisation.
//!
//! A thread's utilisation is the part of the recent past that it ran, from 0 to
//! [`FULL`], where time 32 periods ago (33.6 ms) weighs half as much as now: a
//! geometric series, as in Linux `kernel/sched/pelt.c`. A core's utilisation is
//! the sum over the threads attached to it ([`CoreUtil`]); `schedutil` reads it
//! and passes it to [`crate::Model::set_util`].
//!
//! How a simulator uses it:
//!
//! | event | call |
//! |---|---|
//! | fork | [`CoreUtil::fork`], [`CoreUtil::enqueue`] on the chosen core |
//! | wake-up on the previous core | [`CoreUtil::enqueue`] |
//! | wake-up on, or migration to, another core | [`CoreUtil::detach`] there, [`CoreUtil::attach`] and [`CoreUtil::enqueue`] here |
//! | starts, stops running | [`CoreUtil::start`], [`CoreUtil::stop`] |
//! | tick | [`CoreUtil::tick`] |
//! | blocks | [`CoreUtil::stop`], [`CoreUtil::dequeue`] with `sleeps` |
//! | exits | [`CoreUtil::stop`], [`CoreUtil::dequeue`], [`CoreUtil::detach`] |
//!
//! After each, the kernel would call its governor:
//! `model.set_util(now, core, core_util.requested(now))`.
//!
//! A blocked thread stays attached to its last core, where its utilisation
//! decays, until it wakes elsewhere. All operations are O(1): the sum decays as a
//! whole, because decay is linear.
//!
//! Differences from Linux: utilisation is a continuous decay rather than a
//! series restarted at each period (they differ by at most one period's weight,
//! 2.2 % of [`FULL`]); there is one thread class; a new thread always starts with
//! half of the core's spare capacity, where Linux may start it lower on a core
//! with other load.

mod core;
mod decay;
mod thread;

pub use self::core::CoreUtil;
pub use decay::{PERIOD_NS, decay};
pub use thread::{FULL, Util};
