//! Per-entity load tracking (PELT): the kernel's estimate of utilisation.
//!
//! A thread's utilisation is the weighted fraction of the past that it ran, from 0 to [`FULL`].
//! Time 32 periods ago (33.6 ms) weighs half as much as now: a geometric series, as in Linux
//! `kernel/sched/pelt.c`. A core's utilisation is the sum over the threads attached to it
//! ([`CoreUtil`]); `schedutil` gets it through [`crate::Model::update_util`].
//!
//! Calls of a simulator:
//!
//! | event | call |
//! |---|---|
//! | fork | [`CoreUtil::fork`], [`CoreUtil::enqueue`] on the chosen core |
//! | wake-up on the previous core | [`CoreUtil::enqueue`] |
//! | wake-up on another core | [`CoreUtil::leave`] there, [`CoreUtil::attach`] and [`CoreUtil::enqueue`] here |
//! | migration to another core | [`CoreUtil::dequeue`] and [`CoreUtil::detach`] there, the same here |
//! | starts, stops running | [`CoreUtil::start`], [`CoreUtil::stop`] |
//! | tick | [`CoreUtil::tick`] |
//! | blocks | [`CoreUtil::stop`], [`CoreUtil::dequeue`] with `sleeps` |
//! | exits | [`CoreUtil::stop`], [`CoreUtil::dequeue`], [`CoreUtil::leave`] |
//! | core goes idle | [`CoreUtil::idle`] |
//! | changed scale at a tick | [`CoreUtil::set_scale`] |
//!
//! After an enqueue, a dequeue or a tick, the kernel calls its governor:
//! `model.update_util(now, core, from, || core_util.requested(now))`.
//!
//! A blocked thread stays attached to its last core, where its utilisation decays until the thread
//! wakes elsewhere. All operations are O(1): decay is linear, so the sum decays as a whole.
//!
//! Differences from Linux:
//!
//! - Utilisation decays continuously instead of in a series that restarts at each period. The two
//!   differ by at most one period's weight, 2.2 % of [`FULL`].
//! - There is one thread class.

mod core;
mod decay;
mod thread;

pub use self::core::CoreUtil;
pub(crate) use decay::HALF_LIFE;
pub use decay::{PERIOD_NS, decay};
pub use thread::{FULL, Util};
