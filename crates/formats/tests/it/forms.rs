//! The same events in every form give the same trace.

use super::write::perf_data;
use super::write::text::{self, Form};
use super::write::trace_dat::{self, Version};
use super::write::{Entry, KERNELS, Kernel, MACHINES, Machine, State, Task, What, perfetto, schedviz};
use hearth_formats::{ImportFormat, import_bytes};
use hearth_tests::cases;
use hearth_trace::{Event, Kind, ThreadInfo, Waker};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

/// What must be equal.
#[derive(PartialEq, Debug)]
struct Found {
    events: Vec<Event>,
    /// Without their processes, of which some forms tell more than others.
    threads: Vec<ThreadInfo>,
    names: Vec<String>,
    cores: usize,
    duration: u64,
    lost: Vec<u64>,
    unrecorded: hearth_trace::Unrecorded,
}

/// Thread and process by their numbers in the kernel.
type Member = (i32, Option<i32>);

fn found(name: &str, bytes: &[u8], format: ImportFormat) -> (Found, Vec<Member>) {
    let mut events = Vec::new();
    let imported = import_bytes(Cursor::new(bytes), format, &std::env::temp_dir(), &mut events)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let header = imported.header;
    let pid = |process: u32| header.processes[process as usize].pid as i32;
    let member = |thread: &ThreadInfo| (thread.kernel_tid.unwrap() as i32, thread.process.map(pid));
    let members = header.threads.iter().map(member).collect();
    let found = Found {
        events,
        unrecorded: header.source.unrecorded(),
        threads: header.threads.into_iter().map(|thread| ThreadInfo { process: None, ..thread }).collect(),
        names: header.names,
        cores: header.cores.len(),
        duration: header.duration,
        lost: header.lost,
    };
    (found, members)
}

/// Number of events in which two traces differ.
fn differences(a: &Found, b: &Found) -> usize {
    let common = a.events.len().min(b.events.len());
    let different = a.events.iter().zip(&b.events).filter(|(a, b)| a != b).count();
    let rest = a.events.len().max(b.events.len()) - common;
    different
        + rest
        + usize::from((&a.threads, &a.names, a.cores) != (&b.threads, &b.names, b.cores))
        + usize::from((&a.lost, a.duration, a.unrecorded) != (&b.lost, b.duration, b.unrecorded))
}

// ---- events ---------------------------------------------------------------------------------------

const CORES: u32 = 3;
const COMMS: [&str; 8] =
    ["sh", "a b", "kworker/0:1-ev", "x-1", "[42]", "c:d", "lto cgu.08", "fifteen-bytes-x"];

/// A step of a machine: which core, what, about which thread.
type Step = (u64, u32, u8, i32, bool);

/// Which kinds of events are recorded.
#[derive(Clone, Copy, Debug)]
struct Kinds {
    waking: bool,
    wakeup: bool,
    others: bool,
    /// One event of this many is missing; 0: none.
    missing: u64,
}

fn task(pid: i32) -> Task {
    let comm = if pid == 0 { "swapper" } else { COMMS[pid as usize % COMMS.len()] };
    // Three threads each; of a child, the first digits name its creator.
    let process = match pid {
        1..100 => pid - (pid - 1) % 3,
        200.. if is_in_process(pid) => task((pid - 200) / 20).process,
        _ => pid,
    };
    Task { pid, process, comm: comm.into() }
}

/// Whether the child with this number belongs to the process of its creator.
fn is_in_process(child: i32) -> bool {
    child % 2 == 1
}

fn child(creator: i32, number: i32) -> Task {
    task(200 + 20 * creator + number)
}

