//! Measures and detects the properties of this machine.
//!
//! - [`ftl`]: frequency transition latency, the time that a core takes from the speed of an idle core
//!   to that of a busy one, and back;
//! - [`detect`]: the machine file of this machine;
//! - [`turbo`]: how fast cores run together.
//!
//! `docs/src/machines.md` defines the measurement and settling, and describes machine files.

mod counters;
pub mod detect;
mod disturbance;
mod error;
pub mod ftl;
mod os;
pub mod plot;
pub mod report;
mod rounds;
mod settle;
pub mod sysfs;
pub mod turbo;
mod windows;
mod work;

pub use error::Error;
pub use report::Report;
