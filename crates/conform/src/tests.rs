//! Tests with a simulated kernel that calls a policy's native build at random and writes a log. The replay of the log
//! agrees. That of a modified log or of another policy does not. No log makes the reader panic.

use crate::replay::apply;
use crate::replica::{Call, Replica, Slot, serial, stage_of};
use crate::{Decision, Report, replay};
use hearth_policy::load;
use hearth_scx::log::{Core, EVENTS, Ending, Header, Reader, Record, Writer, event, kind};
use hearth_scx::topology::{Domains, Group};
use hearth_sim::Native;
use hearth_sim::saakm::{Instance, Ops, Set, Thread};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::cell::RefCell;
use std::ptr;

const CORES: u32 = 4;
const NOT_QUEUED: u8 = 0;
const BLOCKED: u8 = 1;
const RUNNING: u8 = 3;
const TERMINATED: u8 = 4;

/// A number below `bound`.
fn below(rng: &mut TestRng, bound: usize) -> usize {
    rng.next_u64() as usize % bound
}

/// Records the decisions of a handler, and provides the queues for its walks.
#[derive(Default)]
struct Recording {
    records: Vec<Record>,
    decisions: Vec<Decision>,
    /// By core, ordered by key.
    queues: [Vec<(i64, *mut Slot)>; CORES as usize],
    /// Walks in progress, the innermost last: the name of each, and the threads to visit, the last one first.
    walks: Vec<(u64, Vec<*mut Slot>)>,
    named: u64,
}

impl Recording {
    fn decided(&mut self, decision: Decision) {
        self.decisions.push(decision);
        self.records.push(record(decision));
    }

    fn walk(&mut self, core: u32, queue: u32) -> *mut Slot {
        let a = self.named;
        self.named += 1;
        self.records.push(Record {
            kind: kind::WALK,
            flag: queue as u8,
            core: core as u16,
            a,
            ..Record::default()
        });
        let slots = self.queues[core as usize].iter().rev().map(|(_, slot)| *slot).collect();
        self.walks.push((a, slots));
        self.first()
    }

    /// Visits `slot` in its walk. Returns the next thread of the walk.
    fn next(&mut self, slot: *mut Slot) -> *mut Slot {
        // Inner walks that the handler left early.
        while self.walks.last().is_some_and(|(_, slots)| slots.last() != Some(&slot)) {
            self.walks.pop();
        }
        let (a, slots) = self.walks.last_mut().expect("a walk");
        slots.pop();
        // SAFETY: one of the threads that the walk has returned.
        let slot = unsafe { &*slot };
        let thread = slot.thread.tid;
        let visit = Record { kind: kind::VISIT, thread, a: *a, ..Record::default() };
        self.records.extend([describe(slot), visit]);
        self.first()
    }

    fn first(&mut self) -> *mut Slot {
        let first = self.walks.last().and_then(|(_, slots)| slots.last().copied());
        first.unwrap_or_else(|| {
            self.walks.pop();
            ptr::null_mut()
        })
    }
}

thread_local! {
    static RECORDING: RefCell<Recording> = RefCell::default();
}

fn recording<T>(access: impl FnOnce(&mut Recording) -> T) -> T {
    RECORDING.with_borrow_mut(access)
}

fn tid(t: *mut Thread) -> u32 {
    // SAFETY: policies name only threads that they were given.
    unsafe { serial(t) }
}

macro_rules! decisions {
    ($($op:ident($($argument:ident: $type:ty),*) => $decision:expr;)*) => {
        $(extern "C" fn $op(_: *mut Instance, $($argument: $type),*) {
            recording(|recording| recording.decided($decision));
        })*
    };
}

