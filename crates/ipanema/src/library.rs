//! The words that every policy may use: what they are, and what they mean. The language reference
//! is checked against this table, and the types pass resolves built-in names by it.

use crate::ir::{CoreField, KeptSet, Level, ThreadField, Type};

/// A word of the library.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    pub name: &'static str,
    pub kind: Kind,
    /// As it is used: with parameters and the type of the result.
    pub usage: &'static str,
    pub doc: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value without arguments.
    Value(Value),
    Function(Function),
    /// Behind a set of the policy.
    SetMethod(SetMethod),
    /// Behind a core.
    CoreField(CoreField),
    /// Behind a thread.
    ThreadField(ThreadField),
    /// A level of the topology, in `groups` only; `machine` is also a value.
    Level(Level),
    /// A count that the `stop` phases of a steal see.
    Stolen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Now,
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

/// All words, in the order of the reference.
pub const WORDS: &[Word] = &[
    word("now", Kind::Value(Value::Now), "now : time", "The time of this event."),
    word("online", Kind::Value(Value::Kept(KeptSet::Online)), "online : set", "Cores that may run threads."),
    word(
        "idle",
        Kind::Value(Value::Kept(KeptSet::Idle)),
        "idle : set",
        "Cores that run nothing, have nothing ready, and are not on their way to run something.",
    ),
    word(
        "idle_whole",
        Kind::Value(Value::Kept(KeptSet::IdleWhole)),
        "idle_whole : set",
        "Idle cores whose hyperthreads are all idle too.",
    ),
    word(
        "waiting",
        Kind::Value(Value::Kept(KeptSet::Waiting)),
        "waiting : set",
        "Cores that have threads in their ready queues.",
    ),
    word("machine", Kind::Value(Value::Machine), "machine : domain", "All cores."),
    word(
        "smt",
        Kind::Function(Function::DomainOf(Level::Smt)),
        "smt(core c) : domain",
        "The hyperthreads that share c's physical core, with c.",
    ),
    word(
        "llc",
        Kind::Function(Function::DomainOf(Level::Llc)),
        "llc(core c) : domain",
        "The cores that share c's last-level cache: its die.",
    ),
    word(
        "numa",
        Kind::Function(Function::DomainOf(Level::Numa)),
        "numa(core c) : domain",
        "The cores of c's NUMA node.",
    ),
    word(
        "groups",
        Kind::Function(Function::Groups),
        "groups(domain d, level)",
        "The domains of a narrower level (smt, llc, numa) in d; only behind `in` of a loop or search.",
    ),
    word("count", Kind::Function(Function::Count), "count(set s) : int", "How many cores are in s."),
    word("empty", Kind::Function(Function::Empty), "empty(set s) : bool", "No core is in s."),
    word(
        "min",
        Kind::Function(Function::Min),
        "min(a, b)",
        "The smaller of two numbers of one unit. With an iteration inside: a search.",
    ),
    word(
        "max",
        Kind::Function(Function::Max),
        "max(a, b)",
        "The greater of two numbers of one unit. With an iteration inside: a search.",
    ),
    word(
        "decay",
        Kind::Function(Function::Decay),
        "decay(load value, time passed, time half_life) : load",
        "value, halved once per half_life, rounded down; value itself for passed <= 0.",
    ),
    word(
        "claim",
        Kind::Function(Function::Claim),
        "claim(core c) : bool",
        "True if c is idle and no other placement has it; then this one does, until a thread is \
         placed on c or the claim is released.",
    ),
    word("release", Kind::Function(Function::Release), "release(core c)", "Gives up a claim."),
    word(
        "arm",
        Kind::Function(Function::Arm),
        "arm(thread t, time after)",
        "Event `timer` for t after this time, unless t is scheduled or armed again first.",
    ),
    word("cancel", Kind::Function(Function::Cancel), "cancel(thread t)", "Stops t's timer."),
    word(
        "keep_warm",
        Kind::Function(Function::KeepWarm),
        "keep_warm(core c, time at_most)",
        "When c goes idle, it spins for this time, unless its hyperthread gets a thread.",
    ),
    word(
        "preempt",
        Kind::Function(Function::Preempt),
        "preempt(core c)",
        "Event `preempt` for the thread that runs on c, then `schedule`.",
    ),
    word(
        "add",
        Kind::SetMethod(SetMethod::Add),
        "s.add(core c) : bool",
        "c is now in the policy's set s; false if s is full and c was not in it.",
    ),
    word(
        "remove",
        Kind::SetMethod(SetMethod::Remove),
        "s.remove(core c) : bool",
        "c is no longer in the policy's set s; false if it was not.",
    ),
    word("current", Kind::CoreField(CoreField::Current), "c.current : thread?", "The thread that runs on c."),
    word("nr_ready", Kind::CoreField(CoreField::NrReady), "c.nr_ready : int", "Threads in c's ready queues."),
    word(
        "nr_running",
        Kind::CoreField(CoreField::NrRunning),
        "c.nr_running : int",
        "Threads in c's ready queues, and the one that runs.",
    ),
    word(
        "frequency",
        Kind::CoreField(CoreField::Frequency),
        "c.frequency : frequency",
        "As seen at c's last tick; an idle core has none.",
    ),
    word(
        "min_frequency",
        Kind::CoreField(CoreField::MinFrequency),
        "c.min_frequency : frequency",
        "The lowest that c can run at.",
    ),
    word(
        "exit_latency",
        Kind::CoreField(CoreField::ExitLatency),
        "c.exit_latency : time",
        "What it takes c to leave the idle state that it is in; 0 if it is busy.",
    ),
    word(
        "idle_since",
        Kind::CoreField(CoreField::IdleSince),
        "c.idle_since : time",
        "When c last became idle.",
    ),
    word(
        "core",
        Kind::ThreadField(ThreadField::Core),
        "t.core : core",
        "Where t runs or is ready, or last ran; of a new thread its parent's.",
    ),
    word("weight", Kind::ThreadField(ThreadField::Weight), "t.weight : int", "1024 at nice 0, as in Linux."),
    word(
        "runtime",
        Kind::ThreadField(ThreadField::Runtime),
        "t.runtime : time",
        "How long t has run so far.",
    ),
    word(
        "affinity",
        Kind::ThreadField(ThreadField::Affinity),
        "t.affinity : set",
        "The cores that t may use: never empty.",
    ),
    word(
        "stolen",
        Kind::Stolen,
        "stolen : int",
        "In `stop_core` the threads taken from this core so far, in `stop` from all.",
    ),
];

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

/// The library's usage line of a function, for error messages.
pub fn usage(name: &str) -> &'static str {
    WORDS.iter().find(|w| w.name == name).map_or("", |w| w.usage)
}

/// A word that a policy may not declare at its top level.
pub fn is_reserved(name: &str) -> bool {
    value(name).is_some() || function(name).is_some() || name == "stolen"
}

impl CoreField {
    pub fn ty(self) -> Type {
        match self {
            CoreField::Current => Type::THREAD.optional(),
            CoreField::NrReady | CoreField::NrRunning => Type::INT,
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
