//! Events as text.

use super::{Entry, Kernel, Machine, State, Task, What, cores};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/sys/kernel/tracing/trace`, with microseconds and flags.
    Kernel,
    /// The same, with the option `record-tgid`.
    Tgid,
    /// `trace-cmd report -t`.
    Report,
    /// `trace-cmd report -t -R`.
    Raw,
    /// `perf script --ns`.
    Script,
}

pub fn write(entries: &[Entry], kernel: Kernel, machine: Machine, form: Form) -> String {
    let mut text = match form {
        Form::Kernel | Form::Tgid => {
            format!("# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:{}\n#\n", cores(entries))
        }
        Form::Report | Form::Raw => format!("cpus={}\n", cores(entries)),
        Form::Script => String::new(),
    };
    for entry in entries {
        text += &(line(entry, kernel, machine, form) + "\n");
    }
    text
}

fn line(entry: &Entry, kernel: Kernel, machine: Machine, form: Form) -> String {
    let Task { pid, process, comm } = &entry.task;
    let (seconds, ns) = (entry.time / 1_000_000_000, entry.time % 1_000_000_000);
    let comm = if *pid == 0 { "<idle>" } else { comm };
    let (name, content) = content(entry, kernel, machine, form);
    let cpu = entry.cpu;
    match form {
        Form::Kernel => {
            let flags = if entry.interrupt { "d.h2." } else { "d..2." };
            format!("{comm:>16}-{pid:<7} [{cpu:03}] {flags} {seconds:5}.{:06}: {name}: {content}", ns / 1000)
        }
        Form::Tgid => {
            let flags = if entry.interrupt { "d.h2." } else { "d..2." };
            let process = if *pid == 0 { "-------".into() } else { format!("{process:7}") };
            format!(
                "{comm:>16}-{pid:<7} ({process}) [{cpu:03}] {flags} {seconds:5}.{:06}: {name}: {content}",
                ns / 1000
            )
        }
        Form::Report | Form::Raw => {
            format!(
                "{comm:>16}-{pid:<5} [{cpu:03}] {seconds:5}.{ns:09}: {:<21} {content}",
                format!("{name}:")
            )
        }
        Form::Script => {
            let system = match name {
                "cpu_frequency" | "cpu_idle" => "power",
                "task_rename" | "task_newtask" => "task",
                _ => "sched",
            };
            format!("{comm:>16} {pid:5} [{cpu:03}] {seconds:5}.{ns:09}: {system}:{name}: {content}")
        }
    }
}

fn content(entry: &Entry, kernel: Kernel, machine: Machine, form: Form) -> (&'static str, String) {
    let task = &entry.task;
    match &entry.what {
        What::Switch { state, next } => ("sched_switch", switch(task, *state, next, kernel, machine, form)),
        What::Waking { woken, target } => ("sched_waking", self::woken(woken, *target, form)),
        What::Wakeup { woken, target } => ("sched_wakeup", self::woken(woken, *target, form)),
        What::WakeupNew { woken, target } => ("sched_wakeup_new", self::woken(woken, *target, form)),
        What::Fork { child } => {
            let parent = if form == Form::Raw { ["parent_comm", "parent_pid"] } else { ["comm", "pid"] };
            let parent = format!("{}={} {}={}", parent[0], task.comm, parent[1], task.pid);
            ("sched_process_fork", format!("{parent} child_comm={} child_pid={}", child.comm, child.pid))
        }
        What::NewTask { child, in_process } => (
            "task_newtask",
            format!(
                "pid={} comm={} clone_flags={:x} oom_score_adj=0",
                child.pid,
                child.comm,
                super::clone_flags(*in_process)
            ),
        ),
        What::Exec { filename } => {
            ("sched_process_exec", format!("filename={filename} pid={0} old_pid={0}", task.pid))
        }
        What::Exit => ("sched_process_exit", format!("comm={} pid={} prio=120", task.comm, task.pid)),
        What::Wait => ("sched_process_wait", format!("comm={} pid=0 prio=120", task.comm)),
        What::Migrate { moved, from, to } => (
            "sched_migrate_task",
            format!("comm={} pid={} prio=120 orig_cpu={from} dest_cpu={to}", moved.comm, moved.pid),
        ),
        What::Frequency { of, khz } => ("cpu_frequency", format!("state={khz} cpu_id={of}")),
        What::Idle { of, state } => ("cpu_idle", format!("state={state} cpu_id={of}")),
        What::Rename { new } => {
            ("task_rename", format!("pid={} oldcomm={} newcomm={new} oom_score_adj=0", task.pid, task.comm))
        }
    }
}

fn woken(task: &Task, target: u32, form: Form) -> String {
    match form {
        Form::Report => format!("{}:{} [120] CPU:{target:03}", task.comm, task.pid),
        _ => format!("comm={} pid={} prio=120 target_cpu={target:03}", task.comm, task.pid),
    }
}

fn switch(prev: &Task, state: State, next: &Task, kernel: Kernel, machine: Machine, form: Form) -> String {
    let (bits, letters) = (kernel.bits(state), kernel.letters(state));
    match form {
        // Its table is that of Linux 4.13, and it prints no `+`.
        Form::Report => {
            let letters: Vec<String> = "SDTtZXxW"
                .chars()
                .enumerate()
                .filter(|(bit, _)| bits >> bit & 1 == 1)
                .map(|(_, letter)| letter.to_string())
                .collect();
            let letters = if letters.is_empty() { "R".into() } else { letters.join("|") };
            format!("{}:{} [120] {letters} ==> {}:{} [120]", prev.comm, prev.pid, next.comm, next.pid)
        }
        Form::Raw => {
            let state = if machine.long == 8 { format!("{bits}") } else { format!("{bits:#x}") };
            format!(
                "prev_comm={} prev_pid={} prev_prio=120 prev_state={state} next_comm={} next_pid={} next_prio=120",
                prev.comm, prev.pid, next.comm, next.pid
            )
        }
        _ => format!(
            "prev_comm={} prev_pid={} prev_prio=120 prev_state={letters} ==> next_comm={} next_pid={} next_prio=120",
            prev.comm, prev.pid, next.comm, next.pid
        ),
    }
}
