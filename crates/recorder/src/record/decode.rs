//! From the bytes of a kernel event to what it says.

use super::format::{Field, Format};
use hearth_trace::Stop;

/// A kernel event. Threads are the kernel's `pid`s (0: the idle thread), cores the kernel's numbers. Names may be
/// empty: not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelEvent<'a> {
    pub time: u64,
    pub cpu: u32,
    /// The thread that was running on `cpu`.
    pub pid: i32,
    /// Whether it happened in an interrupt, hard or soft.
    pub interrupt: bool,
    pub what: What<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    Switch {
        prev: i32,
        prev_comm: &'a [u8],
        stop: Stop,
        next: i32,
        next_comm: &'a [u8],
    },
    /// A wake-up is tried; the thread may turn out not to sleep. `target` is where it last ran.
    Waking {
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
        /// It stood in a run queue: balancing moves it, not a wake-up. tracefs does not tell: `false`.
        queued: bool,
    },
    Frequency {
        cpu: u32,
        khz: u32,
    },
    /// `None`: the idle state is left.
    Idle {
        cpu: u32,
        state: Option<u32>,
    },
    /// A scheduler tick, at which the core had this frequency (0: unknown).
    Tick {
        khz: u32,
    },
    /// Threads in the core's run queue, the running one included.
    Queue {
        length: u16,
    },
    /// A policy of Hearth's decided: see [`Decision`].
    Decided(Decision),
    /// From now on the thread has this name.
    Name {
        pid: i32,
        comm: &'a [u8],
    },
    /// Nothing but who was running.
    Runs,
}

/// What a policy of Hearth's tells that it decided (`saakm_decided` of `runtime/bpf/records.h`). Cores have the kernel's
/// numbers, reasons and sets the policy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A thread goes to a core's queue. `reason` 0: none. `khz`: what the policy saw of it; 0: nothing.
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

/// The events that are recorded: folder in tracefs, and whether recording makes sense without.
pub const EVENTS: [(&str, bool); 10] = [
    ("sched/sched_switch", true),
    ("sched/sched_waking", true),
    ("sched/sched_wakeup_new", true),
    ("sched/sched_process_fork", true),
    ("sched/sched_process_exec", true),
    ("sched/sched_process_exit", true),
    ("sched/sched_process_wait", false),
    ("sched/sched_migrate_task", true),
    ("power/cpu_frequency", false),
    ("power/cpu_idle", false),
];

/// Where the fields of each recorded event lie in this kernel.
pub struct Decoder {
    id: Field,
    flags: Field,
    pid: Field,
    /// By event number.
    layouts: Vec<(u16, Layout)>,
}