/// A consistent sequence of events, as a kernel would report it.
fn entries(steps: &[Step], kinds: Kinds, unit: u64) -> Vec<Entry> {
    let mut running = [0; CORES as usize];
    let mut time = 1_000_000_000;
    let mut entries = Vec::new();
    for (later, cpu, what, pid, interrupt) in steps {
        time += later * unit;
        let (cpu, now) = (*cpu, running[*cpu as usize]);
        let target = *pid as u32 % CORES;
        let what = match what {
            0..=9 => {
                let elsewhere = running.contains(pid);
                let next = if elsewhere || now == *pid { 0 } else { *pid };
                if next == now {
                    continue;
                }
                running[cpu as usize] = next;
                What::Switch { state: state(*what, now), next: task(next) }
            }
            10 | 11 if kinds.waking => What::Waking { woken: task(*pid), target },
            12 | 13 if kinds.wakeup => What::Wakeup { woken: task(*pid), target },
            14 if kinds.wakeup => What::WakeupNew { woken: task(*pid + 100), target },
            15 if kinds.others && now != 0 => {
                let child = child(now, *pid);
                let in_process = is_in_process(child.pid);
                let what = What::NewTask { child: child.clone(), in_process };
                entries.push(Entry { time, cpu, task: task(now), interrupt: *interrupt, what });
                What::Fork { child }
            }
            16 if kinds.others && now != 0 => {
                What::Exec { filename: format!("/usr/bin/{}{pid}", "long/".repeat(*pid as usize * 3)) }
            }
            17 if kinds.others && now != 0 => What::Exit,
            18 if kinds.others && now != 0 => What::Wait,
            19 if kinds.others => What::Migrate { moved: task(*pid), from: cpu, to: target },
            20 if kinds.others => What::Frequency { of: target, khz: 1_000_000 + *pid as u32 },
            21 if kinds.others => {
                What::Idle { of: target, state: if *pid % 2 == 0 { u32::MAX } else { *pid as u32 } }
            }
            22 if kinds.others && now != 0 => What::Rename { new: format!("new {pid}") },
            _ => continue,
        };
        if kinds.missing > 0 && (time / unit).is_multiple_of(kinds.missing) {
            continue;
        }
        entries.push(Entry { time, cpu, task: task(now), interrupt: *interrupt, what });
    }
    entries
}