decisions! {
    run(t: *mut Thread) => Decision::Run { thread: tid(t) };
    blocked(t: *mut Thread) => Decision::Blocked { thread: tid(t) };
    terminated(t: *mut Thread) => Decision::Terminated { thread: tid(t) };
    arm(t: *mut Thread, ns: i64) => Decision::Arm { thread: tid(t), ns };
    cancel(t: *mut Thread) => Decision::Cancel { thread: tid(t) };
    keep_warm(core: u32, ns: i64) => Decision::KeepWarm { core, ns };
    preempt(core: u32) => Decision::Preempt { core };
    set_changed(set: u32, core: u32, member: bool) => Decision::Set { set, core, member };
}

extern "C" fn ready(s: *mut Instance, t: *mut Thread, core: u32, queue: u32, key: i64, reason: u32) {
    // SAFETY: the policy passes on the instance that it was called with.
    let stage = unsafe { stage_of(s) };
    recording(|recording| recording.decided(Decision::Ready { thread: tid(t), core, queue, key, reason }));
    stage.enqueue(t, core, queue);
}

extern "C" fn first(s: *mut Instance, core: u32, queue: u32) -> *mut Thread {
    // SAFETY: as in `ready`.
    let head = unsafe { stage_of(s) }.head(queue);
    head.unwrap_or_else(|| recording(|recording| recording.walk(core, queue))).cast()
}

extern "C" fn next(s: *mut Instance, t: *mut Thread) -> *mut Thread {
    // SAFETY: as in `ready`.
    let is_head = unsafe { stage_of(s) }.head(0).is_some();
    if is_head { ptr::null_mut() } else { recording(|recording| recording.next(t.cast())).cast() }
}

/// In the place of the replica's own, so that decisions are recorded and not compared.
static OPS: Ops = Ops {
    ready: Some(ready),
    run: Some(run),
    blocked: Some(blocked),
    terminated: Some(terminated),
    first: Some(first),
    next: Some(next),
    arm: Some(arm),
    cancel: Some(cancel),
    keep_warm: Some(keep_warm),
    preempt: Some(preempt),
    set_changed: Some(set_changed),
};

fn describe(slot: &Slot) -> Record {
    let t = &slot.thread;
    Record {
        kind: kind::THREAD,
        thread: t.tid,
        a: t.core.into(),
        b: t.weight.into(),
        c: t.runtime as u64,
        d: t.running_since as u64,
        e: slot.affinity.word[0],
        f: u64::from(slot.state) << 8,
        ..Record::default()
    }
}

fn record(decision: Decision) -> Record {
    let of = |kind, thread, core: u32| Record { kind, thread, core: core as u16, ..Record::default() };
    match decision {
        Decision::Ready { thread, core, queue, key, reason } => {
            Record { a: queue.into(), b: key as u64, c: reason.into(), ..of(kind::READY, thread, core) }
        }
        Decision::Run { thread } => of(kind::RUN, thread, 0),
        Decision::Blocked { thread } => of(kind::BLOCKED, thread, 0),
        Decision::Terminated { thread } => of(kind::TERMINATED, thread, 0),
        Decision::Arm { thread, ns } => Record { a: ns as u64, ..of(kind::ARM, thread, 0) },
        Decision::Cancel { thread } => of(kind::CANCEL, thread, 0),
        Decision::KeepWarm { core, ns } => Record { a: ns as u64, ..of(kind::KEEP_WARM, 0, core) },
        Decision::Preempt { core } => of(kind::PREEMPT, 0, core),
        Decision::Set { set, core, member } => {
            Record { flag: set as u8, a: member.into(), ..of(kind::SET, 0, core) }
        }
    }
}

struct World<'a> {
    replica: Replica<'a>,
    log: Writer<Vec<u8>>,
    rng: TestRng,
    now: i64,
    threads: Vec<*mut Slot>,
    current: [*mut Slot; CORES as usize],
    idle: Set,
    frequencies: [u32; CORES as usize],
}

fn native(name_or_path: &str) -> Native {
    Native::build(load(name_or_path).unwrap()).unwrap()
}

