//! Built-in library: names that every policy may use. The types pass resolves them with this table,
//! `hearth list library` prints it, and a test checks that the language reference names each word.

use crate::ir::{CoreField, Event, Fact, KeptSet, Level, ThreadField, Type};

/// A library word.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub name: &'static str,
    pub kind: Kind,
    /// Usage, with parameters and result type.
    pub usage: &'static str,
    pub doc: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value without arguments.
    Value(Value),
    Function(Function),
    /// Method of a policy's set.
    SetMethod(SetMethod),
    /// Field of a core.
    CoreField(CoreField),
    /// Field of a thread.
    ThreadField(ThreadField),
    /// Topology level, only in `groups`; `machine` is also a value.
    Level(Level),
    /// Number of stolen threads, in the `stop` phases of a steal.
    Stolen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Now,
    Fact(Fact),
    Kept(KeptSet),
    Machine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    DomainOf(Level),
    Groups,
    Decay,
    Min,
    Max,
    Count,
    Empty,
    Claim,
    Release,
    Arm,
    Cancel,
    KeepWarm,
    Preempt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetMethod {
    Add,
    Remove,
}

const fn word(name: &'static str, kind: Kind, usage: &'static str, doc: &'static str) -> Word {
    Word { name, kind, usage, doc }
}

