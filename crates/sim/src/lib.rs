//! A discrete-event simulator: policy x workload x machine -> trace.
//!
//! [`run`] simulates one job, [`run_all`] many in parallel. [`Native`] is the native code of a policy
//! behind the interface in `runtime/saakm.h`. The module `runtime` implements that interface, and `engine` simulates time,
//! cores, clock ticks and threads. The simulator never depends on which policy it runs.

mod agenda;
mod batch;
mod engine;
mod error;
mod kernel_load;
mod native;
mod overlay;
mod runtime;
pub mod saakm;
mod thread;
mod world;

pub use batch::{Job, LIMIT, NOISE, Outcome, governor_name, header, map_jobs, run, run_all};
pub use error::{BuildError, SimError};
pub use native::Native;
pub use overlay::{Overlay, OverlayError};
pub use world::{UnknownPart, World};
