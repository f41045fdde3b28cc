//! Decoding kernel events by the kernel's own description of them.

use crate::ftrace::event::{EventKind, KernelEvent};
use crate::ftrace::format::{Field, Format, Order};
use crate::ftrace::state::States;

/// The recorded events: folder in tracefs, and whether recording needs the event.
pub const EVENTS: [(&str, bool); 11] = [
    ("sched/sched_switch", true),
    ("sched/sched_waking", true),
    ("sched/sched_wakeup_new", true),
    ("sched/sched_process_fork", true),
    ("sched/sched_process_exec", true),
    ("sched/sched_process_exit", true),
    ("sched/sched_process_wait", false),
    ("sched/sched_migrate_task", true),
    ("task/task_newtask", false),
    ("power/cpu_frequency", false),
    ("power/cpu_idle", false),
];

/// Events that other tools record, too.
pub const IMPORTED: [&str; 2] = ["sched/sched_wakeup", "task/task_rename"];

/// Decoder of the events of one kernel.
pub struct Decoder {
    id: Field,
    flags: Field,
    pid: Field,
    /// Layout of each event, by its ID.
    layouts: Vec<(u16, Layout)>,
}

enum Layout {
    Switch { prev: Field, prev_comm: Field, state: Field, states: States, next: Field, next_comm: Field },
    Waking(Woken),
    Wakeup(Woken),
    WakeupNew(Woken),
    Fork { parent: Field, child: Field, child_comm: Field },
    Exec { pid: Field, old_pid: Field, filename: Field },
    Exit { pid: Field },
    Wait,
    Migrate { pid: Field, from: Field, to: Field },
    Frequency { cpu: Field, khz: Field },
    Idle { cpu: Field, state: Field },
    Rename { pid: Field, comm: Field },
    NewTask { pid: Field, flags: Field },
}

struct Woken {
    pid: Field,
    comm: Field,
    target: Field,
}

impl Woken {
    fn new(format: &Format) -> Result<Self, String> {
        Ok(Woken {
            pid: format.number("pid")?,
            comm: format.field("comm")?,
            target: format.number("target_cpu")?,
        })
    }
}

/// `TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ | TRACE_FLAG_NMI` of `include/linux/trace_events.h`.
/// The formats do not describe the bits of `common_flags`; these have not changed since 2009 (NMI: 2016).
const INTERRUPT: u64 = 0x08 | 0x10 | 0x40;

/// `CLONE_THREAD` of `include/uapi/linux/sched.h`.
const CLONE_THREAD: u64 = 0x10000;

/// True if a thread with these `clone_flags` belongs to the process of its creator.
pub fn is_in_process(clone_flags: u64) -> bool {
    clone_flags & CLONE_THREAD != 0
}

/// True if `common_flags` of an event say that it happened in a hard or soft interrupt.
pub fn is_interrupt(flags: u64) -> bool {
    flags & INTERRUPT != 0
}

impl Decoder {
    /// Reads the `format` files of those [`EVENTS`] that this machine's kernel has. An error names the event and the
    /// reason.
    pub fn new(formats: &[(&str, String)]) -> Result<Self, (String, String)> {
        Self::of(formats, Order::Little)
    }

    /// Reads the `format` files of [`EVENTS`] and [`IMPORTED`] of a machine with this order of bytes.
    pub fn of(formats: &[(&str, String)], order: Order) -> Result<Self, (String, String)> {
        let mut decoder = None;
        for (event, text) in formats {
            let describe = |why| (format!("its event {event}"), why);
            let format = Format::parse(text, order).map_err(describe)?;
            let (id, layout) = layout(event, &format).map_err(describe)?;
            if decoder.is_none() {
                decoder = Some(Self::common(&format).map_err(describe)?);
            }
            if let Some(decoder) = &mut decoder {
                decoder.layouts.push((id, layout));
            }
        }
        decoder.ok_or_else(|| ("its events".into(), "it has none".into()))
    }

    /// Reads the fields that all events begin with.
    fn common(format: &Format) -> Result<Self, String> {
        Ok(Decoder {
            id: format.sized("common_type", &[2])?,
            flags: format.sized("common_flags", &[1])?,
            pid: format.sized("common_pid", &[4])?,
            layouts: Vec::new(),
        })
    }