fn header(policy: &Native) -> Header {
    let group = |cores: std::ops::Range<u32>, first: [u32; 4], count: [u32; 4]| Group {
        cores: cores.collect(),
        first,
        count,
    };
    let pairs = vec![group(0..2, [0; 4], [1, 0, 0, 0]), group(2..4, [1, 0, 0, 0], [1, 0, 0, 0])];
    let all = |count| vec![group(0..4, [0; 4], count)];
    Header {
        policy: policy.name().into(),
        params: policy.policy().params().iter().map(|param| param.initial).collect(),
        cores: (0..CORES).map(|cpu| Core { cpu, min_khz: 1_000_000 }).collect(),
        domains: Domains { groups: [pairs, all([2, 1, 0, 0]), all([2, 1, 1, 0]), all([2, 1, 1, 1])] },
        ..Header::default()
    }
}

impl World<'_> {
    fn emit(&mut self, record: Record) {
        let number = self.log.written();
        self.log.record(Record { number, ..record }).expect("a vector accepts all writes");
    }

    /// Writes a record and applies it to the replica.
    fn apply(&mut self, record: Record) {
        self.emit(record);
        apply(self.replica.get(), &record).expect("a valid record");
    }

    fn world(&mut self) {
        let ready = recording(|recording| recording.queues.each_ref().map(|queue| queue.len() as u64));
        let idle = self.idle.word[0];
        let whole = [0b0011, 0b1100].iter().filter(|pair| idle & *pair == **pair).sum();
        let waiting = (0..4).map(|core| u64::from(ready[core] > 0) << core).sum();
        self.apply(Record {
            kind: kind::SETS,
            a: 0b1111,
            b: idle,
            c: whole,
            d: waiting,
            ..Record::default()
        });
        for core in 0..CORES as usize {
            // SAFETY: null or a slot, which lives as long as the replica. The same holds below.
            let thread = unsafe { self.current[core].as_ref() }.map_or(0, |slot| slot.thread.tid);
            let (b, core) = (self.frequencies[core].into(), core as u16);
            let a = ready[usize::from(core)];
            self.apply(Record { kind: kind::CORE, core, thread, a, b, ..Record::default() });
        }
    }

    /// Whether the policy has a handler of this optional event.
    fn handles(&self, event: &str) -> bool {
        let table = self.replica.policy.table();
        match event {
            "newly_idle" => table.newly_idle.is_some(),
            "enter_idle" => table.enter_idle.is_some(),
            _ => table.exit_idle.is_some(),
        }
    }

    /// Calls a handler with the current state, and applies its decisions.
    fn call(&mut self, event: &str, slot: *mut Slot, core: u32) {
        if event.ends_with("_idle") && !self.handles(event) {
            return;
        }
        self.now += 1 + below(&mut self.rng, 3_000_000) as i64;
        for thread in self.threads.clone() {
            // SAFETY: as above.
            let record = describe(unsafe { &*thread });
            self.apply(record);
        }
        self.world();
        let event = EVENTS.iter().position(|name| *name == event).expect("an event");
        if event == event::SCHEDULE {
            let first = recording(|recording| recording.queues[core as usize].first().copied());
            // SAFETY: as above.
            let thread = first.map_or(0, |(_, slot)| unsafe { (*slot).thread.tid });
            self.apply(Record { kind: kind::HEAD, thread, ..Record::default() });
        }
        // SAFETY: as above.
        let thread = unsafe { slot.as_ref() }.map_or(0, |slot| slot.thread.tid);
        let (flag, a) = (event as u8, self.now as u64);
        self.emit(Record { kind: kind::BEGIN, flag, thread, core: core as u16, a, ..Record::default() });
        assert!(self.replica.call(Call { event, thread: slot, core, now: self.now }));
        let (records, decisions) = recording(|recording| {
            (std::mem::take(&mut recording.records), std::mem::take(&mut recording.decisions))
        });
        self.idle = self.replica.get().instance.idle;
        records.into_iter().for_each(|record| self.emit(record));
        decisions.into_iter().for_each(|decision| self.perform(decision));
        self.world();
        // SAFETY: as above.
        let attrs = unsafe { slot.as_ref() }.map_or(&[][..], |slot| &slot.attrs);
        let a = self.replica.get().hash(attrs);
        self.emit(Record { kind: kind::END, a, ..Record::default() });
    }

    fn perform(&mut self, decision: Decision) {
        let stage = self.replica.get();
        let slot = |serial| stage.known_thread(serial).expect("a thread");
        match decision {
            Decision::Ready { thread, core, key, .. } => {
                let slot = slot(thread);
                recording(|Recording { queues, .. }| {
                    queues.iter_mut().for_each(|queue| queue.retain(|(_, other)| *other != slot));
                    let queue = &mut queues[core as usize];
                    let at = queue.partition_point(|(other, _)| *other <= key);
                    queue.insert(at, (key, slot));
                });
            }
            // SAFETY: as above.
            Decision::Blocked { thread } => unsafe { (*slot(thread)).state = BLOCKED },
            Decision::Terminated { thread } => {
                let slot = slot(thread);
                // SAFETY: as above.
                unsafe { (*slot).state = TERMINATED };
                self.threads.retain(|other| *other != slot);
            }
            _ => {}
        }
    }

    /// Runs the first thread of the core's queue.
    fn schedule(&mut self, core: u32) {
        self.call("schedule", ptr::null_mut(), core);
        let (_, slot) = recording(|recording| recording.queues[core as usize].remove(0));
        // SAFETY: as above.
        let t = unsafe { &mut *slot };
        (t.state, t.thread.core, t.thread.running_since) = (RUNNING, core, self.now);
        self.current[core as usize] = slot;
        self.idle.remove(core);
    }

    fn stop(&mut self, core: u32, event: &str) {
        let slot = std::mem::replace(&mut self.current[core as usize], ptr::null_mut());
        // SAFETY: as above.
        let t = unsafe { &mut (*slot).thread };
        (t.runtime, t.running_since) = (t.runtime + self.now - t.running_since, -1);
        self.call(event, slot, 0);
    }

    fn step(&mut self) {
        let core = below(&mut self.rng, CORES as usize) as u32;
        let queued = recording(|recording| !recording.queues[core as usize].is_empty());
        let current = self.current[core as usize];
        // SAFETY: as above.
        let asleep = self.threads.iter().copied().find(|slot| unsafe { (**slot).state } == BLOCKED);
        match below(&mut self.rng, 8) {
            0 if self.threads.len() < 12 => {
                let serial = self.replica.get().threads() as u32 + 1;
                let slot = self.replica.get().thread(serial);
                // SAFETY: as above.
                let t = unsafe { &mut *slot };
                (t.thread.core, t.state, t.affinity.word[0]) =
                    (core, NOT_QUEUED, 1 + below(&mut self.rng, 15) as u64);
                self.threads.push(slot);
                self.call("new", slot, core);
            }
            1 | 2 if asleep.is_some() => self.call("unblock", asleep.expect("a blocked thread"), core),
            3 if !current.is_null() => {
                let event = ["block", "terminate"][below(&mut self.rng, 6) / 5];
                self.stop(core, event);
            }
            4 if !current.is_null() => {
                let event = ["preempt", "yield"][below(&mut self.rng, 2)];
                self.stop(core, event);
            }
            5 if !current.is_null() => {
                self.frequencies[core as usize] = 1_000_000 + below(&mut self.rng, 2) as u32 * 1_000_000;
                self.call("tick", current, 0);
                self.call("balance", ptr::null_mut(), core);
            }
            _ if current.is_null() && queued => self.schedule(core),
            _ if current.is_null() && !self.idle.contains(core) => {
                self.call("newly_idle", ptr::null_mut(), core);
                if recording(|recording| recording.queues[core as usize].is_empty()) {
                    self.idle.insert(core);
                    self.call("enter_idle", ptr::null_mut(), core);
                }
            }
            _ => {}
        }
    }
}

