//! Random events and traces for property tests.

mod machine;

use crate::Trace;
use crate::event::*;
use crate::source::*;
pub use machine::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Arbitrary events, mostly inconsistent.
pub fn any_event() -> impl Strategy<Value = Event> {
    let stop =
        prop_oneof![Just(Stop::Preempted), Just(Stop::Yielded), Just(Stop::Blocked), Just(Stop::Exited)];
    let waker = prop_oneof![any::<Tid>().prop_map(Waker::Thread), Just(Waker::Interrupt)];
    let kind = prop_oneof![
        (any::<Tid>(), stop, any::<Tid>()).prop_map(|(prev, stop, next)| Kind::Switch { prev, stop, next }),
        (any::<Tid>(), waker, any::<CoreId>(), any::<bool>())
            .prop_map(|(thread, waker, target, sync)| Kind::Wakeup { thread, waker, target, sync }),
        (any::<Tid>(), any::<Tid>(), any::<CoreId>()).prop_map(|(parent, child, target)| Kind::Fork {
            parent,
            child,
            target
        }),
        any::<(Tid, u32)>().prop_map(|(thread, name)| Kind::Exec { thread, name }),
        any::<Tid>().prop_map(|thread| Kind::Exit { thread }),
        any::<Tid>().prop_map(|thread| Kind::Wait { thread }),
        any::<(Tid, CoreId, CoreId)>().prop_map(|(thread, from, to)| Kind::Migrate { thread, from, to }),
        any::<(Tid, CoreId, u16, u32)>().prop_map(|(thread, target, reason, seen_khz)| Kind::Place {
            thread,
            target,
            reason,
            seen_khz
        }),
        any::<u32>().prop_map(|khz| Kind::Frequency { khz }),
        any::<u32>().prop_map(|khz| Kind::Tick { khz }),
        any::<u8>().prop_map(|state| Kind::Idle { state }),
        any::<bool>().prop_map(|on| Kind::Spin { on }),
        any::<u16>().prop_map(|length| Kind::Queue { length }),
        any::<(u8, bool)>().prop_map(|(set, member)| Kind::Set { set, member }),
    ];
    (any::<Time>(), any::<CoreId>(), kind).prop_map(|(time, core, kind)| Event { time, core, kind })
}

fn any_method() -> impl Strategy<Value = Method> {
    prop_oneof![
        Just(Method::Bpf),
        proptest::option::of(".{0,8}").prop_map(|why_not_bpf| Method::Tracefs { why_not_bpf }),
        ".{0,8}".prop_map(|format| Method::Imported { format }),
        ".{0,8}".prop_map(|text| Method::Other { text }),
    ]
}

/// Arbitrary traces, mostly inconsistent.
pub fn any_trace() -> impl Strategy<Value = Trace> {
    let source = prop_oneof![
        Just(Source::Unknown),
        (any_method(), vec(".{0,8}", 0..4), ".{0,8}", any::<u64>()).prop_map(
            |(method, command, kernel, inferred)| {
                let (clock, policy) = ("mono".into(), Some(RecordedPolicy::default()));
                let filter = Filter::Command;
                let over = LaidOver { machine: "m".into(), governor: "schedutil".into() };
                let laid_over = (inferred % 2 == 1).then_some(over);
                let energy = Energy { package_uj: inferred, cores_uj: None, dram_uj: Some(inferred) };
                Source::Recorded(Recording {
                    method,
                    command,
                    kernel,
                    clock,
                    filter,
                    policy,
                    begin_s: inferred,
                    host: "h".into(),
                    version: "1".into(),
                    energy: (inferred % 3 == 1).then_some(Box::new(energy)),
                    inferred,
                    laid_over,
                    unrecorded: Unrecorded { wakeups: inferred % 5 == 1, threads: inferred % 7 == 1 },
                })
            }
        ),
        (".{0,8}", vec((".{0,4}", ".{0,4}"), 0..3), any::<u64>()).prop_map(|(policy, params, seed)| {
            Source::Simulated { policy, params, workload: "w".into(), governor: "schedutil".into(), seed }
        }),
    ];
    let core = any::<(u16, u16, u16, u16)>().prop_map(|(physical, llc, numa, socket)| CoreInfo {
        physical,
        llc,
        numa,
        socket,
    });
    let numbers = any::<(Tid, Tid, bool, Option<u32>, Option<u32>)>();
    let thread = (numbers, ".{0,8}").prop_map(|((tid, parent, traced, kernel_tid, process), name)| {
        ThreadInfo { tid, name, parent, traced, kernel_tid, process }
    });
    let process = (any::<(u32, Option<u32>)>(), ".{0,8}").prop_map(|((pid, parent), name)| ProcessInfo {
        pid,
        name,
        parent,
    });
    let names = || vec(".{0,8}", 0..4);
    let header = (
        (source, ".{0,8}", vec(core, 0..5), any::<Time>(), vec(thread, 0..5), vec(process, 0..5)),
        (names(), names(), names(), names()),
        (
            any::<u32>(),
            any::<(u32, u32)>(),
            vec(any::<u64>(), 0..5),
            any::<u64>(),
            vec(any::<(Time, u64)>(), 0..5),
            any::<bool>(),
        ),
    )
        .prop_map(|(about, names, numbers)| Header {
            source: about.0,
            machine: about.1,
            cores: about.2,
            duration: about.3,
            threads: about.4,
            processes: about.5,
            names: names.0,
            reasons: names.1,
            sets: names.2,
            idle_states: names.3,
            assumed_khz: numbers.0,
            khz_range: numbers.1,
            lost: numbers.2,
            energy_uj: numbers.3,
            energy_by_time: numbers.4,
            sync: numbers.5,
        });
    let header = header.prop_map(|mut header| {
        let count = header.processes.len() as u32;
        let existing = |process: &mut Option<u32>| {
            *process = process.and_then(|process| process.checked_rem(count));
        };
        header.threads.iter_mut().for_each(|thread| existing(&mut thread.process));
        header.processes.iter_mut().for_each(|process| existing(&mut process.parent));
        header
    });
    (header, vec(any_event(), 0..200)).prop_map(|(header, events)| Trace { header, events })
}
