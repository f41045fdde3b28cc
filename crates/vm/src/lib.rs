//! Runs one command in a virtual machine whose kernel has sched_ext: [`run`].
//!
//! - **Kernel** ([`Options::kernel`]): one of Debian's kernels, which apt fetches into a cache, or the path of an
//!   image. Nothing is installed, and the system's apt configuration stays unchanged.
//! - **Machine**: QEMU with a chosen [`Topology`]; with KVM if it works here, else emulated.
//! - **Files**: the guest's root is an overlay of a RAM disk on the host's root. The current folder and other
//!   named folders are shared for writing. The guest thus has every program of the host, and the files that
//!   its command writes to these folders appear on the host.
//! - **Architecture** ([`Options::architecture`]): the host's, or another one, which is emulated. Then a small Debian of
//!   that architecture hides the programs of the host.
//! - **Command**: arguments, environment, standard streams and exit status are forwarded.
//!
//! [`detached`] is a machine that keeps running, for several commands.
//!
//! `docs/src/kernel.md` describes what the guest sees.

mod accel;
mod accelerator;
mod apt;
mod architecture;
mod busybox;
mod cache;
pub mod detached;
mod error;
mod guest;
mod initramfs;
mod inside;
mod kernel;
mod parameters;
mod progress;
mod qemu;
mod run;
mod share;
mod stream;
mod system;
mod terminal;
mod topology;

pub use accelerator::{Acceleration, Accelerator};
pub use architecture::Architecture;
pub use error::{Console, Error};
pub use inside::Inside;
pub use kernel::Listed;
pub use progress::{Progress, Watch};
pub use run::{Exit, Options, run};
pub use stream::Streams;
pub use terminal::may_read;
pub use topology::{Topology, Wish};

/// Lists the kernels of an architecture that `--kernel` accepts, newest first. If apt fails: those in the cache, and
/// apt's error.
pub fn kernels(architecture: Architecture, watch: Watch) -> Result<(Vec<Listed>, Option<Error>), Error> {
    Ok(kernel::list(architecture, &cache::Cache::of_user()?, watch))
}
