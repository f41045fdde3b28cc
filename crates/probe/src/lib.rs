//! What this machine is, measured and read.
//!
//! - [`ftl`]: frequency transition latency, the time that a core takes from the speed of an idle core
//!   to that of a busy one, and back;
//! - [`detect`]: the machine file of this machine;
//! - [`turbo`]: how fast cores run together.
//!
//! What is measured, and how settling is defined, is in `docs/src/ftl.md`; what a machine file says,
//! and where detection has it from, in `docs/src/machines.md`.

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