/// All words, in the order of the language reference.
pub const WORDS: &[Word] = &[
    word("now", Kind::Value(Value::Now), "now : time", "Time of this event."),
    word(
        "waker_exits",
        Kind::Value(Value::Fact(Fact::WakerExits)),
        "waker_exits : bool",
        "In `unblock`: the waker is exiting, so its core is free at once. False in other events.",
    ),
    word(
        "waker_sleeps",
        Kind::Value(Value::Fact(Fact::WakerSleeps)),
        "waker_sleeps : bool",
        "In `unblock`: the waker said that it is about to sleep (a synchronous wake-up). False in other events.",
    ),
    word("online", Kind::Value(Value::Kept(KeptSet::Online)), "online : set", "Cores that can run threads."),
    word(
        "idle",
        Kind::Value(Value::Kept(KeptSet::Idle)),
        "idle : set",
        "Cores without a running, ready or incoming thread.",
    ),
    word(
        "idle_whole",
        Kind::Value(Value::Kept(KeptSet::IdleWhole)),
        "idle_whole : set",
        "Idle cores whose hyperthreads are all idle.",
    ),
    word(
        "waiting",
        Kind::Value(Value::Kept(KeptSet::Waiting)),
        "waiting : set",
        "Cores with threads in their ready queues.",
    ),
    word("machine", Kind::Value(Value::Machine), "machine : domain", "All cores."),
    word(
        "smt",
        Kind::Function(Function::DomainOf(Level::Smt)),
        "smt(core c) : domain",
        "Hyperthreads of c's physical core, including c.",
    ),
    word(
        "llc",
        Kind::Function(Function::DomainOf(Level::Llc)),
        "llc(core c) : domain",
        "Cores that share c's last-level cache (die), including c.",
    ),
    word(
        "numa",
        Kind::Function(Function::DomainOf(Level::Numa)),
        "numa(core c) : domain",
        "Cores of c's NUMA node, including c.",
    ),
    word(
        "groups",
        Kind::Function(Function::Groups),
        "groups(domain d, level)",
        "Domains of a lower level (smt, llc, numa) within d; only after `in` of a loop or search.",
    ),
    word("count", Kind::Function(Function::Count), "count(set s) : int", "Number of cores in s."),
    word("empty", Kind::Function(Function::Empty), "empty(set s) : bool", "True if s contains no core."),
    word(
        "min",
        Kind::Function(Function::Min),
        "min(a, b)",
        "The smaller of two numbers with the same unit. With an iteration as argument: a search.",
    ),
    word(
        "max",
        Kind::Function(Function::Max),
        "max(a, b)",
        "The greater of two numbers with the same unit. With an iteration as argument: a search.",
    ),
    word(
        "decay",
        Kind::Function(Function::Decay),
        "decay(load value, time passed, time half_life) : load",
        "value, halved once per half_life of passed time, rounded down; value unchanged if passed <= 0.",
    ),
    word(
        "claim",
        Kind::Function(Function::Claim),
        "claim(core c) : bool",
        "Claims c for this placement: true if c is idle and unclaimed. The claim lasts until a thread is \
         placed on c or the claim is released.",
    ),
    word("release", Kind::Function(Function::Release), "release(core c)", "Releases the claim of c."),
    word(
        "arm",
        Kind::Function(Function::Arm),
        "arm(thread t, time after)",
        "Triggers event `timer` for t after this time, unless t is scheduled or armed again before.",
    ),
    word("cancel", Kind::Function(Function::Cancel), "cancel(thread t)", "Cancels t's timer."),
    word(
        "keep_warm",
        Kind::Function(Function::KeepWarm),
        "keep_warm(core c, time at_most)",
        "When c becomes idle, it spins for at most this time, or until its hyperthread gets a thread.",
    ),
    word(
        "preempt",
        Kind::Function(Function::Preempt),
        "preempt(core c)",
        "Triggers event `preempt` for the thread running on c, then `schedule`.",
    ),
    word(
        "add",
        Kind::SetMethod(SetMethod::Add),
        "s.add(core c) : bool",
        "Adds c to the policy's set s; false if s is full and does not contain c.",
    ),
    word(
        "remove",
        Kind::SetMethod(SetMethod::Remove),
        "s.remove(core c) : bool",
        "Removes c from the policy's set s; false if s did not contain c.",
    ),
    word("current", Kind::CoreField(CoreField::Current), "c.current : thread?", "The thread running on c."),
    word(
        "nr_ready",
        Kind::CoreField(CoreField::NrReady),
        "c.nr_ready : int",
        "Number of threads in c's ready queues.",
    ),
    word(
        "nr_running",
        Kind::CoreField(CoreField::NrRunning),
        "c.nr_running : int",
        "Number of threads in c's ready queues, plus the running one.",
    ),
    word(
        "frequency",
        Kind::CoreField(CoreField::Frequency),
        "c.frequency : frequency",
        "Frequency at c's last tick. Idle cores have no ticks, so their value is stale. Above `min_frequency` where frequencies are unknown.",
    ),
    word(
        "min_frequency",
        Kind::CoreField(CoreField::MinFrequency),
        "c.min_frequency : frequency",
        "Lowest frequency of c.",
    ),
    word(
        "capacity",
        Kind::CoreField(CoreField::Capacity),
        "c.capacity : int",
        "Speed of c at its highest frequency relative to the machine's fastest core, 1 to 1024. 1024 where speeds are unknown.",
    ),
    word(
        "exit_latency",
        Kind::CoreField(CoreField::ExitLatency),
        "c.exit_latency : time",
        "Exit latency of c's current idle state; 0 if c is busy, or if the kernel has no cpuidle driver, as in most virtual machines.",
    ),
    word(
        "idle_since",
        Kind::CoreField(CoreField::IdleSince),
        "c.idle_since : time",
        "Time at which c last became idle.",
    ),
    word(
        "core",
        Kind::ThreadField(ThreadField::Core),
        "t.core : core",
        "Core where t runs, is ready or last ran; for a new thread, its parent's core.",
    ),
    word(
        "weight",
        Kind::ThreadField(ThreadField::Weight),
        "t.weight : int",
        "Load weight as in Linux: 1024 at nice 0.",
    ),
    word(
        "runtime",
        Kind::ThreadField(ThreadField::Runtime),
        "t.runtime : time",
        "Total time that t has run.",
    ),
    word(
        "affinity",
        Kind::ThreadField(ThreadField::Affinity),
        "t.affinity : set",
        "Cores that t may run on; never empty.",
    ),
    word(
        "stolen",
        Kind::Stolen,
        "stolen : int",
        "Number of threads taken so far: in `stop_core` from this core, in `stop` from all cores.",
    ),
];

/// An event in the language reference.
pub struct EventWord {
    pub event: Event,
    /// The head of a handler.
    pub usage: &'static str,
    pub doc: &'static str,
}

const fn event(event: Event, usage: &'static str, doc: &'static str) -> EventWord {
    EventWord { event, usage, doc }
}

