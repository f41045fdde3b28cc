//! Tests with a simulated kernel that calls a policy's native build at random and writes a log. The replay of the log
//! agrees. That of a modified log or of another policy does not. No log makes the reader panic.

use crate::replay::apply;
use crate::replica::{Replayed, replica};
use crate::{Report, replay};
use hearth_policy::load;
use hearth_scx::log::{Core, EVENTS, Ending, Header, Reader, Record, Writer, event, kind};
use hearth_scx::topology::{Domains, Group};
use hearth_sim::Native;
use hearth_sim::saakm::{Call, Decision, Host, Memory, Runtime, Set};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

const CORES: u32 = 4;
const BLOCKED: u8 = 1;
const RUNNING: u8 = 3;
const TERMINATED: u8 = 4;

/// A number below `bound`.
fn below(rng: &mut TestRng, bound: usize) -> usize {
    rng.next_u64() as usize % bound
}

/// The runtime of a kernel: records the decisions of a handler, and provides the queues for its walks.
struct Kernel {
    replayed: Replayed,
    records: Vec<Record>,
    decisions: Vec<Decision>,
    /// By core, ordered by key.
    queues: [Vec<(i64, u32)>; CORES as usize],
    /// Walks in progress, the innermost last: the name of each, and the threads to visit, the last one first.
    walks: Vec<(u64, Vec<u32>)>,
    named: u64,
}

impl Kernel {
    fn first_of_walk(&mut self) -> Option<u32> {
        let first = self.walks.last().and_then(|(_, threads)| threads.last().copied());
        if first.is_none() {
            self.walks.pop();
        }
        first
    }

    fn describe(&self, memory: &Memory<'_>, thread: u32) -> Record {
        let t = memory.thread(thread);
        Record {
            kind: kind::THREAD,
            thread: t.tid,
            a: t.core.into(),
            b: t.weight.into(),
            c: t.runtime as u64,
            d: t.running_since as u64,
            e: memory.affinity(thread).word[0],
            f: u64::from(self.replayed.states[thread as usize]) << 8,
            ..Record::default()
        }
    }
}

impl Runtime for Kernel {
    fn decide(&mut self, memory: &mut Memory<'_>, decision: Decision) {
        self.decisions.push(decision);
        let mut logged = decision;
        if let Some(thread) = logged.thread_mut() {
            *thread = memory.thread(*thread).tid;
        }
        self.records.push(record(logged));
        if let Decision::Ready { thread, core, queue, .. } = decision {
            self.replayed.enqueue(memory, thread, core, queue);
        }
    }

    fn first(&mut self, _: &mut Memory<'_>, core: u32, queue: u32) -> Option<u32> {
        if let Some(head) = self.replayed.head(queue) {
            return head;
        }
        let a = self.named;
        self.named += 1;
        self.records.push(Record {
            kind: kind::WALK,
            flag: queue as u8,
            core: core as u16,
            a,
            ..Record::default()
        });
        let threads = self.queues[core as usize].iter().rev().map(|(_, thread)| *thread).collect();
        self.walks.push((a, threads));
        self.first_of_walk()
    }

    /// Visits `thread` in its walk. Returns the next thread of the walk.
    fn next(&mut self, memory: &mut Memory<'_>, thread: u32) -> Option<u32> {
        if self.replayed.head(0).is_some() {
            return None;
        }
        // Inner walks that the handler left early.
        while self.walks.last().is_some_and(|(_, threads)| threads.last() != Some(&thread)) {
            self.walks.pop();
        }
        let (a, threads) = self.walks.last_mut().expect("a walk");
        threads.pop();
        let visit =
            Record { kind: kind::VISIT, thread: memory.thread(thread).tid, a: *a, ..Record::default() };
        self.records.extend([self.describe(memory, thread), visit]);
        self.first_of_walk()
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
    policy: &'a Native,
    host: Host<'a, Kernel>,
    log: Writer<Vec<u8>>,
    rng: TestRng,
    now: i64,
    threads: Vec<u32>,
    current: [Option<u32>; CORES as usize],
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
        cores: (0..CORES).map(|cpu| Core { cpu, min_khz: 1_000_000, capacity: 1024 }).collect(),
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
        let Host { memory, runtime } = &mut self.host;
        apply(memory, &mut runtime.replayed, &record).expect("a valid record");
    }