/// A log of this number of steps.
fn log(policy: &Native, seed: u8, steps: usize) -> Vec<u8> {
    let header = header(policy);
    let mut replica = Replica::new(policy, &header);
    replica.get().instance.ops = &OPS;
    RECORDING.take();
    let mut world = World {
        replica,
        log: Writer::new(Vec::new(), &header).expect("a vector accepts all writes"),
        rng: TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
        now: 1_000_000,
        threads: Vec::new(),
        current: [ptr::null_mut(); CORES as usize],
        idle: Set::EMPTY,
        frequencies: [1_000_000; CORES as usize],
    };
    (0..steps).for_each(|_| world.step());
    let written = world.log.written();
    world.log.finish(written, 0).expect("a vector accepts all writes")
}

fn replayed(log: &[u8], policy: &Native) -> Report {
    replay(Reader::new(log).expect("a log"), policy).expect("a valid log")
}

/// The policies with one ready queue per core, as the simulated kernel has.
const POLICIES: [&str; 8] = ["cfs", "cfs-5-4", "eevdf", "slocal", "smove", "nest", "cfs-cwc", "cfs-cwc-flat"];

#[test]
fn replays_agree() {
    for name in POLICIES {
        let policy = native(name);
        let report = replayed(&log(&policy, 1, 3000), &policy);
        assert_eq!((report.disagreements, report.ending), (0, Ending::Whole), "{name}: {:#?}", report.first);
        assert!(report.handlers() > 1500 && report.decisions() > 500, "{name}: {report:#?}");
        assert!(report.visits > 20, "{name} does not walk over queues: {report:#?}");
    }
}