enum Layout {
    Switch { prev: Field, prev_comm: Field, state: Field, states: States, next: Field, next_comm: Field },
    Waking(Woken),
    WakeupNew(Woken),
    Fork { parent: Field, child: Field, child_comm: Field },
    Exec { pid: Field, old_pid: Field, filename: Field },
    Exit { pid: Field },
    Wait,
    Migrate { pid: Field, from: Field, to: Field },
    Frequency { cpu: Field, khz: Field },
    Idle { cpu: Field, state: Field },
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
/// The formats do not describe the bits of `common_flags`; these have not changed since 2009
/// (NMI: 2016).
const INTERRUPT: i64 = 0x08 | 0x10 | 0x40;

impl Decoder {
    /// From the `format` files of [`EVENTS`], those that the kernel has.
    pub fn new(formats: &[(&str, String)]) -> Result<Self, (String, String)> {
        let mut decoder = None;
        for (event, text) in formats {
            let describe = |why| (format!("its event {event}"), why);
            let format = Format::parse(text).map_err(describe)?;
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

    /// The fields with which all events begin.
    fn common(format: &Format) -> Result<Self, String> {
        Ok(Decoder {
            id: format.sized("common_type", &[2])?,
            flags: format.sized("common_flags", &[1])?,
            pid: format.sized("common_pid", &[4])?,
            layouts: Vec::new(),
        })
    }

    /// What an event says; `None` if it is of a kind that was not asked for, or too short.
    pub fn decode<'a>(&self, cpu: u32, time: u64, event: &'a [u8]) -> Option<KernelEvent<'a>> {
        let id = self.id.number(event)?;
        let (_, layout) = self.layouts.iter().find(|(known, _)| i64::from(*known) == id)?;
        let pid = |field: &Field| Some(field.number(event)? as i32);
        let number = |field: &Field| Some(field.number(event)? as u32);
        let text = |field: &Field| field.text(event);
        let what = match layout {
            Layout::Switch { prev, prev_comm, state, states, next, next_comm } => What::Switch {
                prev: pid(prev)?,
                prev_comm: text(prev_comm)?,
                stop: states.stop(state.number(event)? as u64),
                next: pid(next)?,
                next_comm: text(next_comm)?,
            },
            Layout::Waking(at) => {
                What::Waking { pid: pid(&at.pid)?, comm: text(&at.comm)?, target: number(&at.target)? }
            }
            Layout::WakeupNew(at) => {
                What::WakeupNew { pid: pid(&at.pid)?, comm: text(&at.comm)?, target: number(&at.target)? }
            }
            Layout::Fork { parent, child, child_comm } => {
                What::Fork { parent: pid(parent)?, child: pid(child)?, child_comm: text(child_comm)? }
            }
            Layout::Exec { pid: new, old_pid, filename } => {
                What::Exec { pid: pid(new)?, old_pid: pid(old_pid)?, filename: text(filename)? }
            }
            Layout::Exit { pid: exiting } => What::Exit { pid: pid(exiting)? },
            Layout::Wait => What::Wait,
            Layout::Migrate { pid: moved, from, to } => {
                What::Migrate { pid: pid(moved)?, from: number(from)?, to: number(to)?, queued: false }
            }
            Layout::Frequency { cpu, khz } => What::Frequency { cpu: number(cpu)?, khz: number(khz)? },
            Layout::Idle { cpu, state } => {
                let state = number(state)?;
                What::Idle { cpu: number(cpu)?, state: (state != u32::MAX).then_some(state) } // PWR_EVENT_EXIT
            }
        };
        let interrupt = self.flags.number(event)? & INTERRUPT != 0;
        Some(KernelEvent { time, cpu, pid: pid(&self.pid)?, interrupt, what })
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
            states: States::new(&format.flags())?,
            next: number("next_pid")?,
            next_comm: text("next_comm")?,
        },
        "sched/sched_waking" => Layout::Waking(Woken::new(format)?),
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
        _ => return Err("it is not one that is recorded".into()),
    };
    Ok((format.id.ok_or("it has no ID")?, layout))
}

/// The meaning of `prev_state`: one bit for each way of sleeping, two for the dead, and one above
/// all of these for "was preempted, and still runnable" (printed as `R+`).
#[derive(Clone, Debug, PartialEq, Eq)]
struct States {
    named: u64,
    dead: u64,
}

impl States {
    /// From the pairs by which the kernel prints states (`S`, `D`, `T`, `t`, `X`, `Z`, `P`, `I`).
    fn new(flags: &[(u64, String)]) -> Result<Self, String> {
        let bits = |names: &[&str]| {
            let named = flags.iter().filter(|(_, name)| names.is_empty() || names.contains(&name.as_str()));
            named.fold(0, |bits, (bit, _)| bits | bit)
        };
        match bits(&["X", "Z"]) {
            0 => Err("it does not say which states are dead".into()),
            dead => Ok(States { named: bits(&[]), dead }),
        }
    }

    /// A thread that called `sched_yield` shows the same state as one that was preempted on its
    /// way back to user space (0): both are taken as preempted.
    fn stop(&self, state: u64) -> Stop {
        match state {
            0 => Stop::Preempted,
            preempted if preempted & !self.named != 0 => Stop::Preempted,
            dead if dead & self.dead != 0 => Stop::Exited,
            _ => Stop::Blocked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of Linux 4.14 to 6.18.
    const STATES: &str = "print fmt: \"\", __print_flags(REC->prev_state & 0xff, \"|\", \
        { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, \
        { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\"";

    fn states() -> States {
        let format = Format::parse(&format!("field:int a; offset:0; size:4; signed:1;\n{STATES}")).unwrap();
        States::new(&format.flags()).unwrap()
    }

    #[test]
    fn states_have_the_meaning_that_the_kernel_prints() {
        let expected = [
            (0x000, Stop::Preempted), // R
            (0x100, Stop::Preempted), // R+
            (0x001, Stop::Blocked),   // S
            (0x002, Stop::Blocked),   // D
            (0x080, Stop::Blocked),   // I
            (0x010, Stop::Exited),    // X
            (0x020, Stop::Exited),    // Z
        ];
        for (state, stop) in expected {
            assert_eq!(states().stop(state), stop, "{state:#x}");
        }
        assert!(States::new(&[]).is_err());
    }

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
        let what = What::Waking { pid: 34, comm: b"sh", target: 5 };
        let expected = KernelEvent { time: 7, cpu: 1, pid: 12, interrupt: true, what };
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
