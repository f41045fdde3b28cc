//! The event model: what happened, when, on which core, and why.
//!
//! One model for recorded and simulated traces. A thread is a [`Tid`]; thread 0 is the idle thread
//! of every core. Times are nanoseconds since the start of the trace, and never decrease from one
//! event to the next. Names (of threads, reasons, core sets) live in the [`Header`], so that an
//! event is small and `Copy`.

use serde::{Deserialize, Serialize};

/// Nanoseconds since the start of the trace.
pub type Time = u64;
/// Index of a core (a hardware thread, as the papers use the word) in [`Header::cores`].
pub type CoreId = u16;
/// Thread identifier, unique in the trace. 0 is the idle thread.
pub type Tid = u32;

/// The idle thread, which every core runs when it has nothing else.
pub const IDLE: Tid = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    pub time: Time,
    /// The core on which the event happened: for a wake-up or a fork the waker's core.
    pub core: CoreId,
    pub kind: Kind,
}

/// Why a thread stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stop {
    /// Still runnable: its slice ended or another thread took the core.
    Preempted,
    /// Gave the core up with `sched_yield`.
    Yielded,
    /// Waits for something (a wake-up will follow).
    Blocked,
    Exited,
}

/// What wakes a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Waker {
    /// The thread that runs on the event's core did it itself.
    Thread(Tid),
    /// A timer or device interrupt: nobody's doing. Extraction makes a delay of it.
    Interrupt,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// The core goes from `prev` to `next`. `stop` says why `prev` stopped
    /// (`Preempted` where `prev` is idle).
    Switch { prev: Tid, stop: Stop, next: Tid },
    /// `thread`, blocked until now, became ready on core `target`.
    Wakeup { thread: Tid, waker: Waker, target: CoreId },
    /// `parent` made `child`, which became ready on core `target`.
    Fork { parent: Tid, child: Tid, target: CoreId },
    /// `thread` executes a new program; its name from now on is `name` in [`Header::names`].
    Exec { thread: Tid, name: u32 },
    /// `thread` has ended (its last `Switch` follows).
    Exit { thread: Tid },
    /// `thread` starts to wait for a child to end.
    Wait { thread: Tid },
    /// A ready thread moved to another core's run queue (balancing, or a policy's timer).
    Migrate { thread: Tid, from: CoreId, to: CoreId },
    /// A policy placed `thread` on `target`, for `reason` ([`Header::reasons`]).
    /// `seen_khz` is the frequency that the policy could see of the target (0: unknown).
    Place { thread: Tid, target: CoreId, reason: u16, seen_khz: u32 },
    /// From now on the core runs at this frequency while it executes (0: unknown).
    Frequency { khz: u32 },
    /// A scheduler tick, at which the kernel saw this frequency (0: unknown).
    Tick { khz: u32 },
    /// The idle thread enters idle state `state` ([`Header::idle_states`]).
    Idle { state: u8 },
    /// The idle loop starts (`true`) or stops to spin, to keep the core warm.
    Spin { on: bool },
    /// Threads in the core's run queue, the running one included.
    Queue { length: u16 },
    /// The core entered (`true`) or left core set `set` ([`Header::sets`]) of the policy.
    Set { set: u8, member: bool },
}

/// Where a core sits. Equal numbers mean shared hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CoreInfo {
    /// Physical core; two hyperthreads share one.
    pub physical: u16,
    /// Last-level cache ("die" in the papers).
    pub llc: u16,
    pub numa: u16,
    pub socket: u16,
}

/// A thread of the trace. `parent` is 0 when unknown (it existed before the trace).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadInfo {
    pub tid: Tid,
    pub name: String,
    pub parent: Tid,
    /// Part of what was asked for: the recorded command's tree, or the simulated workload.
    pub traced: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Source {
    /// A live kernel; how it was recorded ("tracefs", "bpf").
    Recorded { method: String, command: Vec<String>, kernel: String },
    /// The simulator: the policy, its parameters that differ from the default, and the seed.
    Simulated { policy: String, params: Vec<(String, String)>, workload: String, governor: String, seed: u64 },
    #[default]
    Unknown,
}

/// All that a trace says once.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    pub source: Source,
    /// Machine name (`machines/NAME.toml`), or the host's model name.
    pub machine: String,
    pub cores: Vec<CoreInfo>,
    /// Length of the run in nanoseconds: from the start of the workload to its last exit.
    pub duration: Time,
    pub threads: Vec<ThreadInfo>,
    /// Program names for [`Kind::Exec`].
    pub names: Vec<String>,
    pub reasons: Vec<String>,
    pub sets: Vec<String>,
    pub idle_states: Vec<String>,
    /// The frequency that turns CPU time into cycles where the trace has no frequency events.
    pub assumed_khz: u32,
    /// Lowest and highest frequency of the machine in kHz (0: unknown), for colour scales.
    pub khz_range: (u32, u32),
    /// Events that the recorder lost, per core.
    pub lost: Vec<u64>,
    /// Energy in joules of the whole machine over `duration`, in microjoules (0: unknown).
    pub energy_uj: u64,
}

/// Whatever takes events one by one: a store, a metric, a hash.
///
/// Events arrive in order of time. A simulation that needs no stored trace is given only
/// metrics and a hash, and then keeps nothing.
pub trait Sink {
    fn event(&mut self, event: &Event);

    /// A thread appears. Said before its first event, so that while the events pass it is known
    /// whether it is traced.
    fn thread(&mut self, _thread: &ThreadInfo) {}
}

impl Sink for Vec<Event> {
    fn event(&mut self, event: &Event) {
        self.push(*event);
    }
}

/// Nothing is kept.
impl Sink for () {
    fn event(&mut self, _: &Event) {}
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn thread(&mut self, thread: &ThreadInfo) {
        self.0.thread(thread);
        self.1.thread(thread);
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn event(&mut self, event: &Event) {
        (**self).event(event);
    }

    fn thread(&mut self, thread: &ThreadInfo) {
        (**self).thread(thread);
    }
}

impl<S: Sink> Sink for Option<S> {
    fn event(&mut self, event: &Event) {
        if let Some(sink) = self {
            sink.event(event);
        }
    }

    fn thread(&mut self, thread: &ThreadInfo) {
        if let Some(sink) = self {
            sink.thread(thread);
        }
    }
}
