//! Event model: what happened, when, on which core, and why.
//!
//! Recorded and simulated traces share it. A thread is a [`Tid`]; thread 0 is the idle thread of
//! every core. Times are nanoseconds since the start of the trace and never decrease from one event
//! to the next. Names (of threads, reasons, core sets) are in the [`Header`], which keeps an event
//! small and `Copy`.

use crate::source::Source;
use serde::{Deserialize, Serialize};

/// Nanoseconds since the start of the trace.
pub type Time = u64;
/// Index of a core (a hardware thread, as in the papers) in [`Header::cores`].
pub type CoreId = u16;
/// Thread number, unique in the trace. 0 is the idle thread.
pub type Tid = u32;

/// The idle thread, which a core runs when no other thread is runnable.
pub const IDLE: Tid = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    pub time: Time,
    /// Core on which the event happened; for a wake-up or a fork, the core of the waker or parent.
    pub core: CoreId,
    pub kind: Kind,
}

/// Why a thread stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Stop {
    /// Still runnable: its time slice ended or another thread took the core.
    Preempted,
    /// Yielded the core with `sched_yield`.
    Yielded,
    /// Waits; a wake-up follows.
    Blocked,
    Exited,
}

/// Cause of a wake-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Waker {
    /// The thread that runs on the event's core.
    Thread(Tid),
    /// A timer or device interrupt. Workload extraction turns it into a delay.
    Interrupt,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// The core switches from `prev` to `next`. `stop` is the reason why `prev` stopped
    /// (`Preempted` if `prev` is the idle thread).
    Switch { prev: Tid, stop: Stop, next: Tid },
    /// Blocked thread `thread` became ready on core `target`. `sync`: the waker said that it is about to sleep; false if
    /// that is not recorded ([`Header::sync`]).
    Wakeup { thread: Tid, waker: Waker, target: CoreId, sync: bool },
    /// `parent` created `child`, which became ready on core `target`.
    Fork { parent: Tid, child: Tid, target: CoreId },
    /// `thread` executes a new program; its new name is `name` in [`Header::names`].
    Exec { thread: Tid, name: u32 },
    /// `thread` exits; its last `Switch` follows.
    Exit { thread: Tid },
    /// `thread` starts to wait for a child to exit.
    Wait { thread: Tid },
    /// A ready thread moved to another core's run queue (load balancing or a policy's timer).
    Migrate { thread: Tid, from: CoreId, to: CoreId },
    /// A policy placed `thread` on `target` for `reason` ([`Header::reasons`]). `seen_khz` is the
    /// frequency of the target as visible to the policy (0: unknown).
    Place { thread: Tid, target: CoreId, reason: u16, seen_khz: u32 },
    /// Frequency at which the core executes from now on (0: unknown).
    Frequency { khz: u32 },
    /// Scheduler tick, with the frequency that the kernel sampled (0: unknown).
    Tick { khz: u32 },
    /// The idle thread enters idle state `state` ([`Header::idle_states`]).
    Idle { state: u8 },
    /// The idle loop starts (`true`) or stops spinning to keep the core warm.
    Spin { on: bool },
    /// Number of threads in the core's run queue, including the running one.
    Queue { length: u16 },
    /// The core joined (`true`) or left core set `set` ([`Header::sets`]) of the policy.
    Set { set: u8, member: bool },
}

/// Position of a core in the machine. Cores with equal numbers share that hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CoreInfo {
    /// Physical core; two hyperthreads share one.
    pub physical: u16,
    /// Last-level cache ("die" in the papers).
    pub llc: u16,
    pub numa: u16,
    pub socket: u16,
}

/// A thread of the trace. `parent` is 0 if the thread existed before the trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadInfo {
    pub tid: Tid,
    pub name: String,
    pub parent: Tid,
    /// True for threads of the recorded command or the simulated workload.
    pub traced: bool,
    /// The kernel's number of the thread, which it may give to another one after the thread's end; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_tid: Option<u32>,
    /// Its process, as an index in [`Header::processes`]; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
}

/// A process: threads that share their memory. A process without threads in the trace is an ancestor of others.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// The kernel's number of the process (`tgid`), which it may give to another one after the process's end.
    pub pid: u32,
    /// Last name of its first thread; empty: unknown.
    pub name: String,
    /// The process that forked it, as an index in [`Header::processes`]; of a process that existed before the trace,
    /// its parent then. `None`: unknown, or the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
}

/// Metadata of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    pub source: Source,
    /// Machine name (`machines/NAME.toml`) or the host's CPU model.
    pub machine: String,
    pub cores: Vec<CoreInfo>,
    /// Length of the run in nanoseconds, from the start of the workload to its last exit.
    pub duration: Time,
    pub threads: Vec<ThreadInfo>,
    /// The processes of the threads, as far as they are known, and the ancestors of these.
    #[serde(default)]
    pub processes: Vec<ProcessInfo>,
    /// Program names for [`Kind::Exec`].
    pub names: Vec<String>,
    pub reasons: Vec<String>,
    pub sets: Vec<String>,
    pub idle_states: Vec<String>,
    /// Frequency for converting CPU time into cycles in a trace without frequency events, in kHz.
    pub assumed_khz: u32,
    /// Lowest and highest frequency of the machine in kHz (0: unknown), for colour scales.
    pub khz_range: (u32, u32),
    /// Events that the recorder lost, per core.
    pub lost: Vec<u64>,
    /// Energy of the whole machine over `duration`, in microjoules (0: unknown).
    pub energy_uj: u64,
    /// The same from the beginning to each of some times, in order of time; empty: unknown. See
    /// [`EnergySampler`](crate::EnergySampler).
    #[serde(default)]
    pub energy_by_time: Vec<(Time, u64)>,
    /// Wake-ups say whether they are synchronous. If false, that is unknown.
    #[serde(default)]
    pub sync: bool,
}

/// Consumer of events, such as a store, a metric or a hash.
///
/// Events arrive in order of time. A simulation that needs no stored trace can feed only metrics
/// and a hash.
pub trait Sink {
    fn event(&mut self, event: &Event);

    /// Consumes successive events. A consumer that processes several at once does so faster than one at a time.
    fn events(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
    }

    /// Announces a thread before its first event, so that consumers know while streaming whether it
    /// is traced. Its name may still change; the final header is authoritative.
    fn thread(&mut self, _: &ThreadInfo) {}
}

impl Sink for Vec<Event> {
    fn event(&mut self, event: &Event) {
        self.push(*event);
    }

    fn events(&mut self, events: &[Event]) {
        self.extend_from_slice(events);
    }
}

/// Discards all events.
impl Sink for () {
    fn event(&mut self, _: &Event) {}

    fn events(&mut self, _: &[Event]) {}
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn events(&mut self, events: &[Event]) {
        self.0.events(events);
        self.1.events(events);
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

    fn events(&mut self, events: &[Event]) {
        (**self).events(events);
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

    fn events(&mut self, events: &[Event]) {
        if let Some(sink) = self {
            sink.events(events);
        }
    }

    fn thread(&mut self, thread: &ThreadInfo) {
        if let Some(sink) = self {
            sink.thread(thread);
        }
    }
}
