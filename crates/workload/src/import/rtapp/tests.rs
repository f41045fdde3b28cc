use proptest::prelude::*;

use super::*;
use crate::{DryRun, Op, Timer, Workload};

fn good(text: &str) -> (Workload, Vec<String>) {
    let Resolved { workload, notes } = import(text, "dir/doc.json").unwrap_or_else(|e| panic!("{e}"));
    (workload, notes)
}

fn bad(text: &str) -> String {
    import(text, "doc.json").unwrap_err().to_string()
}

const MS: u64 = 1000 * crate::generate::CYCLES_PER_US;

#[test]
fn a_periodic_task() {
    let (workload, notes) = good(
        r#"{ /* two periods */
            "tasks": { "light": { "loop": 100, "run": 5000, "timer": {"ref": "unique", "period": 20000} } },
            "global": { "duration": 6, "calibration": "CPU0", "default_policy": "SCHED_OTHER", "gnuplot": true }
        }"#,
    );
    assert_eq!(workload.name, "doc");
    assert_eq!(workload.threads[0].name, "light");
    assert_eq!(workload.threads[0].ops, [Op::repeat(100, vec![Op::Run(5 * MS), Op::Timer(0, 20_000_000)])]);
    assert_eq!(workload.timers, [Timer::Relative]);
    assert!(notes.iter().any(|n| n.contains("calibration")), "{notes:?}");
}

#[test]
fn phases_instances_and_attributes() {
    let (workload, notes) = good(
        r#"{"tasks": {"t": {
            "instance": 2, "delay": 1000, "loop": 3, "cpus": [2, 3], "priority": -5, "util_min": 10,
            "phases": {
                "light": {"loop": 10, "run0": 1000, "timer0": {"ref": "uniqueA", "period": 30000}, "yield": ""},
                "heavy": {"loop": 2, "run": 4000, "sleep": 500, "run1": 40000, "timer": {"ref": "uniqueA", "period": 30000}}
            }}}}"#,
    );
    let names: Vec<&str> = workload.threads.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["t-0", "t-1"]);
    let thread = &workload.threads[1];
    assert_eq!((thread.nice, &thread.affinity[..]), (-5, &[2, 3][..]));
    // Each instance has its own timer, whose first period begins after the delay.
    let timer = |ms: u64| Op::Timer(1, ms * 1_000_000);
    let light = vec![Op::Run(MS), timer(30), Op::Yield];
    let heavy = vec![Op::Run(4 * MS), Op::Sleep(500_000), Op::Run(40 * MS), timer(30)];
    assert_eq!(thread.ops, [timer(1), Op::repeat(3, vec![Op::repeat(10, light), Op::repeat(2, heavy)])]);
    assert_eq!(workload.timers.len(), 2);
    assert!(notes.iter().any(|n| n.contains("util_min")), "{notes:?}");
}

/// Threads share a timer whose name does not begin with `unique`.
#[test]
fn timers_are_shared_or_unique_relative_or_absolute() {
    let (workload, _) = good(
        r#"{"tasks": {
            "a": {"loop": 4, "run": 1, "timer0": {"ref": "tick", "period": 10}, "timer1": {"ref": "unique0", "period": 7}},
            "b": {"loop": 4, "timer": {"ref": "tick", "period": 20, "mode": "absolute"}, "timer1": {"period": 5}}
        }}"#,
    );
    assert_eq!(workload.timers, [Timer::Absolute, Timer::Relative, Timer::Relative]);
    assert_eq!(
        workload.threads[0].ops,
        [Op::repeat(4, vec![Op::Run(MS / 1000), Op::Timer(0, 10_000), Op::Timer(1, 7000)])]
    );
    assert_eq!(workload.threads[1].ops, [Op::repeat(4, vec![Op::Timer(0, 20_000), Op::Timer(2, 5000)])]);
}

