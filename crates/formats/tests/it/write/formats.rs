//! Events in the kernel's binary form, and the `format` files that describe it.

use super::{Bytes, Entry, Kernel, Machine, What};

/// Value of a field.
enum Value<'a> {
    Text(&'a str),
    Int(i64),
    /// As wide as a `long`.
    Long(i64),
    /// 64 bits.
    Wide(i64),
    /// A text behind the fields.
    Located(&'a str),
}

struct Field<'a> {
    declaration: &'static str,
    value: Value<'a>,
}

fn text<'a>(declaration: &'static str, value: &'a str) -> Field<'a> {
    Field { declaration, value: Value::Text(value) }
}

fn int<'a>(declaration: &'static str, value: impl Into<i64>) -> Field<'a> {
    Field { declaration, value: Value::Int(value.into()) }
}

/// Subsystem and name of an event, and its number in a recording.
fn name(what: &What) -> (&'static str, &'static str, u16) {
    match what {
        What::Switch { .. } => ("sched", "sched_switch", 300),
        What::Waking { .. } => ("sched", "sched_waking", 301),
        What::Wakeup { .. } => ("sched", "sched_wakeup", 302),
        What::WakeupNew { .. } => ("sched", "sched_wakeup_new", 303),
        What::Fork { .. } => ("sched", "sched_process_fork", 304),
        What::Exec { .. } => ("sched", "sched_process_exec", 305),
        What::Exit => ("sched", "sched_process_exit", 306),
        What::Wait => ("sched", "sched_process_wait", 307),
        What::Migrate { .. } => ("sched", "sched_migrate_task", 308),
        What::Frequency { .. } => ("power", "cpu_frequency", 309),
        What::Idle { .. } => ("power", "cpu_idle", 310),
        What::Rename { .. } => ("task", "task_rename", 311),
        What::NewTask { .. } => ("task", "task_newtask", 312),
    }
}

fn fields(entry: &Entry, kernel: Kernel) -> Vec<Field<'_>> {
    let task = &entry.task;
    match &entry.what {
        What::Switch { state, next } => vec![
            text("char prev_comm[16]", &task.comm),
            int("pid_t prev_pid", task.pid),
            int("int prev_prio", 120),
            Field { declaration: "long prev_state", value: Value::Long(kernel.bits(*state)) },
            text("char next_comm[16]", &next.comm),
            int("pid_t next_pid", next.pid),
            int("int next_prio", 120),
        ],
        What::Waking { woken, target }
        | What::Wakeup { woken, target }
        | What::WakeupNew { woken, target } => {
            let mut fields =
                vec![text("char comm[16]", &woken.comm), int("pid_t pid", woken.pid), int("int prio", 120)];
            if !kernel.since((4, 14)) {
                fields.push(int("int success", 1));
            }
            fields.push(int("int target_cpu", *target));
            fields
        }
        What::NewTask { child, in_process } => vec![
            int("pid_t pid", child.pid),
            text("char comm[16]", &child.comm),
            match kernel.since((6, 18)) {
                true => Field {
                    declaration: "u64 clone_flags",
                    value: Value::Wide(super::clone_flags(*in_process)),
                },
                false => Field {
                    declaration: "unsigned long clone_flags",
                    value: Value::Long(super::clone_flags(*in_process)),
                },
            },
            Field { declaration: "short oom_score_adj", value: Value::Int(0) },
        ],
        What::Fork { child } => {
            let comms = match kernel.since((6, 17)) {
                true => ("__data_loc char[] parent_comm", "__data_loc char[] child_comm"),
                false => ("char parent_comm[16]", "char child_comm[16]"),
            };
            let comm = |declaration, comm| match kernel.since((6, 17)) {
                true => Field { declaration, value: Value::Located(comm) },
                false => text(declaration, comm),
            };
            vec![
                comm(comms.0, &task.comm),
                int("pid_t parent_pid", task.pid),
                comm(comms.1, &child.comm),
                int("pid_t child_pid", child.pid),
            ]
        }
        What::Exec { filename } => vec![
            Field { declaration: "__data_loc char[] filename", value: Value::Located(filename) },
            int("pid_t pid", task.pid),
            int("pid_t old_pid", task.pid),
        ],
        What::Exit => {
            vec![text("char comm[16]", &task.comm), int("pid_t pid", task.pid), int("int prio", 120)]
        }
        What::Wait => vec![text("char comm[16]", &task.comm), int("pid_t pid", 0), int("int prio", 120)],
        What::Migrate { moved, from, to } => vec![
            text("char comm[16]", &moved.comm),
            int("pid_t pid", moved.pid),
            int("int prio", 120),
            int("int orig_cpu", *from),
            int("int dest_cpu", *to),
        ],
        What::Frequency { of, khz } => vec![int("u32 state", *khz), int("u32 cpu_id", *of)],
        What::Idle { of, state } => vec![int("u32 state", *state), int("u32 cpu_id", *of)],
        What::Rename { new } => vec![
            int("pid_t pid", task.pid),
            text("char oldcomm[16]", &task.comm),
            text("char newcomm[16]", new),
            Field { declaration: "short oom_score_adj", value: Value::Int(0) },
        ],
    }
}

