//! Machine models: topology, frequency, idle states and power.
//!
//! A machine is a TOML file ([`Machine::load`]); nineteen are built in ([`Machine::names`]). The crate
//! derives from it:
//!
//! - [`Topology`]: hardware threads, physical cores, last-level caches, NUMA nodes and sockets,
//!   numbered as by Linux on that machine;
//! - [`frequency::Model`]: deterministic state machine for the frequency of each core, the kernel's
//!   view of it, and the energy used;
//! - [`IdleState`]: idle states and their exit latencies;
//! - [`Costs`]: costs of kernel operations;
//! - [`pelt`]: per-entity load tracking, which `schedutil` reads.
//!
//! Names carry the unit: `_khz`, `_ns`, `_us`, `_uj`. Time is `u64` nanoseconds since the start of
//! the run. A *core* is a hardware thread, as in the papers and in Linux; a *physical core* holds
//! one or more hyperthreads.
//!
//! `docs/src/machines.md` documents the file format, the formulas and the assumptions.

mod builtin;
mod costs;
mod error;
mod file;
pub mod frequency;
mod idle;
mod machine;
mod overrides;
pub mod pelt;
pub mod topology;
mod validate;

pub use costs::{Costs, MigrationCosts, SearchCosts};
pub use error::Error;
pub use frequency::{
    Control, Driver, FrequencySpec, Governor, Model, NoScaling, Performance, PowerLimit, PowerSpec,
    Powersave, Scaling,
};
pub use idle::IdleState;
pub use machine::Machine;
pub use topology::{Core, FULL_CAPACITY, Kind, Level, Numbering, Topology};
