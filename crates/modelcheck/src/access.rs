//! Accesses to shared state: each is atomic.

use hearth_ipanema::ir::{AttributeId, CoreField, KeptSet, QueueId, ReasonId, SetId};

use crate::cores::Cores;
use crate::model::Model;
use crate::world::Line;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    Set(SetId),
    /// A set that the runtime maintains, such as `idle`.
    Kept(KeptSet),
    Global(AttributeId),
    CoreAttribute(u8, AttributeId),
    ThreadAttribute(u8, AttributeId),
    CoreField(u8, CoreField),
    ThreadCore(u8),
    Runtime(u8),
    /// The threads of a ready queue in order, as the bits of a `Line`.
    Queue(u8, QueueId),
    /// Whether the thread (first) is still in this queue of this core.
    InQueue(u8, u8, QueueId),

    SetSet(SetId, i64),
    SetGlobal(AttributeId, i64),
    SetCore(u8, AttributeId, i64),
    SetThread(u8, AttributeId, i64),
    Add {
        set: SetId,
        core: u8,
        max: i64,
    },
    Remove {
        set: SetId,
        core: u8,
    },
    Claim(u8),
    Release(u8),
    Arm(u8, i64),
    Cancel(u8),
    Preempt(u8),

    Ready {
        thread: u8,
        core: u8,
        queue: QueueId,
        key: i64,
        reason: ReasonId,
        /// Where a steal found the thread. If it is no longer there, another core has taken it.
        from: Option<(u8, QueueId)>,
    },
    Run(u8),
    Blocked(u8),
    Terminated(u8),
}

fn number(value: i64) -> String {
    if value % 1_000_000 == 0 && value.abs() >= 1_000_000 {
        format!("{} ms", value / 1_000_000)
    } else {
        value.to_string()
    }
}

fn truth(value: i64) -> &'static str {
    if value != 0 { "yes" } else { "no" }
}

impl Access {
    /// The access and its result in a few words.
    pub fn describe(&self, model: &Model, result: i64) -> String {
        let policy = model.policy;
        let set = |id: SetId| &policy.sets[id.index()].name;
        let global = |id: AttributeId| &policy.globals[id.index()].name;
        let of_core = |id: AttributeId| &policy.core[id.index()].name;
        let of_thread = |id: AttributeId| &policy.thread[id.index()].name;
        let queue = |id: QueueId| &policy.queues[id.index()].name;
        let cores = |bits: i64| Cores(bits as u8);
        match *self {
            Access::Set(id) => format!("{} = {}", set(id), cores(result)),
            Access::Kept(kept) => format!("{} = {}", format!("{kept:?}").to_lowercase(), cores(result)),
            Access::Global(id) => format!("{} = {}", global(id), number(result)),
            Access::CoreAttribute(core, id) => format!("core {core}.{} = {}", of_core(id), number(result)),
            Access::ThreadAttribute(t, id) => format!("thread {t}.{} = {}", of_thread(id), number(result)),
            Access::CoreField(core, field) => {
                let name = match field {
                    CoreField::Current => "current",
                    CoreField::NrReady => "nr_ready",
                    CoreField::NrRunning => "nr_running",
                    CoreField::Frequency => "frequency",
                    CoreField::MinFrequency => "min_frequency",
                    CoreField::Capacity => "capacity",
                    CoreField::ExitLatency => "exit_latency",
                    CoreField::IdleSince => "idle_since",
                };
                match (field, result) {
                    (CoreField::Current, -1) => format!("core {core}.current = none"),
                    (CoreField::Current, t) => format!("core {core}.current = thread {t}"),
                    (_, result) => format!("core {core}.{name} = {}", number(result)),
                }
            }
            Access::ThreadCore(t) => format!("thread {t}.core = {result}"),
            Access::Runtime(t) => format!("thread {t}.runtime = {}", number(result)),
            Access::Queue(core, id) => {
                let threads: Vec<String> = Line(result as u32).iter().map(|t| t.to_string()).collect();
                format!("core {core}.{} = [{}]", queue(id), threads.join(" "))
            }
            Access::InQueue(t, core, id) => {
                format!("thread {t} still in core {core}.{}: {}", queue(id), truth(result))
            }
            Access::SetSet(id, value) => format!("{} := {}", set(id), cores(value)),
            Access::SetGlobal(id, value) => format!("{} := {}", global(id), number(value)),
            Access::SetCore(core, id, value) => format!("core {core}.{} := {}", of_core(id), number(value)),
            Access::SetThread(t, id, value) => format!("thread {t}.{} := {}", of_thread(id), number(value)),
            Access::Add { set: id, core, .. } if result != 0 => format!("adds core {core} to {}", set(id)),
            Access::Add { set: id, core, .. } => format!("cannot add core {core} to {}: full", set(id)),
            Access::Remove { set: id, core } if result != 0 => {
                format!("removes core {core} from {}", set(id))
            }
            Access::Remove { set: id, core } => format!("core {core} is not in {}", set(id)),
            Access::Claim(core) if result != 0 => format!("claims core {core}"),
            Access::Claim(core) => format!("cannot claim core {core}"),
            Access::Release(core) => format!("releases core {core}"),
            Access::Arm(t, after) => format!("arms the timer of thread {t}: {after} ns"),
            Access::Cancel(t) => format!("cancels the timer of thread {t}"),
            Access::Preempt(core) => format!("preempts core {core}"),
            Access::Ready { thread, core, reason, .. } if result != 0 => {
                let because = match policy.reasons[reason.index()].as_str() {
                    "none" => String::new(),
                    reason => format!(" ({reason})"),
                };
                format!("thread {thread} => core {core}{because}")
            }
            Access::Ready { thread, core, .. } => {
                format!("thread {thread} => core {core}: too late, another core has taken it")
            }
            Access::Run(t) => format!("thread {t} runs"),
            Access::Blocked(t) => format!("thread {t} => blocked"),
            Access::Terminated(t) => format!("thread {t} => terminated"),
        }
    }

    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        use Access::*;
        matches!(
            self,
            Set(_)
                | Kept(_)
                | Global(_)
                | CoreAttribute(..)
                | ThreadAttribute(..)
                | CoreField(..)
                | ThreadCore(_)
                | Runtime(_)
                | Queue(..)
                | InQueue(..)
        )
    }
}