#[test]
fn another_policy_disagrees() {
    let cfs = hearth_policy::read("cfs").unwrap();
    let mutated = cfs.replace("latency / 2", "latency / 3");
    assert_ne!(cfs, mutated);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cfs.ipa");
    std::fs::write(&path, mutated).unwrap();
    let log = log(&native("cfs"), 2, 3000);
    let report = replayed(&log, &native(path.to_str().unwrap()));
    assert!(report.disagreements > 0);
}

#[test]
fn modified_decisions_disagree() {
    let policy = native("nest");
    let log = log(&policy, 3, 300);
    let records = |log: &[u8]| (log.len() - log.len() % Record::BYTES) / Record::BYTES;
    let header = log.len() % Record::BYTES;
    let (mut tried, at) = (0, |index: usize| header + index * Record::BYTES);
    for index in 0..records(&log) {
        let mut modified = log.clone();
        let bytes = &mut modified[at(index)..][..Record::BYTES];
        if !(kind::READY..=kind::SET).contains(&bytes[8]) {
            continue;
        }
        // Another thread, or another core.
        bytes[if matches!(bytes[8], kind::KEEP_WARM | kind::PREEMPT | kind::SET) { 10 } else { 12 }] ^= 64;
        let Ok(report) = replay(Reader::new(&*modified).unwrap(), &policy) else { continue };
        assert!(report.disagreements > 0 && report.first[0].record < index as u64, "record {index}");
        tried += 1;
    }
    assert!(tried > 50, "{tried}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(75, 1200)))]

    /// Any log gives an error or a report, never a panic or undefined behaviour.
    #[test]
    fn modified_logs_do_not_panic(
        seed in 0u8..8, policy in 0..POLICIES.len(), changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..8),
        cut in prop::option::of(any::<usize>()),
    ) {
        let policy = native(POLICIES[policy]);
        let mut log = log(&policy, seed, 200);
        let start = log.len() % Record::BYTES;
        for (at, value) in changes {
            let at = start + at % (log.len() - start);
            log[at] = value;
        }
        if let Some(cut) = cut {
            log.truncate(cut % log.len());
        }
        if let Ok(reader) = Reader::new(&*log) {
            let _ = replay(reader, &policy);
        }
    }
}