fn state(number: u8, pid: i32) -> State {
    if pid == 0 {
        return State::Runnable;
    }
    [
        State::Runnable,
        State::Preempted,
        State::Preempted,
        State::Sleeping,
        State::Sleeping,
        State::Uninterruptible,
        State::Killable,
        State::NoLoad,
        State::Stopped,
        State::Dead,
    ][usize::from(number)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let later = prop_oneof![20 => 1u64..5_000, 3 => 1u64..1_000_000, 1 => 1u64..3_000_000];
    vec((later, 0..CORES, 0u8..23, 1i32..12, any::<bool>()), 2..400)
}

fn kinds() -> impl Strategy<Value = Kinds> {
    let missing = prop::sample::select(vec![0, 3, 20]);
    (any::<(bool, bool, bool)>(), missing).prop_map(|((waking, wakeup, others), missing)| Kinds {
        waking,
        wakeup,
        others,
        missing,
    })
}

fn is_switch(entry: &Entry) -> bool {
    matches!(entry.what, What::Switch { .. })
}

/// The same events without what text does not show.
fn without_interrupts(entries: &[Entry]) -> Vec<Entry> {
    entries.iter().map(|entry| Entry { interrupt: false, ..entry.clone() }).collect()
}

// ---- forms ----------------------------------------------------------------------------------------

/// All binary forms of some events.
fn binary(entries: &[Entry], kernel: Kernel, machine: Machine) -> Vec<(String, Vec<u8>, ImportFormat)> {
    use ImportFormat::{PerfData, Perfetto, SchedViz, TraceDat};
    let mut forms = Vec::new();
    for version in [Version::Six, Version::Seven, Version::SevenZlib, Version::SevenZstd] {
        let bytes = trace_dat::write(entries, kernel, machine, version);
        forms.push((format!("trace.dat {version:?}"), bytes, TraceDat));
    }
    for groups in [false, true] {
        let bytes = perf_data::write(entries, kernel, machine, groups);
        forms.push((format!("perf.data, groups: {groups}"), bytes, PerfData));
    }
    forms.push(("Perfetto".into(), perfetto::write(entries, kernel, true), Perfetto));
    forms.push(("SchedViz".into(), schedviz::write(entries, kernel), SchedViz));
    forms
}

/// Forms as text that have all that the events have.
fn texts(
    entries: &[Entry],
    kernel: Kernel,
    machine: Machine,
    forms: &[Form],
) -> Vec<(String, Vec<u8>, ImportFormat)> {
    let of = |form: &Form| {
        let text = text::write(entries, kernel, machine, *form);
        (format!("{form:?}"), text.into_bytes(), ImportFormat::Text)
    };
    forms.iter().map(of).collect()
}

/// For each form: recordings, events, differences.
type Table = RefCell<BTreeMap<String, (usize, usize, usize)>>;

/// Forms that tell the process of each thread that ran. The others know it of new threads.
const WITH_PROCESSES: [&str; 3] = ["perf.data", "Perfetto", "Tgid"];

/// A form knows the right process of a thread, or none; and as many as it can.
#[track_caller]
fn assert_processes(form: &str, members: &[Member], entries: &[Entry]) {
    let ran = |pid| entries.iter().any(|entry| entry.task.pid == pid);
    let created = |pid| {
        entries.iter().any(|entry| matches!(&entry.what, What::NewTask { child, .. } if child.pid == pid))
    };
    let all = WITH_PROCESSES.iter().any(|name| form.starts_with(name));
    for (pid, process) in members {
        let known = (all && ran(*pid)) || (created(*pid) && (all || !is_in_process(*pid)));
        assert!(process.is_some() || !known, "{form}: the process of {pid} is unknown");
        assert!(
            process.is_none_or(|process| process == task(*pid).process),
            "{form}: {pid} is of {process:?}"
        );
    }
}

#[track_caller]
fn assert_same(forms: &[(String, Vec<u8>, ImportFormat)], entries: &[Entry], table: &Table) {
    let (reference, _) = found(&forms[0].0, &forms[0].1, forms[0].2);
    for (name, bytes, format) in forms {
        let (found, members) = found(name, bytes, *format);
        assert_processes(name, &members, entries);
        let differences = differences(&reference, &found);
        let mut table = table.borrow_mut();
        let row = table.entry(name.clone()).or_default();
        *row = (row.0 + 1, row.1 + found.events.len(), row.2 + differences);
        assert_eq!(found, reference, "{name} and {}: {differences} differences", forms[0].0);
    }
}

/// Prints the table of forms, with `cargo test -- --nocapture`.
fn print(title: &str, table: &Table) {
    for (form, (recordings, events, differences)) in table.borrow().iter() {
        println!("{title} | {form} | {recordings} | {events} | {differences}");
    }
}

fn runner(quick: u32, all: u32) -> proptest::test_runner::TestRunner {
    let config = ProptestConfig { cases: cases(quick, all), ..ProptestConfig::default() };
    proptest::test_runner::TestRunner::new(config)
}

/// trace.dat, perf.data, Perfetto, SchedViz and the kernel's text, of each kernel and machine.
#[test]
fn all_forms_give_the_same_trace() {
    let table = Table::default();
    let inputs = (steps(), kinds(), 0..KERNELS.len(), 0..MACHINES.len());
    let result = runner(40, 600).run(&inputs, |(steps, kinds, kernel, machine)| {
        let (kernel, machine) = (KERNELS[kernel], MACHINES[machine]);
        let entries = entries(&steps, kinds, 1000);
        prop_assume!(entries.iter().any(is_switch));
        let mut forms = binary(&entries, kernel, machine);
        forms.extend(texts(&entries, kernel, machine, &[Form::Kernel, Form::Tgid]));
        assert_same(&forms, &entries, &table);
        // Text without flags, and times of a nanosecond.
        let entries = without_interrupts(&self::entries(&steps, kinds, 1));
        let mut forms = binary(&entries, kernel, machine);
        forms.extend(texts(&entries, kernel, machine, &[Form::Report, Form::Script]));
        if tells_its_kernel(&entries, kernel) {
            forms.extend(texts(&entries, kernel, machine, &[Form::Raw]));
            let bytes = perfetto::write(&entries, kernel, false);
            forms.push(("Perfetto without the kernel's release".into(), bytes, ImportFormat::Perfetto));
        }
        assert_same(&forms, &entries, &table);
        Ok(())
    });
    print("generated", &table);
    result.unwrap();
}

/// True if the numbers of the states are of this kernel only.
fn tells_its_kernel(entries: &[Entry], kernel: Kernel) -> bool {
    let mut evidence = hearth_trace::ftrace::StateEvidence::default();
    for entry in entries {
        if let What::Switch { state, .. } = entry.what {
            evidence.see(kernel.bits(state) as u64);
        }
    }
    let before = evidence.bits() == hearth_trace::ftrace::StateBits::Before414;
    before != kernel.since((4, 14))
}

/// The output of a real tool for a file, if it is installed.
fn printed(program: &str, file: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).arg(file).output().expect(program);
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// trace-cmd and perf read what the writers of these tests write, and print the same events.
#[test]
fn the_tools_themselves_read_the_same() {
    if !hearth_tests::has(&["trace-cmd", "perf"], "recorders") {
        return;
    }
    let table = Table::default();
    let folder = tempfile::tempdir().unwrap();
    let inputs = (steps(), kinds(), 0..KERNELS.len(), 0..MACHINES.len());
    let result = runner(6, 150).run(&inputs, |(steps, kinds, kernel, machine)| {
        let (kernel, machine) = (KERNELS[kernel], MACHINES[machine]);
        let entries = without_interrupts(&entries(&steps, kinds, 1));
        prop_assume!(entries.iter().any(is_switch));
        let mut forms = binary(&entries, kernel, machine);
        for version in [Version::Six, Version::Seven, Version::SevenZstd] {
            let file = folder.path().join("trace.dat");
            std::fs::write(&file, trace_dat::write(&entries, kernel, machine, version)).unwrap();
            let text = printed("trace-cmd", &file, &["report", "-t", "-i"]);
            forms.push((format!("trace-cmd report of {version:?}"), text.into_bytes(), ImportFormat::Text));
            if tells_its_kernel(&entries, kernel) {
                let text = printed("trace-cmd", &file, &["report", "-t", "-R", "-i"]);
                forms.push((
                    format!("trace-cmd report -R of {version:?}"),
                    text.into_bytes(),
                    ImportFormat::Text,
                ));
            }
        }
        let file = folder.path().join("perf.data");
        std::fs::write(&file, perf_data::write(&entries, kernel, machine, false)).unwrap();
        let text = printed("perf", &file, &["script", "--ns", "-f", "-i"]);
        forms.push(("perf script".into(), text.into_bytes(), ImportFormat::Text));
        assert_same(&forms, &entries, &table);
        Ok(())
    });
    print("tools", &table);
    result.unwrap();
}

/// What trace-cmd recorded, and what it prints of it. Its text has no interrupts.
#[test]
fn real_recordings_are_read_as_trace_cmd_reads_them() {
    if !hearth_tests::has(&["trace-cmd", "perf"], "recorders") {
        return;
    }
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let recordings: [(&str, &[&str]); 4] = [
        ("trace-v6.dat", &["report", "-t", "-i"]),
        ("trace-v6.dat", &["report", "-t", "-R", "-i"]),
        ("trace-v7.dat", &["report", "-t", "-i"]),
        ("trace-v7.dat", &["report", "-t", "-R", "-i"]),
    ];
    let table = Table::default();
    for (name, arguments) in recordings {
        let file = data.join(name);
        let without_wakers = |(mut found, _): (Found, Vec<Member>)| {
            for event in &mut found.events {
                if let Kind::Wakeup { waker, .. } = &mut event.kind {
                    *waker = Waker::Interrupt;
                }
            }
            // Names outside of events are those of the tool's own table.
            found.threads.clear();
            found
        };
        let text = printed("trace-cmd", &file, arguments);
        let ours = without_wakers(found(name, &std::fs::read(&file).unwrap(), ImportFormat::TraceDat));
        let theirs = without_wakers(found(name, text.as_bytes(), ImportFormat::Text));
        let row = (1, theirs.events.len(), differences(&ours, &theirs));
        table.borrow_mut().insert(format!("trace-cmd {arguments:?} {name}"), row);
        assert_eq!(ours, theirs, "{arguments:?} {name}");
    }
    print("real", &table);
}