impl Field<'_> {
    fn size(&self, machine: Machine) -> usize {
        match self.value {
            Value::Text(_) => 16,
            Value::Long(_) => machine.long,
            Value::Wide(_) => 8,
            Value::Int(_) if self.declaration.starts_with("short ") => 2,
            Value::Int(_) | Value::Located(_) => 4,
        }
    }

    fn signed(&self) -> u8 {
        u8::from(!self.declaration.starts_with('u') && !matches!(self.value, Value::Located(_)))
    }
}

/// An event as it is in the kernel's buffer.
pub fn payload(entry: &Entry, kernel: Kernel, machine: Machine) -> Vec<u8> {
    let mut bytes = Bytes::new(machine.order);
    bytes.u16(name(&entry.what).2);
    bytes.bytes(&[if entry.interrupt { 0x09 } else { 0x01 }, 1]);
    bytes.u32(entry.task.pid as u32);
    let fields = fields(entry, kernel);
    let end = 8 + fields.iter().map(|field| field.size(machine)).sum::<usize>();
    let end = end.next_multiple_of(4);
    let mut located = Vec::new();
    for field in &fields {
        match field.value {
            Value::Text(text) => {
                let mut comm = [0; 16];
                comm[..text.len().min(15)].copy_from_slice(&text.as_bytes()[..text.len().min(15)]);
                bytes.bytes(&comm);
            }
            Value::Int(value) | Value::Long(value) | Value::Wide(value) => {
                bytes.number(value as u64, field.size(machine))
            }
            Value::Located(text) => {
                bytes.u32(((text.len() + 1) << 16 | (end + located.len())) as u32);
                located.extend(text.as_bytes());
                located.push(0);
            }
        }
    }
    bytes.out.resize(end, 0);
    bytes.bytes(&located);
    bytes.out.resize(bytes.out.len().next_multiple_of(4), 0);
    bytes.out
}

/// Subsystem and `format` file of each kind of event, whether it is in the recording or not.
pub fn formats(kernel: Kernel, machine: Machine) -> Vec<(&'static str, &'static str, String)> {
    let task = super::Task { pid: 1, process: 1, comm: String::new() };
    let other = || task.clone();
    let kinds = [
        What::Switch { state: super::State::Runnable, next: other() },
        What::Waking { woken: other(), target: 0 },
        What::Wakeup { woken: other(), target: 0 },
        What::WakeupNew { woken: other(), target: 0 },
        What::Fork { child: other() },
        What::Exec { filename: String::new() },
        What::Exit,
        What::Wait,
        What::Migrate { moved: other(), from: 0, to: 0 },
        What::Frequency { of: 0, khz: 0 },
        What::Idle { of: 0, state: 0 },
        What::Rename { new: String::new() },
        What::NewTask { child: other(), in_process: false },
    ];
    let format = |what| {
        let entry = Entry { time: 0, cpu: 0, task: task.clone(), interrupt: false, what };
        let (system, name, _) = name(&entry.what);
        (system, name, format(&entry, kernel, machine))
    };
    kinds.map(format).into()
}

fn format(entry: &Entry, kernel: Kernel, machine: Machine) -> String {
    let (_, name, id) = name(&entry.what);
    let mut text = format!(
        "name: {name}\nID: {id}\nformat:\n\
         \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
         \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    );
    let mut offset = 8;
    for field in fields(entry, kernel) {
        let (size, signed) = (field.size(machine), field.signed());
        text +=
            &format!("\tfield:{};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n", field.declaration);
        offset += size;
    }
    text + "\nprint fmt: " + &print(&entry.what, kernel) + "\n"
}

/// How the kernel prints an event.
fn print(what: &What, kernel: Kernel) -> String {
    let comm = |name: &str| match kernel.since((6, 17)) {
        true => format!("__get_str({name})"),
        false => format!("REC->{name}"),
    };
    match what {
        What::Switch { .. } => states(kernel),
        What::Waking { .. } | What::Wakeup { .. } | What::WakeupNew { .. } => {
            "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu"
                .into()
        }
        What::Fork { .. } => format!(
            "\"comm=%s pid=%d child_comm=%s child_pid=%d\", {}, REC->parent_pid, {}, REC->child_pid",
            comm("parent_comm"),
            comm("child_comm"),
        ),
        What::Exec { .. } => {
            "\"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid".into()
        }
        What::Exit | What::Wait => "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio".into(),
        What::Migrate { .. } => "\"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d\", REC->comm, REC->pid, \
             REC->prio, REC->orig_cpu, REC->dest_cpu"
            .into(),
        What::Frequency { .. } | What::Idle { .. } => {
            "\"state=%lu cpu_id=%lu\", (unsigned long)REC->state, (unsigned long)REC->cpu_id".into()
        }
        What::NewTask { .. } => {
            let flags = if kernel.since((6, 18)) { "%llx" } else { "%lx" };
            format!(
                "\"pid=%d comm=%s clone_flags={flags} oom_score_adj=%hd\", REC->pid, REC->comm, \
                 REC->clone_flags, REC->oom_score_adj"
            )
        }
        What::Rename { .. } => "\"pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd\", REC->pid, REC->oldcomm, \
             REC->newcomm, REC->oom_score_adj"
            .into(),
    }
}

