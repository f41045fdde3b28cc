//! A state of the model: what handlers share, and the progress of each core. Small and cheap to copy.

use std::sync::Arc;

use hearth_base::constants;
pub use hearth_base::constants::MAX_QUEUES;
use hearth_ipanema::ir::Event;

use crate::cores::Cores;

/// The `u8` for "no thread".
pub const NO_THREAD: u8 = u8::MAX;
/// Largest number of threads: a `Line` has four bits for each.
pub const MAX_THREADS: usize = 7;
pub const TICK_NS: i64 = constants::TICK_NS as i64;

/// SaaKM's states of a thread. MIGRATING only occurs within an atomic step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    NotQueued,
    Ready,
    Running,
    Blocked,
    Terminated,
}

/// A ready queue: four bits for each thread, its number + 1, with the first thread in the lowest bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Line(pub u32);

impl Line {
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let thread = (rest & 15).checked_sub(1)?;
            rest >>= 4;
            Some(thread as u8)
        })
    }

    pub fn len(self) -> usize {
        (u32::BITS - self.0.leading_zeros()).div_ceil(4) as usize
    }

    pub fn contains(self, thread: u8) -> bool {
        self.iter().any(|other| other == thread)
    }

    pub fn remove(&mut self, thread: u8) {
        *self = self.iter().filter(|other| *other != thread).collect();
    }

    pub fn insert(&mut self, at: usize, thread: u8) {
        let below = self.0 & ((1 << (4 * at)) - 1);
        self.0 = below | (u32::from(thread) + 1) << (4 * at) | (self.0 - below) << 4;
    }
}

impl FromIterator<u8> for Line {
    fn from_iter<I: IntoIterator<Item = u8>>(threads: I) -> Line {
        Line(
            threads
                .into_iter()
                .zip(0..)
                .fold(0, |line, (thread, at)| line | (u32::from(thread) + 1) << (4 * at)),
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    pub state: State,
    /// Where it runs, is ready, or last ran. For a new thread, the core of its parent.
    pub core: u8,
    /// Its ready queue, while it is ready.
    pub queue: u8,
    /// The next operation of its program.
    pub next: u8,
    /// It was woken while it was awake: it skips its next block.
    pub token: bool,
    /// It sleeps until an interrupt wakes it.
    pub sleeps: bool,
    /// Its key in an ordered queue.
    pub key: i64,
    /// Execution time before `since`, in nanoseconds.
    pub runtime: i64,
    /// Start of the current execution, or -1.
    pub since: i64,
    /// When its timer fires, or -1.
    pub timer: i64,
    /// The core that armed the timer.
    pub timer_core: u8,
    /// Ticks since it became ready. Only bounded waiting counts them.
    pub waited: u8,
}

/// Whether a core is idle between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Idle,
    Busy,
}

/// Ghost state of an event in progress: only properties read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// Cores that were idle when the event began.
    pub idle_before: Cores,
    /// Cores that other cores' events made idle since.
    pub became_idle: Cores,
    /// Cores on which other cores' events placed a thread since.
    pub placed: Cores,
    /// Cores that it has tried to steal for.
    pub thieves: Cores,
}

/// The progress of an event on its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The handler of this event is running.
    Handler(Event),
    /// Next, the core runs `schedule` with its queue locked.
    Schedule,
    /// Next, the core goes idle unless a thread is ready.
    GoIdle,
}

/// An event in progress on a core: its handler, and the results of all its accesses so far.
/// To resume, the handler runs again from its start with these results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Activity {
    pub phase: Phase,
    /// The event that began it.
    pub cause: Event,
    /// Its last handler other than `exit_idle`.
    pub last: Event,
    /// The thread of the event, or `NO_THREAD`.
    pub subject: u8,
    /// The core of the event.
    pub core: u8,
    /// Results of the accesses of the current handler.
    pub record: Vec<i64>,
    /// Cores that the handler has claimed.
    pub claims: Cores,
    /// Idle cores on which the handler placed threads: `exit_idle` follows for each.
    pub woken: Cores,
    /// The subject has made its transition.
    pub moved: bool,
    /// `newly_idle` has run.
    pub searched: bool,
    /// The event is a wake-up by a thread that says that it is about to sleep.
    pub sync: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Core {
    pub current: u8,
    pub queues: [Line; MAX_QUEUES],
    pub idle_since: i64,
    /// A handler has requested the preemption of its thread.
    pub resched: bool,
    /// Its tick of this period is pending.
    pub tick: bool,
    pub mode: Mode,
    pub ghost: Ghost,
    pub activity: Option<Arc<Activity>>,
}