/// The time of a dry run, in milliseconds.
fn ms(text: &str) -> u64 {
    let (workload, _) = good(text);
    match workload.dry_run(100_000) {
        DryRun::Finishes { span } => span / 1_000_000,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_timer_keeps_its_period_and_one_that_is_missed_is_late_or_catches_up() {
    let task = |mode: &str| {
        format!(
            r#"{{"tasks": {{"t": {{"loop": 1, "phases": {{
                "slow": {{"run": 35000, "timer": {{"ref": "unique", "period": 10000, "mode": "{mode}"}}}},
                "fast": {{"loop": 9, "run": 1000, "timer": {{"ref": "unique", "period": 10000, "mode": "{mode}"}}}}
            }}}}}}}}"#
        )
    };
    assert_eq!(ms(&task("relative")), 35 + 90);
    assert_eq!(ms(&task("absolute")), 100);
    assert_eq!(ms(&task("absolute").replace("\"loop\": 1,", "\"loop\": 1, \"delay\": 20000,")), 120);
    assert_eq!(ms(&task("relative").replace("\"loop\": 1,", "\"loop\": 1, \"delay\": 20000,")), 20 + 125);
}

#[test]
fn semaphores() {
    let text = r#"{"tasks": {
        "taker": {"loop": 3, "sem_wait": "s", "run": 1000},
        "giver": {"loop": 3, "run": 1000, "sem_post0": "s", "sleep": 9000}
    }}"#;
    assert_eq!(good(text).0.semaphores, [0]);
    assert_eq!(ms(text), 30);
}

/// Without `phases`, the loop is that of the only phase, and a phase that loops 0 times never ends.
#[test]
fn endless_phases() {
    let phases = |first: i32| {
        format!(
            r#"{{"tasks": {{"t": {{"loop": 7, "delay": 1000, "phases": {{
                "a": {{"run": 4000}}, "b": {{"loop": {first}, "run": 1000, "sleep": 9000}}, "c": {{"run": 5}}
            }}}}}}, "global": {{"duration": 1}}}}"#
        )
    };
    for endless in [-1, 0] {
        let (workload, notes) = good(&phases(endless));
        let round = Op::repeat(100, vec![Op::Run(MS), Op::Sleep(9_000_000)]);
        assert_eq!(workload.threads[0].ops, [Op::Sleep(1_000_000), Op::Run(4 * MS), round]);
        assert!(notes.iter().any(|n| n.contains("never run")), "{notes:?}");
    }
    let (workload, _) = good(r#"{"tasks": {"t": {"loop": -1, "run": 10000}}, "global": {"duration": 1}}"#);
    assert_eq!(workload.threads[0].ops, [Op::repeat(100, vec![Op::Run(10 * MS)])]);
}

#[test]
fn what_json_c_accepts_is_a_document() {
    let (workload, notes) = good(
        "{'tasks': { // a comment\n 'a': {'loop': 3, 'run': 1000, 'sleep': 4000, 'run': 2000, 'phases': Null, },},} end",
    );
    let round = vec![Op::Run(MS), Op::Sleep(4_000_000), Op::Run(2 * MS)];
    assert_eq!(workload.threads[0].ops, [Op::repeat(3, round)]);
    assert!(notes.iter().any(|n| n.contains("repeated (`run` in line 2)")), "{notes:?}");
}

#[test]
fn a_task_is_resumed_by_its_name_or_by_the_one_it_gives() {
    let tasks = |value: &str, name: &str| {
        format!(
            r#"{{"tasks": {{"a": {{"loop": 3, "run": 1, "resume": "{name}"}}, "b": {{"suspend": {value}, "run": 1}}}}}}"#
        )
    };
    for value in ["\"\"", "\"b\"", "null", "7"] {
        let (workload, _) = good(&tasks(value, "b"));
        assert!(matches!(workload.threads[1].ops[0], Op::Repeat(3, _)), "{value}");
    }
    let (workload, notes) = good(&tasks("\"old\"", "old"));
    assert!(matches!(workload.threads[1].ops[0], Op::Repeat(3, _)));
    assert!(notes.iter().any(|n| n.contains("before June 2025")), "{notes:?}");
}

#[test]
fn locks_and_conditions() {
    let (workload, notes) = good(
        r#"{"tasks": {
            "waits": {"loop": 5, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 100},
            "signals": {"loop": 5, "run": 100, "signal": "c", "sleep": 1000}
        }}"#,
    );
    let Op::Repeat(5, ops) = &workload.threads[0].ops[0] else { panic!() };
    let (condition, mutex) = (0, 1);
    assert_eq!(workload.semaphores, [0, 1]);
    assert_eq!(
        ops[..5],
        [Op::Wait(mutex), Op::Post(mutex), Op::Wait(condition), Op::Wait(mutex), Op::Post(mutex)]
    );
    assert!(notes.iter().any(|n| n.contains("without a waiter is kept")), "{notes:?}");
}

