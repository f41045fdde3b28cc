//! Machines: topology, frequency, idle states and power.
//!
//! A machine is one TOML file ([`Machine::load`]); eight are compiled in
//! ([`Machine::names`]). From it come
//!
//! - [`Topology`]: hardware threads, physical cores, last-level caches, NUMA
//!   nodes and sockets, numbered as Linux numbers them on that machine;
//! - [`frequency::Model`]: the deterministic state machine that says how fast
//!   each core runs, what the kernel believes about it, and how much energy the
//!   machine has used;
//! - [`idle::IdleState`]: how deep an idle core sleeps and how long it takes to
//!   come back;
//! - [`Costs`]: what the kernel's own paths cost;
//! - [`pelt`]: the kernel's view of utilisation, which `schedutil` reads.
//!
//! Units are in the names: `_khz`, `_ns`, `_us`, `_uj`. Time is `u64`
//! nanoseconds since the start of the run. In this crate a *core* is a hardware
//! thread, as in the papers and in Linux; a *physical core* is what its
//! hyperthreads share.
//!
//! The file format, the formulas and the assumptions are in
//! `docs/src/machines.md`.

mod builtin;
mod costs;
mod error;
mod file;
pub mod frequency;
pub mod idle;
mod machine;
pub mod pelt;
pub mod topology;
mod validate;

pub use costs::{Costs, MigrationCosts};
pub use error::Error;
pub use frequency::{Control, FrequencySpec, Governor, Model, PowerSpec, Powersave};
pub use idle::IdleState;
pub use machine::Machine;
pub use topology::{Core, Level, Numbering, Topology};