impl Core {
    pub fn nr_ready(&self) -> usize {
        self.queues.iter().map(|queue| queue.len()).sum()
    }

    pub fn nr_running(&self) -> usize {
        self.nr_ready() + usize::from(self.current != NO_THREAD)
    }

    pub fn ready(&self) -> impl Iterator<Item = u8> {
        self.queues.into_iter().flat_map(Line::iter)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The time in nanoseconds.
    pub now: i64,
    /// How many ticks remain.
    pub ticks: u8,
    /// External events have stopped.
    pub quiet: Option<Quiet>,
    pub idle: Cores,
    pub claimed: Cores,
    /// The policy's sets and attributes: see `Layout`.
    pub vars: Vec<i64>,
    pub cores: Vec<Core>,
    pub threads: Vec<Thread>,
}

/// The balancing since external events have stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quiet {
    /// Rounds that have ended.
    pub rounds: u8,
    /// Cores that have handled their tick in this round.
    pub balanced: Cores,
}

impl Activity {
    /// The beginning of an event on `core`.
    pub fn new(event: Event, subject: u8, core: u8) -> Activity {
        Activity {
            phase: if event == Event::Schedule { Phase::Schedule } else { Phase::Handler(event) },
            cause: event,
            last: event,
            subject,
            core,
            record: Vec::new(),
            claims: Cores::EMPTY,
            woken: Cores::EMPTY,
            moved: false,
            searched: false,
            sync: false,
        }
    }

    /// A placeholder for evaluation outside of any event.
    pub fn none() -> Activity {
        Activity::new(Event::Schedule, NO_THREAD, 0)
    }

    /// The event whose handler is running or comes next.
    pub fn event(&self) -> Event {
        match self.phase {
            Phase::Handler(event) => event,
            Phase::Schedule => Event::Schedule,
            Phase::GoIdle => Event::EnterIdle,
        }
    }
}

impl World {
    pub fn core(&self, core: u8) -> &Core {
        &self.cores[usize::from(core)]
    }

    pub fn core_mut(&mut self, core: u8) -> &mut Core {
        &mut self.cores[usize::from(core)]
    }

    pub fn thread(&self, thread: u8) -> &Thread {
        &self.threads[usize::from(thread)]
    }

    pub fn thread_mut(&mut self, thread: u8) -> &mut Thread {
        &mut self.threads[usize::from(thread)]
    }

    /// Cores with threads in their ready queues.
    pub fn waiting(&self) -> Cores {
        (0..).zip(&self.cores).filter(|(_, core)| core.nr_ready() > 0).map(|(id, _)| id).collect()
    }

    /// The core whose event in progress owns this thread: no steal can interfere with it.
    pub fn owner(&self, thread: u8) -> Option<u8> {
        let owns = |core: &Core| {
            let activity = core.activity.as_ref();
            activity.is_some_and(|a| a.subject == thread && a.cause != Event::Timer && !a.moved)
        };
        self.cores.iter().position(owns).map(|core| core as u8)
    }

    /// Execution time of the thread until now, in nanoseconds.
    pub fn runtime(&self, thread: u8) -> i64 {
        let t = self.thread(thread);
        if t.since < 0 || self.now < t.since { t.runtime } else { t.runtime + self.now - t.since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_keeps_its_order() {
        let mut line: Line = [3, 0, 6].into_iter().collect();
        line.insert(1, 2);
        assert_eq!(line.iter().collect::<Vec<u8>>(), [3, 2, 0, 6]);
        line.remove(2);
        line.insert(3, 1);
        assert_eq!(line.iter().collect::<Vec<u8>>(), [3, 0, 6, 1]);
        assert_eq!(line.len(), 4);
        assert!(line.contains(6) && !line.contains(2));
    }
}