#[test]
fn broadcast_sync_suspend_and_barrier() {
    let (workload, _) = good(
        r#"{"tasks": {
            "crowd": {"instance": 3, "loop": 4, "lock": "m", "wait": {"ref": "go", "mutex": "m"}, "unlock": "m",
                      "run": 100, "barrier": "met"},
            "leader": {"loop": 4, "run": 500, "broad": "go", "barrier": "met", "resume": "sleeper"},
            "sleeper": {"loop": 4, "suspend": "", "run": 50},
            "ping": {"loop": 7, "lock": "p", "wait": {"ref": "ball", "mutex": "p"}, "unlock": "p", "run": 10, "signal": "ball"},
            "pong": {"loop": 7, "run": 10, "sync": {"ref": "ball", "mutex": "p"}}
        }}"#,
    );
    assert_eq!(workload.barriers, [4]);
    assert!(matches!(workload.dry_run(100_000), DryRun::Finishes { .. }));
}

#[test]
fn sync_locks_what_is_not_locked_yet() {
    for (before, after) in [("", ""), (r#""lock0": "m","#, r#", "unlock0": "m""#)] {
        let text = format!(
            r#"{{"tasks": {{
                "ball": {{"loop": 5, {before} "sync": {{"ref": "c", "mutex": "m"}} {after}}},
                "wall": {{"loop": 5, "lock": "m", "wait": {{"ref": "c", "mutex": "m"}}, "unlock": "m", "run": 1000, "signal": "c"}}
            }}}}"#
        );
        assert_eq!(ms(&text), 5);
    }
}

#[test]
fn endless_tasks_end_with_the_duration() {
    let (workload, notes) = good(
        r#"{"tasks": {
            "waker": {"run": 1000, "resume": "woken", "timer": {"ref": "unique", "period": 10000}},
            "woken": {"suspend": "", "run": 2000}
        }, "global": {"duration": 2}}"#,
    );
    for thread in &workload.threads {
        assert!(matches!(thread.ops[0], Op::Repeat(200, _)), "{:?}", thread.ops);
    }
    assert!(notes.iter().any(|n| n.contains("here 200 times")), "{notes:?}");
    // Without a duration, a task runs as long as the task that it interacts with.
    let (workload, _) =
        good(r#"{"tasks": {"a": {"loop": 3, "run": 1, "resume": "b"}, "b": {"suspend": "b", "run": 1}}}"#);
    assert!(matches!(workload.threads[1].ops[0], Op::Repeat(3, _)));
    let text = bad(r#"{"tasks": {"a": {"run": 1}}}"#);
    assert!(text.contains("tasks.a: loops forever") && text.contains("`duration`"), "{text}");
}

/// A task that needs several rounds of another one for each of its own.
#[test]
fn endless_tasks_go_round_as_often_as_they_can() {
    let (workload, notes) = good(
        r#"{"tasks": {
            "main": {"loop": 3, "phases": {
                "draw": {"loop": 4, "resume": "helper", "run": 1000, "suspend": "main"},
                "rest": {"sleep": 50000}
            }},
            "helper": {"loop": -1, "suspend": "helper", "run": 500, "resume": "main"}
        }, "global": {"duration": 6}}"#,
    );
    let done = workload.threads[1].steps().filter(|op| matches!(op, Op::Run(_))).count();
    assert_eq!(done, 12);
    assert!(notes.iter().any(|n| n.contains("end here after 6 s")), "{notes:?}");
    assert!(!notes.iter().any(|n| n.contains("here 3 times")), "{notes:?}");
}

