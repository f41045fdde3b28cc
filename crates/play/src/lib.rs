//! Plays a workload: its task graph as real threads on the live Linux kernel, under whatever scheduler that
//! runs.
//!
//! Every thread of the graph is a thread of the kernel, and every step is what it says: `run` executes a
//! calibrated amount of work ([`Calibration`]), `fork` is a `clone`, and whoever blocks blocks in a futex
//! from which the thread that lets him go on wakes him directly, as the graph has it. Between
//! these steps the player itself makes no system call, takes no lock that it could sleep on for long, and
//! has no thread of its own that wakes up: what a trace of the play shows is the graph, placed by the kernel.
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
pub use latency::{Histogram, Latencies};
pub use ledger::Counts;
pub use options::{Burn, Options};
pub use player::Player;
pub use run::Run;
