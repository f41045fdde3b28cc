//! Kernel events in Perfetto traces.

use crate::Error;
use crate::import::collect::{Collector, Origin, Refused};
use crate::perfetto::ftrace;
use crate::wire::{Fields, Value, packed};
use hearth_trace::Stop;
use hearth_trace::ftrace::{EventKind, KernelEvent, is_in_process, is_interrupt};

/// Fields common to all events.
#[derive(Clone, Copy)]
pub struct At {
    pub cpu: u32,
    pub time: u64,
    pub pid: u32,
    pub flags: u64,
}

/// Fields 1 to 7 of an event's message. No supported event has more.
pub struct Content<'a>([Option<Value<'a>>; 8]);

impl<'a> Content<'a> {
    pub fn read(message: &'a [u8]) -> Result<Self, Refused> {
        let mut content = Content([None; 8]);
        for field in Fields::of(message) {
            let (field, value) = field.map_err(|_| "an event is damaged")?;
            if let Some(place) = content.0.get_mut(field as usize) {
                *place = Some(value);
            }
        }
        Ok(content)
    }

    pub fn bytes(&self, field: usize) -> &'a [u8] {
        self.0[field].map_or(&[], Value::bytes)
    }

    /// A missing number is 0.
    pub fn number(&self, field: usize) -> u64 {
        self.0[field].map_or(0, Value::number)
    }

    pub fn int(&self, field: usize) -> i32 {
        self.number(field) as i32
    }

    /// A core. A negative number becomes one that is too large.
    pub fn core(&self, field: usize) -> u32 {
        self.number(field).min(u32::MAX.into()) as u32
    }
}