#[test]
fn forks() {
    let (workload, _) = good(
        r#"{"tasks": {"parent": {"loop": 1, "run": 10, "fork": "child"}, "child": {"loop": 2, "run": 5}}}"#,
    );
    assert_eq!(workload.roots().collect::<Vec<_>>(), [0]);
    assert_eq!(workload.threads[0].ops[1], Op::Fork(1));
    let text = bad(r#"{"tasks": {"parent": {"loop": 2, "fork": "child"}, "child": {"loop": 2, "run": 5}}}"#);
    assert!(text.contains("more than once"), "{text}");
    assert!(bad(r#"{"tasks": {"p": {"loop": 1, "fork": "x"}}}"#).contains("not among the tasks"));
}

#[test]
fn approximations_are_noted() {
    let (_, notes) = good(
        r#"{"tasks": {"t": {"loop": 1, "policy": "SCHED_FIFO", "priority": 10, "mem": 1000, "iorun": 10,
            "runtime": 500, "frobnicate": 1, "signal": "nobody"}},
            "global": {"default_policy": "SCHED_RR", "pi_enabled": true, "colour": "red"}, "extra": 1}"#,
    );
    for word in [
        "policy",
        "mem",
        "iorun",
        "runtime",
        "frobnicate",
        "nobody",
        "default_policy",
        "pi_enabled",
        "colour",
        "extra",
    ] {
        assert!(notes.iter().any(|n| n.contains(word)), "{word}: {notes:?}");
    }
}

#[test]
fn mistakes_have_a_place() {
    assert!(bad("{\"tasks\": }").starts_with("doc.json:1:11: "));
    assert!(bad(r#"{"tasks": 3}"#).contains("tasks: must be an object"));
    assert!(bad(r#"{"global": {}}"#).contains("`tasks` is missing"));
    assert!(bad(r#"{"tasks": {"t": {"run": -1}}}"#).contains("tasks.t.run: must be an integer"));
    assert!(bad(r#"{"tasks": {"t": {"phases": {"p": {"loop": "x"}}}}}"#).contains("tasks.t.phases.p.loop"));
    assert!(bad(r#"{"tasks": {"t": {"phases": {"p": {"loop": -1, "run": 1}}}}}"#).contains("loops forever"));
    assert!(bad(r#"{"tasks": {"t": {"timer": {"ref": "x"}}}}"#).contains("`period`"));
    assert!(bad(r#"{"tasks": {"t": {"cpus": ["a"]}}}"#).contains("list of core numbers"));
    // The task is never woken: the check of the graph reports it.
    assert!(bad(r#"{"tasks": {"t": {"loop": 1, "suspend": ""}}}"#).contains("some thread waits forever"));
    let ambiguous = r#"{"tasks": {"w": {"instance": 2, "loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}},
        "s": {"loop": 2, "signal": "c"}}}"#;
    assert!(bad(ambiguous).contains("several threads wait"));
}

#[test]
fn crowds_are_bounded() {
    let crowd = r#"{"tasks": {"w": {"instance": 100000, "loop": 1, "suspend": "", "resume": "w"}}}"#;
    assert!(bad(crowd).contains("steps"));
}

/// JSON that resembles an rt-app document.
fn documents() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "tasks", "global", "t", "u", "loop", "run", "sleep", "timer", "wait", "signal", "broad", "sync",
        "lock", "unlock", "barrier", "suspend", "resume", "fork", "phases", "instance", "delay", "cpus",
        "duration", "ref", "mutex", "period", "priority", "yield",
    ]);
    let leaf = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        (-1i64..30).prop_map(|n| n.to_string()),
        key.clone().prop_map(|k| format!("{k:?}")),
        Just("null".to_string()),
        Just("1.5".to_string()),
    ];
    let value = leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|v| {
                let entries: Vec<String> = v.into_iter().map(|(k, v)| format!("{k:?}:{v}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    });
    prop::collection::vec((prop::sample::select(vec!["t", "u", "v"]), value), 1..4).prop_map(|tasks| {
        let entries: Vec<String> = tasks.into_iter().map(|(k, v)| format!("{k:?}:{v}")).collect();
        format!("{{\"tasks\":{{{}}},\"global\":{{\"duration\":1}}}}", entries.join(","))
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".{0,200}") {
        let _ = import(&text, "x");
    }

    #[test]
    fn arbitrary_documents_never_panic(text in documents()) {
        if let Ok(resolved) = import(&text, "x") {
            prop_assert_eq!(resolved.workload.validate(), vec![]);
        }
    }
}