    fn serial(&self, thread: Option<u32>) -> u32 {
        thread.map_or(0, |thread| self.host.memory.thread(thread).tid)
    }

    fn queue(&mut self, core: u32) -> &mut Vec<(i64, u32)> {
        &mut self.host.runtime.queues[core as usize]
    }

    fn state(&mut self, thread: u32) -> &mut u8 {
        &mut self.host.runtime.replayed.states[thread as usize]
    }

    fn world(&mut self) {
        let ready = self.host.runtime.queues.each_ref().map(|queue| queue.len() as u64);
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
        for (core, a) in ready.into_iter().enumerate() {
            let thread = self.serial(self.current[core]);
            let (b, core) = (self.frequencies[core].into(), core as u16);
            self.apply(Record { kind: kind::CORE, core, thread, a, b, ..Record::default() });
        }
    }

    /// Whether the policy has a handler of this event.
    fn handles(&self, call: Call) -> bool {
        let table = self.policy.table();
        match call {
            Call::NewlyIdle { .. } => table.newly_idle.is_some(),
            Call::EnterIdle { .. } => table.enter_idle.is_some(),
            Call::ExitIdle { .. } => table.exit_idle.is_some(),
            _ => true,
        }
    }

    /// Calls a handler with the current state, and applies its decisions.
    fn call(&mut self, event: &str, call: Call, core: u32) {
        if !self.handles(call) {
            return;
        }
        self.now += 1 + below(&mut self.rng, 3_000_000) as i64;
        for thread in self.threads.clone() {
            let record = self.host.runtime.describe(&self.host.memory, thread);
            self.apply(record);
        }
        self.world();
        let event = EVENTS.iter().position(|name| *name == event).expect("an event");
        if event == event::SCHEDULE {
            let first = self.queue(core).first().map(|(_, thread)| *thread);
            self.apply(Record { kind: kind::HEAD, thread: self.serial(first), ..Record::default() });
        }
        let (flag, a, thread) = (event as u8, self.now as u64, self.serial(call.thread()));
        let facts = if event == event::UNBLOCK { below(&mut self.rng, 3) } else { 0 };
        let began = Record { kind: kind::BEGIN, flag, thread, core: core as u16, a, ..Record::default() };
        self.emit(Record { c: facts as u64, ..began });
        let Host { memory, runtime } = &mut self.host;
        runtime.replayed.begin(memory, call, self.now, facts as u32);
        assert!(self.host.call(call));
        self.idle = self.host.memory.instance.idle;
        let runtime = &mut self.host.runtime;
        let (records, decisions) =
            (std::mem::take(&mut runtime.records), std::mem::take(&mut runtime.decisions));
        records.into_iter().for_each(|record| self.emit(record));
        decisions.into_iter().for_each(|decision| self.perform(decision));
        self.world();
        let a = self.host.runtime.replayed.hash(&self.host.memory, call.thread());
        self.emit(Record { kind: kind::END, a, ..Record::default() });
    }

    fn perform(&mut self, decision: Decision) {
        match decision {
            Decision::Ready { thread, core, key, .. } => {
                let queues = &mut self.host.runtime.queues;
                queues.iter_mut().for_each(|queue| queue.retain(|(_, other)| *other != thread));
                let queue = self.queue(core);
                let at = queue.partition_point(|(other, _)| *other <= key);
                queue.insert(at, (key, thread));
            }
            Decision::Blocked { thread } => *self.state(thread) = BLOCKED,
            Decision::Terminated { thread } => {
                *self.state(thread) = TERMINATED;
                self.threads.retain(|other| *other != thread);
            }
            _ => {}
        }
    }