pub fn event(
    at: At,
    field: u32,
    message: &[u8],
    collector: &mut Collector,
) -> Result<Result<(), Refused>, Error> {
    let content = match Content::read(message) {
        Ok(content) => content,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut pid = at.pid as i32;
    let kind = match field {
        ftrace::SWITCH => {
            // The event may have no pid.
            pid = content.int(2);
            EventKind::Switch {
                prev: pid,
                prev_comm: content.bytes(1),
                stop: Stop::Blocked, // see `switch_of_bits`
                next: content.int(6),
                next_comm: content.bytes(5),
            }
        }
        ftrace::WAKING => EventKind::Waking {
            pid: content.int(2),
            comm: content.bytes(1),
            target: content.core(5),
            sync: false,
        },
        ftrace::WAKEUP => {
            EventKind::Wakeup { pid: content.int(2), comm: content.bytes(1), target: content.core(5) }
        }
        ftrace::WAKEUP_NEW => {
            EventKind::WakeupNew { pid: content.int(2), comm: content.bytes(1), target: content.core(5) }
        }
        ftrace::FORK => {
            EventKind::Fork { parent: content.int(2), child: content.int(4), child_comm: content.bytes(3) }
        }
        ftrace::EXEC => {
            EventKind::Exec { pid: content.int(2), old_pid: content.int(3), filename: content.bytes(1) }
        }
        ftrace::EXIT => EventKind::Exit { pid: content.int(2) },
        ftrace::WAIT => EventKind::Wait,
        ftrace::NEWTASK => {
            EventKind::NewTask { pid: content.int(1), in_process: is_in_process(content.number(3)) }
        }
        ftrace::RENAME => EventKind::Name { pid: content.int(1), comm: content.bytes(3) },
        ftrace::MIGRATE => EventKind::Migrate {
            pid: content.int(2),
            from: content.core(4),
            to: content.core(5),
            queued: false,
        },
        ftrace::FREQUENCY => EventKind::Frequency { cpu: content.core(2), khz: content.core(1) },
        ftrace::IDLE => {
            let state = content.core(1);
            EventKind::Idle { cpu: content.core(2), state: (state != u32::MAX).then_some(state) }
        }
        _ => {
            collector.notes.count("events of unsupported kinds");
            return Ok(Ok(()));
        }
    };
    let interrupt = is_interrupt(at.flags);
    let event = KernelEvent { time: at.time, cpu: at.cpu, pid, interrupt, kind };
    if field == ftrace::SWITCH {
        return collector.switch_of_bits(&event, content.number(4));
    }
    collector.event(&event)
}

/// `CompactSched`: the columns of the switches and wake-ups of a core. The previous thread is that of the last switch.
pub fn compact(cpu: u32, message: &[u8], collector: &mut Collector) -> Result<Result<(), Refused>, Error> {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut columns = [const { None }; 13];
    for field in Fields::of(message) {
        let Ok((field, value)) = field else { return Ok(Err("a compact bundle is damaged".into())) };
        match (field, columns.get_mut(field as usize)) {
            (5, _) => names.push(value.bytes()),
            (_, Some(column)) => *column = Some(value),
            _ => {}
        }
    }
    let column = |field: usize| columns[field].into_iter().flat_map(packed);
    let name = |index: u64| names.get(index as usize).copied().unwrap_or_default();
    let next = column(3).zip(column(6));
    let (mut time, mut prev) = (0u64, None);
    for ((delta, state), (pid, comm)) in column(1).zip(column(2)).zip(next) {
        time = time.wrapping_add(delta);
        let (next, next_comm) = (pid as i32, name(comm));
        let before =
            prev.replace((next, next_comm)).or_else(|| collector.running(cpu).map(|pid| (pid, &[][..])));
        // The previous thread of the first switch is unknown.
        let (prev, prev_comm) = before.unwrap_or((0, &[]));
        let kind = EventKind::Switch { prev, prev_comm, stop: Stop::Blocked, next, next_comm };
        let event = KernelEvent { time, cpu, pid: prev, interrupt: false, kind };
        if let refused @ Err(_) = collector.switch_of_bits(&event, state)? {
            return Ok(refused);
        }
    }
    if let Some((pid, _)) = prev {
        collector.runs(cpu, pid);
    }
    let mut flags = column(12);
    let mut time = 0u64;
    for ((delta, pid), (target, comm)) in column(7).zip(column(8)).zip(column(9).zip(column(11))) {
        time = time.wrapping_add(delta);
        let interrupt = is_interrupt(flags.next().unwrap_or(0));
        let kind = EventKind::Waking {
            pid: pid as i32,
            comm: name(comm),
            target: target.min(u32::MAX.into()) as u32,
            sync: false,
        };
        // The running thread is known after sorting.
        let event = KernelEvent { time, cpu, pid: super::super::collect::RUNNING_THREAD, interrupt, kind };
        if let refused @ Err(_) = collector.event(&event)? {
            return Ok(refused);
        }
    }
    Ok(Ok(()))
}

/// Reads processes and threads. The name of a process is the first word of its command line, without the folder.
pub fn process_tree(message: &[u8], collector: &mut Collector) -> Result<(), Error> {
    for field in Fields::of(message) {
        let Ok((field, value)) = field else { return Ok(()) };
        let Ok(content) = Content::read(value.bytes()) else { return Ok(()) };
        match field {
            1 => {
                let command = content.bytes(3);
                let name = command.rsplit(|byte| *byte == b'/').next().unwrap_or(command);
                let process = content.int(1);
                collector.name_if_new(process, name)?;
                collector.member(process, process);
                collector.parent(process, content.int(2));
            }
            2 => {
                let thread = content.int(1);
                collector.name(thread, content.bytes(2))?;
                collector.member(thread, content.int(3));
            }
            _ => {}
        }
    }
    Ok(())
}

pub fn system_info(message: &[u8], origin: &mut Origin) {
    for (field, value) in Fields::of(message).flatten() {
        match field {
            1 => {
                let release = Fields::of(value.bytes()).flatten().find(|(field, _)| *field == 3);
                origin.kernel = release.map(|(_, value)| value.text()).unwrap_or_default();
            }
            8 => origin.cores = value.number().min(u32::MAX.into()) as u32,
            _ => {}
        }
    }
}
