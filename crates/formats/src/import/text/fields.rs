//! Fields of an event as text: `field=value`, as the kernel prints them, or the shorter form of trace-cmd.

use super::head::Head;
use hearth_trace::Stop;
use hearth_trace::ftrace::{EventKind, KernelEvent, is_in_process, stop_of_letters};

type Parsed<T> = Result<T, String>;

/// The event of a line, and the state of a switch if it is a number; `None`: an unsupported event.
pub fn event<'a>(head: &Head<'a>) -> Parsed<Option<(KernelEvent<'a>, Option<u64>)>> {
    let rest = head.rest;
    let mut state = None;
    let kind = match head.event {
        "sched_switch" => {
            let kind;
            (kind, state) = switch(rest)?;
            kind
        }
        "sched_waking" => {
            let (pid, comm, target) = woken(rest)?;
            EventKind::Waking { pid, comm, target, sync: false }
        }
        "sched_wakeup" => {
            let (pid, comm, target) = woken(rest)?;
            EventKind::Wakeup { pid, comm, target }
        }
        "sched_wakeup_new" => {
            let (pid, comm, target) = woken(rest)?;
            EventKind::WakeupNew { pid, comm, target }
        }
        "sched_process_fork" => EventKind::Fork {
            parent: number(rest, "parent_pid").or_else(|_| number(rest, "pid"))?,
            child: number(rest, "child_pid")?,
            child_comm: between(rest, "child_comm=", " child_pid=")?,
        },
        "sched_process_exec" => EventKind::Exec {
            pid: number(rest, "pid")?,
            old_pid: number(rest, "old_pid")?,
            filename: between(rest, "filename=", " pid=")?,
        },
        "sched_process_exit" => EventKind::Exit { pid: number(rest, "pid")? },
        "sched_process_wait" => EventKind::Wait,
        "sched_migrate_task" => EventKind::Migrate {
            pid: number(rest, "pid")?,
            from: number(rest, "orig_cpu")?,
            to: number(rest, "dest_cpu")?,
            queued: false,
        },
        "cpu_frequency" => EventKind::Frequency { cpu: number(rest, "cpu_id")?, khz: number(rest, "state")? },
        "cpu_idle" => {
            let state: u32 = number(rest, "state")?;
            EventKind::Idle { cpu: number(rest, "cpu_id")?, state: (state != u32::MAX).then_some(state) }
        }
        "task_rename" => {
            EventKind::Name { pid: number(rest, "pid")?, comm: between(rest, "newcomm=", " oom_score_adj=")? }
        }
        "task_newtask" => {
            let flags = between(rest, "clone_flags=", " oom_score_adj=")?;
            let flags = std::str::from_utf8(flags).ok().and_then(flags_of);
            EventKind::NewTask {
                pid: number(rest, "pid")?,
                in_process: is_in_process(flags.ok_or("its `clone_flags` are not a number")?),
            }
        }
        _ => return Ok(None),
    };
    // The previous thread of a switch was running, even if the head has lost its pid.
    let pid = match (head.pid, kind) {
        (_, EventKind::Switch { prev, .. }) => prev,
        (Some(pid), _) => pid,
        (None, EventKind::Exit { pid }) => pid,
        (None, _) => return Ok(None),
    };
    let event = KernelEvent { time: head.time, cpu: head.cpu, pid, interrupt: head.interrupt, kind };
    Ok(Some((event, state)))
}

/// Number after `name=`.
fn number<T: std::str::FromStr>(rest: &str, name: &str) -> Parsed<T> {
    let missing = || format!("it has no `{name}=`");
    let mut from = 0;
    let at = loop {
        let at = from + rest[from..].find(name).ok_or_else(missing)?;
        let alone = at == 0 || rest.as_bytes()[at - 1] == b' ';
        from = at + name.len();
        if alone && rest[from..].starts_with('=') {
            break from + 1;
        }
    };
    let value = rest[at..].split([' ', '\t']).next().unwrap_or_default();
    value.parse().map_err(|_| format!("its `{name}` is `{value}`, which is not a valid number"))
}

/// Text between two fields: a name may have blanks in it.
fn between<'a>(rest: &'a str, before: &str, after: &str) -> Parsed<&'a [u8]> {
    let (_, value) = rest.split_once(before).ok_or_else(|| format!("it has no `{before}`"))?;
    let (value, _) = value.split_once(after).ok_or_else(|| format!("it has no `{}`", after.trim()))?;
    Ok(value.as_bytes())
}