    /// Runs the first thread of the core's queue.
    fn schedule(&mut self, core: u32) {
        self.call("schedule", Call::Schedule { core }, core);
        let (_, thread) = self.queue(core).remove(0);
        *self.state(thread) = RUNNING;
        let now = self.now;
        let t = self.host.memory.thread_mut(thread);
        (t.core, t.running_since) = (core, now);
        self.current[core as usize] = Some(thread);
        self.idle.remove(core);
    }

    /// Stops the core's current thread.
    fn stop(&mut self, core: u32) -> u32 {
        let thread = self.current[core as usize].take().expect("a current thread");
        let now = self.now;
        let t = self.host.memory.thread_mut(thread);
        (t.runtime, t.running_since) = (t.runtime + now - t.running_since, -1);
        thread
    }

    fn new_thread(&mut self, core: u32) {
        let affinity = 1 + below(&mut self.rng, 15) as u64;
        let Host { memory, runtime } = &mut self.host;
        let serial = memory.nr_threads() + 1;
        let thread = runtime.replayed.thread(memory, serial);
        memory.thread_mut(thread).core = core;
        memory.affinity_mut(thread).word[0] = affinity;
        self.threads.push(thread);
        self.call("new", Call::New { thread, parent: core }, core);
    }

    fn step(&mut self) {
        let core = below(&mut self.rng, CORES as usize) as u32;
        let queued = !self.queue(core).is_empty();
        let current = self.current[core as usize];
        let asleep = self.threads.clone().into_iter().find(|thread| *self.state(*thread) == BLOCKED);
        match (below(&mut self.rng, 8), current) {
            (0, _) if self.threads.len() < 12 => self.new_thread(core),
            (1 | 2, _) if asleep.is_some() => {
                let thread = asleep.expect("a blocked thread");
                self.call("unblock", Call::Unblock { thread, waker: core }, core);
            }
            (3, Some(_)) => {
                let terminates = below(&mut self.rng, 6) == 5;
                let thread = self.stop(core);
                match terminates {
                    true => self.call("terminate", Call::Terminate { thread }, 0),
                    false => self.call("block", Call::Block { thread }, 0),
                }
            }
            (4, Some(_)) => {
                let yields = below(&mut self.rng, 2) == 1;
                let thread = self.stop(core);
                match yields {
                    true => self.call("yield", Call::Yield { thread }, 0),
                    false => self.call("preempt", Call::Preempt { thread }, 0),
                }
            }
            (5, Some(thread)) => {
                self.frequencies[core as usize] = 1_000_000 + below(&mut self.rng, 2) as u32 * 1_000_000;
                self.call("tick", Call::Tick { thread }, 0);
                self.call("balance", Call::Balance { core }, core);
            }
            (_, None) if queued => self.schedule(core),
            (_, None) if !self.idle.contains(core) => {
                self.call("newly_idle", Call::NewlyIdle { core }, core);
                if self.queue(core).is_empty() {
                    self.idle.insert(core);
                    self.call("enter_idle", Call::EnterIdle { core }, core);
                }
            }
            _ => {}
        }
    }
}

/// A log of this number of steps.
fn log(policy: &Native, seed: u8, steps: usize) -> Vec<u8> {
    let header = header(policy);
    let Host { memory, runtime: replayed } = replica(policy, &header);
    let kernel = Kernel {
        replayed,
        records: Vec::new(),
        decisions: Vec::new(),
        queues: Default::default(),
        walks: Vec::new(),
        named: 0,
    };
    let mut world = World {
        policy,
        host: Host { memory, runtime: kernel },
        log: Writer::new(Vec::new(), &header).expect("a vector accepts all writes"),
        rng: TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
        now: 1_000_000,
        threads: Vec::new(),
        current: [None; CORES as usize],
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
const POLICIES: [&str; 9] =
    ["cfs", "cfs-5-4", "eevdf", "ember", "slocal", "smove", "nest", "cfs-cwc", "cfs-cwc-flat"];

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
