//! Records real commands with both methods, in the guests of `scripts/kernels`. `scripts/bpf recorder` compiles the BPF
//! programs.

use hearth_recorder::{LowPriority, MethodChoice, Options, RecordedTrace, Session, Subject, record};
use hearth_trace::{Event, Filter, IDLE, Kind, Source, ThreadInfo, Tid, Trace, Waker};
use std::collections::BTreeMap;

fn recording(words: &[&str], method: MethodChoice) -> RecordedTrace {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    record(&words, Options { method, ..Options::default() }).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_loop_of_forks_by_bpf() {
    a_loop_of_forks(MethodChoice::Bpf);
}

#[test]
fn a_loop_of_forks_by_tracefs() {
    a_loop_of_forks(MethodChoice::Tracefs);
}

fn a_loop_of_forks(method: MethodChoice) {
    let script = "for i in 1 2 3; do /bin/true; done";
    let RecordedTrace { trace, status, inferred } = recording(&["sh", "-c", script], method);
    assert!(status.success());
    let header = &trace.header;
    let traced = |tid| header.threads.iter().any(|thread| thread.tid == tid && thread.traced);
    let count = |what: fn(&Kind) -> Option<u32>| {
        trace.events.iter().filter_map(|event| what(&event.kind)).filter(|tid| traced(*tid)).count()
    };
    let forks = count(|kind| if let Kind::Fork { child, .. } = kind { Some(*child) } else { None });
    let exits = count(|kind| if let Kind::Exit { thread } = kind { Some(*thread) } else { None });
    let waits = count(|kind| if let Kind::Wait { thread } = kind { Some(*thread) } else { None });
    let execs: Vec<&str> = (trace.events.iter())
        .filter_map(|event| match event.kind {
            Kind::Exec { thread, name } if traced(thread) => Some(header.names[name as usize].as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(forks, 3);
    assert_eq!(exits, 4);
    assert!(waits >= 3, "{waits} waits");
    assert_eq!(execs, ["sh", "true", "true", "true"]);
    // No buffer overflowed. Some kernels omit a switch now and then, also in their text trace.
    assert_eq!(header.lost.iter().sum::<u64>(), inferred, "events were lost");
    let violations = trace.check();
    assert!(violations.is_empty(), "{} violations, first: {}", violations.len(), violations[0]);

    let summary = trace.summary();
    assert!(summary.duration_s > 0.0 && summary.busy_core_s > 0.0, "{summary:?}");
    assert!(summary.busy_core_s <= summary.duration_s * header.cores.len() as f64);
    assert!(summary.wakeup_latency_us.count >= 3);
    assert!(header.threads.iter().all(|thread| thread.tid != IDLE));
}

/// Each line wakes the reader of a pipe. Children that end wake their parent with the same flag.
#[test]
fn writes_to_a_pipe_are_synchronous() {
    let script = "for i in 1 2 3 4 5; do sleep 0.01; echo; done | while read line; do :; done";
    let synchronous = |method| {
        let Trace { header, events } = recording(&["sh", "-c", script], method).trace;
        let parents: BTreeMap<Tid, Tid> = header.threads.iter().map(|t| (t.tid, t.parent)).collect();
        // Writer and reader are children of the same thread.
        let by_sibling = |event: &&Event| match event.kind {
            Kind::Wakeup { thread, waker: Waker::Thread(waker), sync: true, .. } => {
                header.threads.iter().any(|t| t.tid == thread && t.traced)
                    && parents.get(&thread) == parents.get(&waker)
            }
            _ => false,
        };
        (header.sync, events.iter().filter(by_sibling).count())
    };
    let (known, lines) = synchronous(MethodChoice::Bpf);
    assert!(known && (4..=6).contains(&lines), "{known}, {lines} lines");
    assert_eq!(synchronous(MethodChoice::Tracefs), (false, 0));
}

/// The command and its children are processes, whose parents are known; the recorder's threads are one process.
#[test]
fn threads_belong_to_processes() {
    for method in [MethodChoice::Bpf, MethodChoice::Tracefs] {
        let Trace { header, .. } = recording(&["sh", "-c", "/bin/true; /bin/true"], method).trace;
        let pid = |process: Option<u32>| process.map(|process| header.processes[process as usize].pid);
        let parent = |process: Option<u32>| pid(header.processes[process.unwrap() as usize].parent);
        let of = |thread: &ThreadInfo| (thread.kernel_tid, pid(thread.process), parent(thread.process));
        let traced: Vec<_> = header.threads.iter().filter(|thread| thread.traced).collect();
        let [sh, children @ ..] = &traced[..] else { panic!("{method:?}: no traced threads") };
        let (recorder, shell) = (std::process::id(), sh.kernel_tid.unwrap());
        assert_eq!(of(sh), (Some(shell), Some(shell), Some(recorder)), "{method:?}");
        assert_eq!(children.len(), 2, "{method:?}: {children:?}");
        for child in children {
            assert_eq!(of(child), (child.kernel_tid, child.kernel_tid, Some(shell)), "{method:?}");
            assert_eq!(header.processes[child.process.unwrap() as usize].name, "true");
        }
        // The converter, which is created during the recording.
        let is_created = |thread: &&ThreadInfo| {
            pid(thread.process) == Some(recorder)
                && thread.kernel_tid != Some(recorder)
                && thread.parent != IDLE
        };
        assert!(header.threads.iter().any(|thread| is_created(&thread)), "{method:?}: {:?}", header.threads);
    }
}

#[test]
fn the_status_of_the_command_is_returned() {
    let recording = recording(&["sh", "-c", "exit 3"], MethodChoice::Auto);
    assert_eq!(recording.status.code(), Some(3));
}

#[test]
fn a_command_that_does_not_exist() {
    let error = record(&["no-such-program-anywhere".into()], Options::default()).err().expect("an error");
    assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
}

/// A recording leaves no tracefs instance, also if the command is killed.
#[test]
fn the_instance_is_removed() {
    let recording = recording(&["sh", "-c", "kill -9 $$"], MethodChoice::Tracefs);
    assert!(!recording.status.success());
    let ours = format!("hearth-{}-", std::process::id());
    let left = || {
        let instances = std::fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
        instances.filter(|entry| entry.file_name().to_string_lossy().starts_with(&ours)).count()
    };
    // Wait for the instances of the other tests of this process.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(90);
    while left() > 0 {
        assert!(std::time::Instant::now() < deadline, "{} instances are left", left());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// A thousand forks overflow no buffer, and the trace is consistent.
#[test]
fn a_long_loop_by_bpf_is_sound() {
    a_long_loop_is_consistent(MethodChoice::Bpf);
}

#[test]
fn a_long_loop_by_tracefs_is_sound() {
    a_long_loop_is_consistent(MethodChoice::Tracefs);
}

fn a_long_loop_is_consistent(method: MethodChoice) {
    let script = "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done";
    let RecordedTrace { trace, inferred, .. } = recording(&["sh", "-c", script], method);
    let forks = |event: &&hearth_trace::Event| matches!(event.kind, Kind::Fork { .. });
    assert!(trace.events.iter().filter(forks).count() >= 1000);
    assert_eq!(trace.header.lost.iter().sum::<u64>(), inferred, "events were lost");
    let violations = trace.check();
    assert!(violations.is_empty(), "{} violations, first: {}", violations.len(), violations[0]);
}

/// As `hearth exec --record` does it: recording begins before the command is made, and another process ends it.
#[test]
fn a_process_that_starts_later_is_traced() {
    for method in [MethodChoice::Bpf, MethodChoice::Tracefs] {
        let options = Options { method, ..Options::default() };
        let mut session = Session::prepare(Subject::UntilStopped, options).unwrap();
        let stop = session.stop_handle();
        session.start().unwrap();
        let mut child = std::process::Command::new("sh").args(["-c", "/bin/true; exit 3"]).spawn().unwrap();
        session.trace_descendants(child.id() as i32, vec!["sh".into()]);
        let run =
            move || session.run(&std::env::temp_dir(), LowPriority::new(Vec::<Event>::new), |_| ()).unwrap();
        let recording = std::thread::spawn(run);
        assert_eq!(child.wait().unwrap().code(), Some(3));
        stop.stop();
        let assembled = recording.join().unwrap().assembled;
        let trace = Trace { header: assembled.header, events: assembled.sink };
        assert_eq!(trace.check(), []);
        let Source::Recorded(source) = &trace.header.source else { panic!("{:?}", trace.header.source) };
        assert_eq!((source.filter, source.command.as_slice()), (Filter::Command, &["sh".to_owned()][..]));
        let traced: Vec<_> = trace.header.threads.iter().filter(|thread| thread.traced).collect();
        let forked = |tid| {
            trace.events.iter().any(|event| matches!(event.kind, Kind::Fork { child, .. } if child == tid))
        };
        assert_eq!(traced.len(), 2, "{traced:?}");
        assert!(traced.iter().all(|thread| forked(thread.tid)));
    }
}

/// Compares the events of each thread of a command, recorded with both methods at the same time.
mod both {
    use super::*;
    use hearth_recorder::{LowPriority, MethodChoice, Session, Subject};
    use hearth_trace::{CoreId, Event, Header, Tid, Time, Trace, Waker};
    use std::collections::HashMap;
    use std::time::Duration;

    fn session(subject: Subject<'_>, method: MethodChoice) -> Trace {
        let session = Session::prepare(subject, Options { method, ..Options::default() }).unwrap();
        let folder = std::env::temp_dir();
        let assembled = session.run(&folder, LowPriority::new(Vec::<Event>::new), |_| ()).unwrap().assembled;
        Trace { header: assembled.header, events: assembled.sink }
    }

    /// Events of a thread, in order: those with interrupts off; and those that may be preempted, which one recorder may
    /// see before the preemption, and the other after it.
    type Actions = [Vec<(Time, String)>; 2];

    /// The waker of a thread that is about to block may leave its own core at the same moment. A recorder that sees this
    /// first does not know the waker (see `ftrace/assemble/threads.rs` of hearth-trace).
    const SOMEBODY: &str = "somebody";

    fn agree_on((_, ours): &(Time, String), (_, theirs): &(Time, String)) -> bool {
        let anybody = |action: &str| action.replace("a thread", SOMEBODY).replace("an interrupt", SOMEBODY);
        ours == theirs
            || ((ours.contains(SOMEBODY) || theirs.contains(SOMEBODY)) && anybody(ours) == anybody(theirs))
    }

    /// The command's threads, in the order of their forks.
    #[derive(Default)]
    struct Story {
        actions: Vec<Actions>,
        numbers: HashMap<Tid, usize>,
        blocked: HashMap<Tid, Time>,
        woken_by: HashMap<Tid, CoreId>,
    }

    impl Story {
        fn of(Trace { header, events }: &Trace, program: &str) -> Vec<Actions> {
            let mut story = Story::default();
            for event in events {
                story.begins(header, event, program);
                story.goes_on(header, event);
            }
            // The exec may be seen on either side of a preemption, too.
            if let Some([first, _]) = story.actions.first_mut() {
                let fork = first.iter().position(|(_, action)| action.starts_with("forks")).unwrap_or(0);
                first.drain(..fork);
            }
            story.actions
        }

        fn begins(&mut self, header: &Header, event: &Event, program: &str) {
            match event.kind {
                Kind::Exec { thread, name } if text(header, name) == program => {
                    self.numbers.insert(thread, 0);
                    self.actions.push(Actions::default());
                }
                Kind::Fork { parent, child, .. } if self.numbers.contains_key(&parent) => {
                    self.numbers.insert(child, self.actions.len());
                    self.actions.push([vec![(event.time, "forked".into())], Vec::new()]);
                }
                _ => {}
            }
        }

        fn goes_on(&mut self, header: &Header, event: &Event) {
            let &Event { time, core, kind } = event;
            match kind {
                Kind::Switch { prev, stop, next } => {
                    self.blocked.insert(prev, time);
                    self.does(time, prev, format!("{stop:?} on {core}"));
                    self.does(time, next, format!("runs on {core}"));
                }
                Kind::Wakeup { thread, waker, target, .. } => {
                    let by = match waker {
                        Waker::Interrupt if self.blocked.get(&thread) == Some(&time) => SOMEBODY,
                        Waker::Interrupt => "an interrupt",
                        Waker::Thread(_) => "a thread",
                    };
                    self.woken_by.insert(thread, core);
                    self.does(time, thread, format!("woken by {by} on {target}"));
                }
                Kind::Migrate { thread, from, to } => self.moves(event, thread, from, to),
                Kind::Fork { parent, target, .. } => self.does(time, parent, format!("forks to {target}")),
                Kind::Exec { thread, name } => {
                    self.may_do(time, thread, format!("exec {}", text(header, name)))
                }
                Kind::Exit { thread } => self.may_do(time, thread, "exit".into()),
                Kind::Wait { thread } => self.may_do(time, thread, "wait".into()),
                _ => {}
            }
        }

        /// With tracefs, an immediate steal by the waker's core looks like a part of the wake-up.
        fn moves(&mut self, event: &Event, thread: Tid, from: CoreId, to: CoreId) {
            let by_waker = self.woken_by.get(&thread) == Some(&event.core);
            let last = self.numbers.get(&thread).and_then(|number| self.actions[*number][0].last_mut());
            match last.filter(|_| by_waker) {
                Some((_, action)) if *action == format!("woken by a thread on {from}") => {
                    *action = format!("woken by a thread on {to}")
                }
                _ => self.does(event.time, thread, format!("moves from {from} to {to}")),
            }
        }

        fn does(&mut self, time: Time, thread: Tid, what: String) {
            if let Some(number) = self.numbers.get(&thread) {
                self.actions[*number][0].push((time, what));
            }
        }

        /// Events that may be preempted.
        fn may_do(&mut self, time: Time, thread: Tid, what: String) {
            if let Some(number) = self.numbers.get(&thread) {
                self.actions[*number][1].push((time, what));
            }
        }
    }

    fn text(header: &Header, name: u32) -> String {
        header.names.get(name as usize).cloned().unwrap_or_default()
    }

    /// Fails with the first difference and the events before it.
    fn agree(bpf: &[Actions], tracefs: &[Actions]) {
        for (number, (ours, theirs)) in bpf.iter().zip(tracefs).enumerate() {
            for (ours, theirs) in ours.iter().zip(theirs) {
                let same = ours.iter().zip(theirs).take_while(|(a, b)| agree_on(a, b)).count();
                let around = same.saturating_sub(4)..same + 5;
                let shown = |actions: &[(Time, String)]| {
                    let actions = &actions[around.start..around.end.min(actions.len())];
                    actions
                        .iter()
                        .map(|(time, action)| format!("{} us {action}", time / 1000))
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                assert!(
                    same == ours.len() && same == theirs.len(),
                    "thread {number}, action {same} of {}:\nBPF:     {}\ntracefs: {}",
                    ours.len(),
                    shown(ours),
                    shown(theirs)
                );
            }
        }
        assert_eq!(bpf.len(), tracefs.len(), "threads");
    }

    #[test]
    fn both_methods_see_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("seen-twice");
        std::fs::copy("/bin/sh", &program).unwrap();
        let script = "for i in 1 2 3 4 5; do /bin/true; done; echo a | cat | cat > /dev/null; sleep 0.02";
        let words = [program.to_str().unwrap(), "-c", script].map(str::to_owned);
        for attempt in 0..5 {
            let (by_tracefs, by_bpf) = std::thread::scope(|scope| {
                // On a slow machine the command may take longer: retry with more time.
                let time = Duration::from_secs(2 << attempt);
                let tracefs =
                    scope.spawn(move || session(Subject::System(Some(time)), MethodChoice::Tracefs));
                std::thread::sleep(Duration::from_millis(300));
                let bpf = session(Subject::Command(&words), MethodChoice::Bpf);
                (tracefs.join().unwrap(), bpf)
            });
            let lost = |trace: &Trace| trace.header.lost.iter().sum::<u64>();
            if lost(&by_tracefs) + lost(&by_bpf) > 0 {
                eprintln!("attempt {attempt}: the kernel omitted switches");
                continue;
            }
            assert_eq!(by_bpf.check(), []);
            let (bpf, mut tracefs) = (Story::of(&by_bpf, "seen-twice"), Story::of(&by_tracefs, "seen-twice"));
            let ended = |actions: &[Actions]| {
                actions
                    .first()
                    .is_some_and(|[first, _]| first.iter().any(|(_, action)| action.starts_with("Exited")))
            };
            if !ended(&tracefs) {
                eprintln!("attempt {attempt}: the command took too long");
                continue;
            }
            assert!(bpf.len() >= 9, "{bpf:#?}");
            // The trace of the command ends with its last switch.
            for (long, short) in tracefs.iter_mut().flatten().zip(bpf.iter().flatten()) {
                long.truncate(short.len());
            }
            agree(&bpf, &tracefs);
            return;
        }
        panic!("none of the attempts could be compared");
    }
}
