//! A model checker for scheduling policies: it explores every interleaving of the events of several cores.
//!
//! [`check()`] takes a [`Policy`](hearth_policy::Policy) (the IR from which C is emitted) and a [`Scenario`]
//! (1 to 8 cores, at most 7 threads with small programs). It explores every reachable state, or stops at the
//! nearest violation and returns a [`Counterexample`]: a shortest schedule. [`trace()`] converts that to a
//! trace like that of any other run.
//!
//! ```
//! use hearth_modelcheck::{Options, Scenario, check};
//!
//! let cfs = hearth_policy::load("cfs").expect("cfs is a valid policy");
//! let scenario = Scenario::named("exit-2").expect("a standard scenario");
//! let outcome = check(&cfs, &scenario, &Options::default()).expect("a valid scenario");
//! assert!(outcome.complete && outcome.violation.is_none());
//! ```
//!
//! # Steps
//!
//! Events of one core are sequential, in the order that `runtime/saakm.h` prescribes. Events of different
//! cores interleave. Within a handler each access to shared state is a step: a read of a set that the
//! runtime maintains, of a policy's set, or of a field or attribute of a core or thread; a write of one; a claim; a
//! transition. A loop
//! or search takes a snapshot of its set when it begins, as the language defines. (The C code reads a set
//! again between two walks over it. It can see later changes, which are not explored.)
//!
//! These are one step each, whatever they access:
//!
//! - `schedule`, with the start of the thread: the core holds the lock of its run queue;
//! - going idle, if no thread is ready by then;
//! - the third phase of a steal on one victim, under [`Stealing::Locked`]. Under
//!   [`Stealing::CompareAndSwap`] each access is a step, and the first core that moves a thread gets it.
//!
//! The state of a suspended handler is the list of the results of its accesses. To resume, the handler runs
//! again from its start with these results.
//!
//! # Not modelled
//!
//! Time advances in ticks of 4 ms, and only while no event is in progress. Within a tick, threads run for no
//! time and timers fire at any moment. Frequencies are constants of the scenario. The idle loop
//! (`keep_warm`), hot plugging (`entry`, `exit`) and changes of affinity do not happen. A wake-up of a
//! thread that is about to block waits until it has blocked, as in a kernel. A new thread starts with the core of
//! its parent, and a thread woken by an interrupt with its own, as in the simulator. The core that places a
//! thread calls `exit_idle`, as in both runtimes.
//!
//! # Properties
//!
//! **Safety**, in every state: every thread is in one state and one place; transitions are legal, exactly one
//! where the event requires one; no thread is placed outside its affinity; `schedule` does not leave the core
//! idle while a thread is ready. **Claims**: no two placements on a core that both have claimed.
//! **Invariants**: conditions over sets, parameters and globals. Those that a policy declares are checked
//! while no event is in progress, those of [`Options::invariants`] in every state.
//!
//! **Concurrent work conservation** ([`Options::cwc`]; Lepers et al., *Provable Multicore Schedulers
//! with Ipanema*, EuroSys 2020). A core is *idle* if it is in the set `idle`. It is *overloaded* for an
//! idle core `c` if it has two threads or more, of which one waits and may run on `c`. The check runs when an
//! event ends, with what follows it on its core (`block` with `schedule`, `newly_idle` and `enter_idle`):
//!
//! - `new` and `unblock`, at the end of the handler: the chosen core does not have two threads or more
//!   while a core on which the thread may run was idle from the beginning of the event to its end;
//! - any event after which its core goes idle (`block`, `terminate`, `yield`, `preempt`, or the
//!   `schedule` of a woken core): no core is overloaded for this one;
//! - a tick, with its `balance`: no core is overloaded for an idle one for which it stole or tried to steal
//!   (the first argument of each `steal`). A policy that does not balance promises nothing.
//!
//! A core `o` is excused if another core's event placed a thread on it during the event. An idle core `c` is
//! excused if another core's event made it idle during the event, or if one is in progress on `c` at the end.
//! A claim of `c` by another core's handler counts as such an event.
//!
//! **Collisions** ([`Options::collisions`]) are stricter: a placement behind another thread while a core
//! was idle throughout is not excused by a concurrent placement. Policies that `claim` can promise that.
//!
//! **Livelock** ([`Options::livelock`]): a cycle of steps none of which is an external event. External events are
//! operations of threads, interrupts and the clock. The cycle can repeat for ever: each core or timer whose step is
//! enabled all along takes part. [`Options::max_event_steps`] bounds the search for a cycle among the
//! consequences of one event; beyond it the outcome is undecided.
//!
//! **Bounded waiting** ([`Options::within`]): a thread that is READY when a tick begins runs before so many ticks more
//! have begun. A migration does not restart the count. Assumed: the threads are those of the scenario, which
//! block, yield and fork as often as their programs say, and each busy core handles each tick.
//!
//! **Eventual conservation** ([`Options::rounds`]). From any state in which nothing is in progress, external events may
//! stop. Then rounds follow: in each, every core with waiting threads handles a tick, with its `balance`. The
//! clock advances by 256 ticks before, so that the interval of any balancing has passed. Within the given rounds
//! there is a state in which no core is overloaded for an idle one. Assumed: one core balances after the other, unless
//! [`Rounds::overlap`]. What follows a tick on other cores interleaves with it in any case.
//!
//! # Reductions
//!
//! Partial-order reduction: accesses that commute with everything that other cores can do are executed with
//! the step before them. `reduction.rs` says which, and why that is sound. [`Options::reduce`] turns it off. There is
//! no symmetry reduction: a policy walks over cores by number, so cores are not symmetric.
//!
//! Visited states are stored as 128-bit hashes. A complete exploration without a violation proves that there
//! is none, unless two hashes collide (probability 10^-25 with ten million states).

mod access;
mod arithmetic;
mod consistency;
mod cores;
mod counterexample;
mod cwc;
mod cycle;
mod driver;
mod env;
mod initial;
mod interp;
mod log;
mod model;
mod narrate;
mod perform;
mod progress;
mod property;
mod reduction;
mod replay;
mod scenario;
mod scenario_file;
mod schedule_file;
mod search;
mod standard;
mod standing;
mod step;
mod survey;
#[cfg(test)]
mod tests;
mod topology;
mod trace;
mod world;

pub use cores::Cores;
pub use counterexample::Counterexample;
pub use model::{Faults, Invariant};
pub use progress::{Rounds, WITHIN};
pub use property::{Property, Violation};
pub use scenario::{Op, Owner, Scenario, ScenarioError, Start, Stealing, ThreadSpec, Value};
pub use scenario_file::ScenarioFileError;
pub use schedule_file::ScheduleFileError;
pub use search::{CheckError, Options, Outcome, check, walk};
pub use standard::all as standard_scenarios;
pub use standing::{Standing, standing};
pub use step::Step;
pub use survey::{Answer, Question, Survey, asked, survey};
pub use topology::Topology;
pub use trace::{HELD, trace};
