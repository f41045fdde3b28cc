//! A virtual machine whose kernel has sched_ext, for one command: [`run`].
//!
//! - **Kernel** ([`Options::kernel`]): one of Debian's, which apt fetches into a cache, or the path of an
//!   image. Nothing is installed, and the system's apt configuration stays as it is.
//! - **Machine**: QEMU, of a chosen [`Topology`]; on the processor if KVM works here, else emulated.
//! - **Files**: the guest's root is the host's, read-only, below a RAM disk; the current folder, and others
//!   that are named, are shared for writing. So the guest has every program of the host, and what its command
//!   makes comes back.
//! - **Command**: its arguments, environment, input, output, errors and exit status are passed on.
//!
//! `docs/src/vm.md` says what the guest sees.

mod accel;
mod accelerator;
mod apt;
mod busybox;
mod cache;
mod error;
mod guest;
mod initramfs;
mod kernel;
mod parameters;
mod progress;
mod qemu;
mod run;
mod share;
mod stream;
mod terminal;
mod topology;

pub use accelerator::{Acceleration, Accelerator};
pub use error::{Console, Error};
pub use kernel::Listed;
pub use progress::{Progress, Watch};
pub use run::{Exit, Options, run};
pub use stream::Streams;
pub use topology::{Topology, Wish};

/// The kernels that can be named, newest first. If apt cannot be asked: those in the cache, and why.
pub fn kernels(watch: Watch) -> Result<(Vec<Listed>, Option<Error>), Error> {
    Ok(kernel::list(&cache::Cache::of_user()?, watch))
}
