//! The running Linux: what it says of this machine, and what is measured of it.
//!
//! - [`Host`]: cores, topology and frequencies, as recordings and running policies need them;
//! - [`emulator()`]: whether software executes its code;
//! - [`rapl`]: the energy counters;
//! - [`detect`]: the machine file of this machine;
//! - [`ftl`]: frequency transition latency, the time that a core takes from the speed of an idle core
//!   to that of a busy one, and back;
//! - [`turbo`]: how fast cores run together;
//! - [`libbpf_log`]: what libbpf prints.
//!
//! All of them read sysfs and procfs through [`sysfs::Files`]. `docs/src/machines.md` defines the measurement and
//! settling, and describes machine files.

mod cores;
mod counters;
pub mod detect;
mod disturbance;
mod emulator;
mod error;
pub mod ftl;
mod host;
pub mod libbpf_log;
mod os;
pub mod plot;
pub mod rapl;
pub mod report;
mod rounds;
mod settle;
pub mod sysfs;
pub mod turbo;
mod windows;
mod work;

pub use emulator::emulator;
pub use error::Error;
pub use host::Host;
pub use os::now;
pub use report::Report;