    /// Decodes an event; `None` if its kind is unknown or it is too short.
    pub fn decode<'a>(&self, cpu: u32, time: u64, event: &'a [u8]) -> Option<KernelEvent<'a>> {
        let id = self.id.number(event)?;
        let (_, layout) = self.layouts.iter().find(|(known, _)| i64::from(*known) == id)?;
        let pid = |field: &Field| Some(field.number(event)? as i32);
        let number = |field: &Field| Some(field.number(event)? as u32);
        let text = |field: &Field| field.text(event);
        let kind = match layout {
            Layout::Switch { prev, prev_comm, state, states, next, next_comm } => EventKind::Switch {
                prev: pid(prev)?,
                prev_comm: text(prev_comm)?,
                stop: states.stop(state.number(event)? as u64),
                next: pid(next)?,
                next_comm: text(next_comm)?,
            },
            Layout::Waking(at) => EventKind::Waking {
                pid: pid(&at.pid)?,
                comm: text(&at.comm)?,
                target: number(&at.target)?,
                sync: false,
            },
            Layout::Wakeup(at) => {
                EventKind::Wakeup { pid: pid(&at.pid)?, comm: text(&at.comm)?, target: number(&at.target)? }
            }
            Layout::WakeupNew(at) => EventKind::WakeupNew {
                pid: pid(&at.pid)?,
                comm: text(&at.comm)?,
                target: number(&at.target)?,
            },
            Layout::Fork { parent, child, child_comm } => {
                EventKind::Fork { parent: pid(parent)?, child: pid(child)?, child_comm: text(child_comm)? }
            }
            Layout::Exec { pid: new, old_pid, filename } => {
                EventKind::Exec { pid: pid(new)?, old_pid: pid(old_pid)?, filename: text(filename)? }
            }
            Layout::Exit { pid: exiting } => EventKind::Exit { pid: pid(exiting)? },
            Layout::Wait => EventKind::Wait,
            Layout::Migrate { pid: moved, from, to } => {
                EventKind::Migrate { pid: pid(moved)?, from: number(from)?, to: number(to)?, queued: false }
            }
            Layout::Frequency { cpu, khz } => EventKind::Frequency { cpu: number(cpu)?, khz: number(khz)? },
            Layout::Idle { cpu, state } => {
                let state = number(state)?;
                EventKind::Idle { cpu: number(cpu)?, state: (state != u32::MAX).then_some(state) } // PWR_EVENT_EXIT
            }
            Layout::Rename { pid: renamed, comm } => {
                EventKind::Name { pid: pid(renamed)?, comm: text(comm)? }
            }
            Layout::NewTask { pid: created, flags } => EventKind::NewTask {
                pid: pid(created)?,
                in_process: is_in_process(flags.number(event)? as u64),
            },
        };
        let interrupt = is_interrupt(self.flags.number(event)? as u64);
        Some(KernelEvent { time, cpu, pid: pid(&self.pid)?, interrupt, kind })
    }
}

fn layout(event: &str, format: &Format) -> Result<(u16, Layout), String> {
    let number = |name| format.number(name);
    let text = |name| format.field(name);
    let layout = match event {
        "sched/sched_switch" => Layout::Switch {
            prev: number("prev_pid")?,
            prev_comm: text("prev_comm")?,
            state: number("prev_state")?,
            states: States::new(&format.flags()?)?,
            next: number("next_pid")?,
            next_comm: text("next_comm")?,
        },
        "sched/sched_waking" => Layout::Waking(Woken::new(format)?),
        "sched/sched_wakeup" => Layout::Wakeup(Woken::new(format)?),
        "task/task_rename" => Layout::Rename { pid: number("pid")?, comm: text("newcomm")? },
        "task/task_newtask" => Layout::NewTask { pid: number("pid")?, flags: number("clone_flags")? },
        "sched/sched_wakeup_new" => Layout::WakeupNew(Woken::new(format)?),
        "sched/sched_process_fork" => Layout::Fork {
            parent: number("parent_pid")?,
            child: number("child_pid")?,
            child_comm: text("child_comm")?,
        },
        "sched/sched_process_exec" => {
            Layout::Exec { pid: number("pid")?, old_pid: number("old_pid")?, filename: text("filename")? }
        }
        "sched/sched_process_exit" => Layout::Exit { pid: number("pid")? },
        "sched/sched_process_wait" => Layout::Wait,
        "sched/sched_migrate_task" => {
            Layout::Migrate { pid: number("pid")?, from: number("orig_cpu")?, to: number("dest_cpu")? }
        }
        "power/cpu_frequency" => Layout::Frequency { cpu: number("cpu_id")?, khz: number("state")? },
        "power/cpu_idle" => Layout::Idle { cpu: number("cpu_id")?, state: number("state")? },
        _ => return Err("it is not a recorded event".into()),
    };
    Ok((format.id.ok_or("it has no ID")?, layout))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKING: &str = "name: sched_waking\nID: 375\nformat:\n\
        field:unsigned short common_type; offset:0; size:2; signed:0;\n\
        field:unsigned char common_flags; offset:2; size:1; signed:0;\n\
        field:int common_pid; offset:4; size:4; signed:1;\n\
        field:char comm[16]; offset:8; size:16; signed:0;\n\
        field:pid_t pid; offset:24; size:4; signed:1;\n\
        field:int target_cpu; offset:32; size:4; signed:1;\n";

    #[test]
    fn a_waking_in_an_interrupt() {
        let decoder = Decoder::new(&[("sched/sched_waking", WAKING.into())]).unwrap();
        let mut event = [0u8; 36];
        event[0..2].copy_from_slice(&375u16.to_le_bytes());
        event[2] = 0x08 | 0x01;
        event[4..8].copy_from_slice(&12i32.to_le_bytes());
        event[8..10].copy_from_slice(b"sh");
        event[24..28].copy_from_slice(&34i32.to_le_bytes());
        event[32] = 5;
        let kind = EventKind::Waking { pid: 34, comm: b"sh", target: 5, sync: false };
        let expected = KernelEvent { time: 7, cpu: 1, pid: 12, interrupt: true, kind };
        assert_eq!(decoder.decode(1, 7, &event), Some(expected));
        event[2] = 0x01; // interrupts are off, but this is none
        assert!(!decoder.decode(1, 7, &event).unwrap().interrupt);
        assert_eq!(decoder.decode(1, 7, &event[..30]), None);
        event[0] = 0;
        assert_eq!(decoder.decode(1, 7, &event), None);
    }

    #[test]
    fn a_kernel_that_lacks_a_field_is_an_error() {
        let text = WAKING.replace("target_cpu", "somewhere");
        let (what, why) = Decoder::new(&[("sched/sched_waking", text)]).err().unwrap();
        assert!(what.contains("sched_waking") && why.contains("target_cpu"), "{what}: {why}");
    }
}