/// All events, in the order of the language reference.
pub const EVENTS: &[EventWord] = &[
    event(Event::New, "on new (thread t, core parent)", "`t` was made on core `parent`: it becomes ready."),
    event(
        Event::Unblock,
        "on unblock (thread t, core waker)",
        "`t` was woken from core `waker`; or, without `block`, its affinity or weight changed, or another class took its core: it becomes ready.",
    ),
    event(
        Event::Enqueue,
        "on enqueue (thread t, core c)",
        "Before every entry of `t` into a ready queue of `c`.",
    ),
    event(
        Event::Schedule,
        "on schedule (core c)",
        "`c` needs a thread: one of `c`'s ready threads runs, if there is one.",
    ),
    event(Event::Tick, "on tick (thread t)", "At each tick of the core on which `t` runs."),
    event(
        Event::Yield,
        "on yield (thread t)",
        "`t` gives up its core for the moment: it becomes ready on its core.",
    ),
    event(
        Event::Preempt,
        "on preempt (thread t)",
        "`t` loses its core; no handler preempts meanwhile: it becomes ready.",
    ),
    event(Event::Block, "on block (thread t)", "`t` sleeps or waits: it is blocked."),
    event(Event::Terminate, "on terminate (thread t)", "`t` ends: it is terminated."),
    event(
        Event::Timer,
        "on timer (thread t)",
        "The time given to `arm(t, ...)` is over: it may become ready elsewhere.",
    ),
    event(
        Event::NewlyIdle,
        "on newly_idle (core c)",
        "`c` has no thread, but is not idle yet: `c` may steal.",
    ),
    event(Event::EnterIdle, "on enter_idle (core c)", "`c` is idle from now on."),
    event(Event::ExitIdle, "on exit_idle (core c)", "`c` is no longer idle."),
    event(Event::Balance, "on balance (core c)", "At each tick of `c`: may steal."),
    event(Event::Entry, "on entry (core c)", "`c` goes online."),
    event(Event::Exit, "on exit (core c)", "`c` goes offline."),
];

/// Usage and documentation of an event.
pub fn event_word(event: Event) -> Option<&'static EventWord> {
    EVENTS.iter().find(|word| word.event == event)
}

pub fn value(name: &str) -> Option<Value> {
    WORDS.iter().find_map(|w| match w.kind {
        Kind::Value(value) if w.name == name => Some(value),
        _ => None,
    })
}

pub fn function(name: &str) -> Option<Function> {
    WORDS.iter().find_map(|w| match w.kind {
        Kind::Function(function) if w.name == name => Some(function),
        _ => None,
    })
}

pub fn set_method(name: &str) -> Option<SetMethod> {
    WORDS.iter().find_map(|w| match w.kind {
        Kind::SetMethod(method) if w.name == name => Some(method),
        _ => None,
    })
}

pub fn core_field(name: &str) -> Option<CoreField> {
    WORDS.iter().find_map(|w| match w.kind {
        Kind::CoreField(field) if w.name == name => Some(field),
        _ => None,
    })
}

pub fn thread_field(name: &str) -> Option<ThreadField> {
    WORDS.iter().find_map(|w| match w.kind {
        Kind::ThreadField(field) if w.name == name => Some(field),
        _ => None,
    })
}

pub fn level(name: &str) -> Option<Level> {
    match name {
        "smt" => Some(Level::Smt),
        "llc" => Some(Level::Llc),
        "numa" => Some(Level::Numa),
        "machine" => Some(Level::Machine),
        _ => None,
    }
}

/// Usage of a function, for error messages.
pub fn usage(name: &str) -> &'static str {
    WORDS.iter().find(|w| w.name == name).map_or("", |w| w.usage)
}

/// True for names that a policy must not declare at its top level.
pub fn is_reserved(name: &str) -> bool {
    value(name).is_some() || function(name).is_some() || name == "stolen"
}

impl CoreField {
    pub fn ty(self) -> Type {
        match self {
            CoreField::Current => Type::THREAD.optional(),
            CoreField::NrReady | CoreField::NrRunning | CoreField::Capacity => Type::INT,
            CoreField::Frequency | CoreField::MinFrequency => Type::FREQUENCY,
            CoreField::ExitLatency | CoreField::IdleSince => Type::TIME,
        }
    }
}

impl ThreadField {
    pub fn ty(self) -> Type {
        match self {
            ThreadField::Core => Type::CORE,
            ThreadField::Weight => Type::INT,
            ThreadField::Runtime => Type::TIME,
            ThreadField::Affinity => Type::SET,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usage_starts_with_its_word() {
        for word in WORDS {
            let used = word.usage.split([' ', '(', ':']).next().unwrap_or("");
            let last = used.rsplit('.').next().unwrap_or("");
            assert_eq!(last, word.name, "{}", word.usage);
            assert!(word.doc.ends_with('.'), "{}", word.doc);
        }
    }
}