/// `prev_comm=… prev_pid=… prev_prio=… prev_state=S ==> next_comm=… next_pid=… next_prio=…`, or
/// `COMM:PID [PRIO] S ==> COMM:PID [PRIO]`. `trace-cmd report -R` prints all fields with their numbers, without an arrow.
/// Returns the state, too, if it is a number.
fn switch(rest: &str) -> Parsed<(EventKind<'_>, Option<u64>)> {
    let raw = || {
        let at = rest.starts_with("prev_comm=").then(|| rest.find(" next_comm="))??;
        Some((&rest[..at], &rest[at + 1..]))
    };
    let halves = rest.split_once(" ==> ").or_else(raw);
    let (prev, next) = halves.ok_or("it has no next thread (` ==> `, or ` next_comm=`)")?;
    if prev.starts_with("prev_comm=") {
        let state = prev.rsplit_once("prev_state=").ok_or("it has no `prev_state=`")?.1;
        let bits = bits(state);
        let kind = EventKind::Switch {
            prev: number(prev, "prev_pid")?,
            prev_comm: between(prev, "prev_comm=", " prev_pid=")?,
            // The collector decides about numbers, whose meaning depends on the kernel.
            stop: if bits.is_some() { Stop::Blocked } else { stop(state)? },
            next: number(next, "next_pid")?,
            next_comm: between(next, "next_comm=", " next_pid=")?,
        };
        return Ok((kind, bits));
    }
    let (prev, state) = prev.rsplit_once("] ").ok_or("it has no thread state")?;
    let (prev, _) = prev.rsplit_once(" [").ok_or("it has no priority in brackets")?;
    let (next, _) = next.rsplit_once(" [").ok_or("it has no priority in brackets")?;
    let ((prev_comm, prev), (next_comm, next)) = (named(prev)?, named(next)?);
    Ok((EventKind::Switch { prev, prev_comm, stop: stop(state)?, next, next_comm }, None))
}

/// `clone_flags=3d0f00`: hexadecimal, without `0x` in the kernel's text.
fn flags_of(text: &str) -> Option<u64> {
    let text = text.trim();
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// A state as a number: `130` or `0x82`.
fn bits(state: &str) -> Option<u64> {
    let state = state.trim();
    match state.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => state.parse().ok(),
    }
}

/// `comm=… pid=… prio=… target_cpu=…`, or `COMM:PID [PRIO] CPU:NNN`.
fn woken(rest: &str) -> Parsed<(i32, &[u8], u32)> {
    if rest.starts_with("comm=") {
        return Ok((number(rest, "pid")?, between(rest, "comm=", " pid=")?, number(rest, "target_cpu")?));
    }
    let (task, cpu) = rest.rsplit_once("CPU:").ok_or("it has no `target_cpu=`")?;
    let (task, _) = task.rsplit_once(" [").ok_or("it has no priority in brackets")?;
    let (comm, pid) = named(task)?;
    let digits = cpu.trim_end_matches(|c: char| !c.is_ascii_digit());
    Ok((pid, comm, digits.trim().parse().map_err(|_| format!("its core is `{cpu}`"))?))
}

/// `COMM:PID`
fn named(task: &str) -> Parsed<(&[u8], i32)> {
    let (comm, pid) = task.rsplit_once(':').ok_or_else(|| format!("`{task}` is not a thread"))?;
    let pid = pid.trim().parse().map_err(|_| format!("`{pid}` is not a pid"))?;
    Ok((comm.as_bytes(), pid))
}

fn stop(state: &str) -> Parsed<Stop> {
    stop_of_letters(state).ok_or_else(|| format!("`{}` is not a thread state", state.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> Parsed<Option<EventKind<'_>>> {
        event(&Head::parse(line).unwrap().unwrap()).map(|event| event.map(|(event, _)| event.kind))
    }

    #[test]
    fn both_forms_of_a_switch() {
        let long = kind(
            "x-1 [000] d..2. 1.000001: sched_switch: prev_comm=a b prev_pid=1 prev_prio=120 prev_state=R+ ==> \
             next_comm=c:d next_pid=2 next_prio=120",
        );
        let short = kind("x-1 [000] 1.000001: sched_switch:   a b:1 [120] R ==> c:d:2 [120]");
        let expected = EventKind::Switch {
            prev: 1,
            prev_comm: b"a b",
            stop: Stop::Preempted,
            next: 2,
            next_comm: b"c:d",
        };
        assert_eq!((long, short), (Ok(Some(expected)), Ok(Some(expected))));
    }

    #[test]
    fn missing_fields_are_errors() {
        let line = "x-1 [000] 1.000001: sched_waking: comm=a pid=2 prio=120";
        assert_eq!(kind(line).unwrap_err(), "it has no `target_cpu=`");
        let line = "x-1 [000] 1.000001: sched_process_fork: comm=a pid=2 child_comm=b child_pid=many";
        assert!(kind(line).unwrap_err().contains("`many`"));
        assert_eq!(kind("x-1 [000] 1.000001: sched_stat_runtime: comm=a"), Ok(None));
    }
}
