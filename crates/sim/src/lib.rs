//! The simulator: policy x workload x machine -> trace.
//!
//! [`batch::run`] does one run, [`batch::run_all`] many at once. [`Native`] is a policy as native
//! code behind the interface in `runtime/saakm.h`; this crate implements that interface (module `runtime`) and the
//! time, the cores, the clock ticks and the threads around it (module `engine`). It never asks which
//! policy it runs.

mod agenda;
mod batch;
mod engine;
mod error;
mod kernel_load;
mod native;
mod runtime;
pub mod saakm;
mod thread;

pub use batch::{Job, LIMIT_S, NOISE, Outcome, header, map_jobs, run, run_all};
pub use error::{BuildError, SimError};
pub use native::Native;
