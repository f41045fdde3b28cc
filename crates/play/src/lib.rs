//! Plays a workload: executes its task graph with real threads on the live Linux kernel, under the kernel's
//! current scheduler.
//!
//! Each thread of the graph is a kernel thread. `run` executes a calibrated amount of work ([`Calibration`]),
//! `fork` is a `clone`, and a blocked thread sleeps in a futex. The thread that unblocks it in the graph wakes
//! it directly. Between steps the player makes no system call and takes no lock on which it could sleep for
//! long. The player has no thread of its own that wakes up. A trace of the play therefore shows only the graph,
//! placed by the kernel.
//!
//! ```no_run
//! use hearth_play::{Calibration, Options, Player};
//! let workload = hearth_workload::Workload::resolve("hackbench")?;
//! let player = Player::new(&workload, Options::default(), Calibration::measure())?;
//! let run = player.play()?;
//! println!("{} s, median wake-up {} us", run.time_s, run.latencies.wakeup.summary().p50);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod barrier;
mod calibration;
mod clock;
mod error;
mod host;
mod latency;
mod ledger;
mod mailbox;
mod options;
mod player;
mod program;
mod requests;
mod run;
mod semaphore;
mod shared;
mod stacks;
mod thread;
mod work;

pub use calibration::Calibration;
pub use error::{Error, Place};
pub use host::Host;
pub use latency::Latencies;
pub use ledger::Counts;
pub use options::{Burn, Options};
pub use player::Player;
pub use run::Run;
