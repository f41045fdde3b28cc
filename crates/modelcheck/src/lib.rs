//! A model checker for scheduling policies: what happens if events of several cores interleave in
//! every possible way.
//!
//! [`check()`] takes a [`Policy`](hearth_policy::Policy) (the IR from which C is emitted), a [`Scenario`] (2 to 4 cores, 2 to 7 threads with small programs), and reaches every
//! state that there is, or the nearest one that is wrong, as a [`Counterexample`]: a short schedule.
//! [`trace()`] makes a trace of that, as of any other run.
//!
//! ```
//! use hearth_modelcheck::{Options, Scenario, check};
//!
//! let cfs = hearth_policy::load("cfs").expect("cfs is sound");
//! let scenario = Scenario::named("exit-2").expect("a standard scenario");
//! let outcome = check(&cfs, &scenario, &Options::default()).expect("it fits");
//! assert!(outcome.complete && outcome.violation.is_none());
//! ```
//!
//! # What is a step
//!
//! Events of one core come one after the other, in the order that `runtime/saakm.h` prescribes;
//! events of different cores interleave. Within a handler each access to what is shared is a step:
//! a read of a kept set, of a set of the policy or of a field or attribute of a core or thread; a
//! change of one; a claim; a transition. A loop or search takes its set as it is when it begins, as
//! the language says. (The C code looks at a set again between two walks over it, and so sees later
//! changes that are not explored.) Steps of their own, whatever they access, are
//!
//! - `schedule`, with the start of the thread: the core has its run queue locked;
//! - going idle, if no thread is ready by then;
//! - the third phase of a steal on one victim, where the scenario says [`Stealing::Locked`]. With
//!   [`Stealing::CompareAndSwap`] it is made of single accesses, and who moves a thread first has it.
//!
//! Between two steps a handler is the list of the results of its accesses so far: to go on, it is
//! run again from its start with these.
//!
//! # What is left out
//!
//! Time goes on in ticks of 4 ms, and only while no event is under way; within a tick threads run
//! for no time, and timers fire at any moment. Frequencies stay as the scenario has them. The idle
//! loop (`keep_warm`), hot plugging (`entry`, `exit`) and changes of affinity do not happen. A wake-up
//! of a thread that is about to block waits until it has, as in a kernel. A new thread, and one that
//! is woken by an interrupt, has the core of its parent or its own as in the simulator. `exit_idle`
//! is called by the core that makes the placement, as in both runtimes.
//!
//! # Properties
//!
//! **Safety**, always: every thread is in one state and one place; transitions are legal, exactly one
//! where the event asks for one; no thread is placed where it may not run; `schedule` does not leave
//! a ready thread for idleness. **Claims**: no two placements of threads on a core that both had
//! claimed. **Invariants**: conditions over sets, parameters and globals; those that a policy declares
//! while no event is under way, others ([`Options::invariants`]) always.
//!
//! **Concurrent work conservation** ([`Options::cwc`]; Lepers et al., *Provable Multicore Schedulers
//! with Ipanema*, EuroSys 2020). A core is *idle* if it is in the set `idle`; it is *overloaded* for an
//! idle core `c` if it has two threads or more, of which one waits that may run on `c`. When an event
//! ends, with what follows it on its core (`block` with `schedule`, `newly_idle` and `enter_idle`):
//!
//! - `new` and `unblock`, at the end of the handler: the chosen core does not have two threads or more
//!   while a core on which the thread may run was idle from the beginning of the event to its end;
//! - any event after which its core goes idle (`block`, `terminate`, `yield`, `preempt`, or the
//!   `schedule` of a woken core): no core is overloaded for this one;
//! - a tick, with its `balance`: no core is overloaded for an idle one for which it stole, or tried to
//!   (the first argument of each `steal`). Where the policy does not balance, it promises nothing.
//!
//! A core `o` is excused if, while the event was under way, another core's event placed a thread on
//! it; an idle core `c` if another core's event made it idle meanwhile, or if one is under way on `c`
//! at the end. A claim of `c` by another core's handler is such an event.
//!
//! **Collisions** ([`Options::collisions`]) are stricter: a placement behind another thread while a core
//! was idle all the time is not excused by another placement at the same time. Policies that `claim`
//! can promise that.
//!
//! # Reductions
//!
//! Accesses that commute with everything other cores can do are done together with the step before
//! them: see `reduction.rs` for which, and why that is sound. [`Options::reduce`] turns it off. Cores are
//! not symmetric to a policy, as it walks over them by number.
//!
//! States are told apart by a 128-bit hash. If an exploration ends before [`Options::max_states`] with
//! no violation, there is none, but for a collision of hashes (10^-25 with ten million states).

mod access;
mod arithmetic;
mod consistency;
mod cores;
mod counterexample;
mod cwc;
mod driver;
mod env;
mod initial;
mod interp;
mod log;
mod model;
mod narrate;
mod perform;
mod property;
mod reduction;
mod replay;
mod scenario;
mod schedule_file;
mod search;
mod standard;
mod step;
#[cfg(test)]
mod tests;
mod topology;
mod trace;
mod world;

pub use cores::Cores;
pub use counterexample::Counterexample;
pub use model::{Faults, Invariant};
pub use property::{Property, Violation};
pub use replay::{Kind, Left, SchedulerEvent, replay};
pub use scenario::{Op, Scenario, ScenarioError, Start, Stealing, ThreadSpec};
pub use schedule_file::{SCHEMA as SCHEDULE_SCHEMA, ScheduleFileError};
pub use search::{CheckError, Options, Outcome, check};
pub use standard::all as standard_scenarios;
pub use step::Step;
pub use topology::Topology;
pub use trace::{HELD, trace};
