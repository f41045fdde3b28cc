//! The kernel's scheduling events, whatever their source.

use crate::Stop;

/// A kernel event. Threads are kernel `pid`s (0: the idle thread), processes kernel `tgid`s, cores are kernel CPU numbers. An empty name is
/// unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelEvent<'a> {
    pub time: u64,
    pub cpu: u32,
    /// The thread that was running on `cpu`.
    pub pid: i32,
    /// True in a hard or soft interrupt.
    pub interrupt: bool,
    pub kind: EventKind<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind<'a> {
    Switch {
        prev: i32,
        prev_comm: &'a [u8],
        stop: Stop,
        next: i32,
        next_comm: &'a [u8],
    },
    /// Attempt of a wake-up: the thread may turn out to be awake. `target` is the core where it last ran.
    /// `sync`: the waker says that it is about to sleep. Always false from sources that do not have this information.
    Waking {
        pid: i32,
        comm: &'a [u8],
        target: u32,
        sync: bool,
    },
    /// End of a wake-up, after its [`Waking`](EventKind::Waking). It counts in recordings without those only.
    Wakeup {
        pid: i32,
        comm: &'a [u8],
        target: u32,
    },
    WakeupNew {
        pid: i32,
        comm: &'a [u8],
        target: u32,
    },
    Fork {
        parent: i32,
        child: i32,
        child_comm: &'a [u8],
    },
    Exec {
        pid: i32,
        old_pid: i32,
        filename: &'a [u8],
    },
    Exit {
        pid: i32,
    },
    Wait,
    Migrate {
        pid: i32,
        from: u32,
        to: u32,
        /// True if the thread was in a run queue: balancing moves it, not a wake-up. Always false from tracefs, which
        /// does not have this information.
        queued: bool,
    },
    Frequency {
        cpu: u32,
        khz: u32,
    },
    /// `None`: the core leaves its idle state.
    Idle {
        cpu: u32,
        state: Option<u32>,
    },
    /// Scheduler tick, with the core's frequency (0: unknown).
    Tick {
        khz: u32,
    },
    /// Number of threads in the core's run queue, including the running one.
    Queue {
        length: u16,
    },
    /// Decision of a running policy.
    Decision(Decision),
    /// A thread is created, before its [`Fork`](EventKind::Fork) if that is reported. `in_process`: it belongs to the
    /// process of the running thread; otherwise it is a process of its own.
    NewTask {
        pid: i32,
        in_process: bool,
    },
    /// A thread belongs to a process.
    Member {
        pid: i32,
        process: i32,
    },
    /// New name of a thread.
    Name {
        pid: i32,
        comm: &'a [u8],
    },
    /// Carries only the running thread.
    Running,
}

/// Decision of a running policy (`saakm_decided` of `runtime/bpf`). Cores are kernel CPU numbers; reasons and
/// sets have the policy's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Puts a thread into a core's queue. `reason` 0: none. `khz`: the frequency that the policy saw; 0: none.
    Place {
        pid: i32,
        target: u32,
        reason: u16,
        khz: u32,
    },
    Set {
        cpu: u32,
        set: u16,
        member: bool,
    },
    Spin {
        cpu: u32,
        on: bool,
    },
}

/// Item of a merged stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Event(KernelEvent<'a>),
    /// Events were lost before the next event of `cpu`. `None`: the kernel does not know how many.
    Lost {
        cpu: u32,
        count: Option<u64>,
    },
}