/// `sched_switch`: its table of states has decimal numbers before 4.14, then hexadecimal ones of different lengths.
fn states(kernel: Kernel) -> String {
    let (names, mask, more) = match kernel.since((4, 14)) {
        true => (&["S", "D", "T", "t", "X", "Z", "P", "I"][..], "0xff".to_owned(), 0x100),
        false => {
            let more = if kernel.since((4, 8)) { 4096 } else { 2048 };
            (&["S", "D", "T", "t", "Z", "X", "x", "K", "W", "P", "N"][..], format!("({more}-1)"), more)
        }
    };
    let number = |bit: usize| match kernel.version {
        (4, ..14) => format!("{}", 1 << bit),
        (4, _) => format!("{:#04x}", 1 << bit),
        (5, _) | (6, ..10) => format!("{:#06x}", 1 << bit),
        _ => format!("{:#010x}", 1 << bit),
    };
    let table: Vec<_> =
        names.iter().enumerate().map(|(bit, name)| format!("{{ {}, \"{name}\" }}", number(bit))).collect();
    format!(
        "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d\", \
         REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & {mask}) ? \
         __print_flags(REC->prev_state & {mask}, \"|\", {}) : \"R\", REC->prev_state & {more} ? \"+\" : \"\", \
         REC->next_comm, REC->next_pid, REC->next_prio",
        table.join(", ")
    )
}

/// `events/header_page`.
pub fn header_page(machine: Machine) -> String {
    let (long, data) = (machine.long, 8 + machine.long);
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
         \tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
         \tfield: char data;\toffset:{data};\tsize:{};\tsigned:1;\n",
        4096 - data
    )
}

/// `events/header_event`.
pub const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\
    \tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\
    \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

/// The part that trace.dat and perf.data share: `header_page`, `header_event`, and all formats.
pub fn tracing_data(kernel: Kernel, machine: Machine) -> [Bytes; 2] {
    let mut pages = Bytes::new(machine.order);
    pages.text("header_page");
    pages.sized(header_page(machine).as_bytes());
    pages.text("header_event");
    pages.sized(HEADER_EVENT.as_bytes());
    let formats = formats(kernel, machine);
    let mut events = Bytes::new(machine.order);
    let systems = ["power", "sched", "task"];
    events.u32(systems.len() as u32);
    for system in systems {
        events.text(system);
        let of_system: Vec<_> = formats.iter().filter(|(of, ..)| *of == system).collect();
        events.u32(of_system.len() as u32);
        of_system.iter().for_each(|(.., format)| events.sized(format.as_bytes()));
    }
    [pages, events]
}

/// The pages of a core's buffer.
pub fn pages(entries: &[&Entry], kernel: Kernel, machine: Machine) -> Vec<u8> {
    let (head, size) = (8 + machine.long, 4096);
    let mut pages = Vec::new();
    let mut page = (0, Bytes::new(machine.order));
    let mut time = 0;
    let mut finish = |(begin, data): (u64, Bytes)| {
        let mut bytes = Bytes::new(machine.order);
        bytes.u64(begin);
        bytes.number(data.out.len() as u64, machine.long);
        bytes.bytes(&data.out);
        bytes.out.resize(size, 0);
        pages.extend(bytes.out);
    };
    for entry in entries {
        let payload = payload(entry, kernel, machine);
        if page.1.out.is_empty() || head + page.1.out.len() + payload.len() + 16 > size {
            let full = std::mem::replace(&mut page, (entry.time, Bytes::new(machine.order)));
            if !full.1.out.is_empty() {
                finish(full);
            }
            time = entry.time;
        }
        append(&mut page.1, entry.time - time, &payload);
        time = entry.time;
    }
    if !page.1.out.is_empty() {
        finish(page);
    }
    pages
}

/// Appends an event to a page.
fn append(page: &mut Bytes, mut delta: u64, payload: &[u8]) {
    const MOST: u64 = (1 << 27) - 1;
    let head = |page: &mut Bytes, kind: u64, delta: u64| match page.order {
        hearth_trace::ftrace::Order::Little => page.u32((delta << 5 | kind) as u32),
        hearth_trace::ftrace::Order::Big => page.u32((kind << 27 | delta) as u32),
    };
    if delta > MOST {
        head(page, 30, delta & MOST);
        page.u32((delta >> 27) as u32);
        delta = 0;
    }
    let words = payload.len() as u64 / 4;
    match words <= 28 {
        true => head(page, words, delta),
        false => {
            head(page, 0, delta);
            page.u32(payload.len() as u32 + 4);
        }
    }
    page.bytes(payload);
}
