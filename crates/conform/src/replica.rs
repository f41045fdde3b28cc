//! The native build of a policy in a runtime that replays a log: handlers see the logged state, and their decisions are
//! compared with the logged ones.

use crate::decision::decision;
use hearth_scx::log::{Header, Record, kind};
use hearth_scx::topology::Group;
use hearth_sim::Native;
use hearth_sim::saakm::{Call, CoreFacts, Decision, Domain, Host, LEVELS, Memory, Runtime, SET_WORDS, Set};
use std::collections::{BTreeMap, HashMap};

/// Largest number of ready queues of a core.
pub const QUEUES: usize = hearth_scx::layout::MAX_QUEUES;
/// `SAAKM_READY` and `SAAKM_MIGRATING` of the kernel runtime's `enum saakm_state`: a core counts such threads as ready.
/// The handler of a timer holds its thread, so that it is MIGRATING.
const READY: u8 = hearth_scx::layout::state::READY;
const MIGRATING: u8 = hearth_scx::layout::state::MIGRATING;
const RUNNING: u8 = hearth_scx::layout::state::RUNNING;

/// The last logged state of a core.
#[derive(Clone, Copy, Default)]
pub struct LoggedCore {
    pub nr_ready: u32,
    pub seen_khz: u32,
    pub idle_since: i64,
    pub exit_latency_ns: u32,
    pub current: Option<u32>,
}

/// The last logged state of the runtime. Threads are indices into [`Memory`].
pub struct Logged {
    /// The sets online, idle, idle_whole, waiting and claimed.
    pub sets: [Set; 5],
    pub cores: Vec<LoggedCore>,
    /// The first thread of each ready queue, for `schedule`.
    pub heads: [Option<u32>; QUEUES],
}

/// The records of a handler, and how far its replay has come.
#[derive(Default)]
pub struct Script {
    pub records: Vec<Record>,
    /// Index from which to search the next decision.
    at: usize,
    /// Index from which to search the next walk.
    walk: usize,
    /// Walks in progress, the innermost last.
    walks: Vec<Walk>,
    visits: u64,
    /// The first difference: the kernel's behaviour and the native one.
    pub difference: Option<(String, String)>,
}

/// A walk over a queue in progress. The next thread is looked up when the current one is visited, because the current
/// one may leave the queue.
struct Walk {
    name: u64,
    /// Index in the script after the record of the next thread.
    at: usize,
    next: Option<u32>,
}

/// The runtime of a replay.
pub struct Replayed {
    /// The cores in the log.
    known: Vec<u32>,
    /// Index of each thread, by its serial in the kernel.
    threads: HashMap<u32, u32>,
    /// For each thread, its `enum saakm_state`.
    pub states: Vec<u8>,
    pub logged: Logged,
    pub script: Script,
    scheduling: bool,
    /// The last decision was a placement with direct dispatch: the thread runs next.
    direct: bool,
    pub decisions: BTreeMap<&'static str, u64>,
    pub visits: u64,
}

pub type Replica<'a> = Host<'a, Replayed>;

/// The policy before its first event. The header must have been checked.
pub fn replica<'a>(policy: &'a Native, header: &Header) -> Replica<'a> {
    let nr_cores = header.cores.last().map_or(1, |core| core.cpu as usize + 1);
    let mut facts = vec![CoreFacts::default(); nr_cores];
    for core in &header.cores {
        facts[core.cpu as usize] = CoreFacts { min_khz: core.min_khz, capacity: core.capacity };
    }
    Host {
        memory: Memory::new(policy, &header.params, &facts, domains(header)),
        runtime: Replayed {
            known: header.cores.iter().map(|core| core.cpu).collect(),
            threads: HashMap::new(),
            states: Vec::new(),
            logged: Logged {
                sets: [Set::EMPTY; 5],
                cores: vec![LoggedCore::default(); nr_cores],
                heads: [None; QUEUES],
            },
            script: Script::default(),
            scheduling: false,
            direct: false,
            decisions: BTreeMap::new(),
            visits: 0,
        },
    }
}

/// Calls the handler with the logged state, and compares its decisions with the script. Returns whether the policy has
/// such a handler.
pub fn call(replica: &mut Replica<'_>, call: Call, now: i64, facts: u32) -> bool {
    replica.runtime.begin(&mut replica.memory, call, now, facts);
    replica.call(call)
}

/// The domains of each level.
fn domains(header: &Header) -> [Vec<Domain>; LEVELS] {
    let domain = |group: &Group| Domain {
        cores: group.cores.iter().copied().collect(),
        size: group.cores.len() as u32,
        first: group.first,
        count: group.count,
    };
    header.domains.groups.each_ref().map(|groups| groups.iter().map(domain).collect())
}

impl Replayed {
    pub fn nr_threads(&self) -> usize {
        self.threads.len()
    }

    /// The thread with this serial. Creates it if there is none.
    pub fn thread(&mut self, memory: &mut Memory<'_>, serial: u32) -> u32 {
        *self.threads.entry(serial).or_insert_with(|| {
            self.states.push(0);
            memory.add_thread(serial, 1024, Set::EMPTY)
        })
    }

    /// The thread with this serial, if it exists.
    pub fn known_thread(&self, serial: u32) -> Option<u32> {
        self.threads.get(&serial).copied()
    }

    /// Shows the logged state to the handler of `call`.
    pub fn begin(&mut self, memory: &mut Memory<'_>, call: Call, now: i64, facts: u32) {
        let s = &mut memory.instance;
        [s.online, s.idle, s.idle_whole, s.waiting, s.claimed] = self.logged.sets;
        (s.now, s.facts) = (now, facts);
        for (id, logged) in (0..).zip(&self.logged.cores) {
            let core = memory.core_mut(id);
            core.nr_ready = logged.nr_ready;
            core.seen_khz = logged.seen_khz;
            core.idle_since = logged.idle_since;
            core.exit_latency_ns = logged.exit_latency_ns;
            memory.set_current(id, logged.current);
        }
        self.scheduling = matches!(call, Call::Schedule { .. });
        (self.script.at, self.script.walk, self.script.visits) = (0, 0, 0);
        self.script.walks.clear();
        self.script.difference = None;
    }

    fn differ(&mut self, kernel: impl ToString, native: impl ToString) {
        self.script.difference.get_or_insert_with(|| (kernel.to_string(), native.to_string()));
    }

    /// The next decision of the script, and the index after it.
    fn expected(&self) -> Option<(Decision, usize)> {
        let records = self.script.records.iter().enumerate().skip(self.script.at);
        records.filter_map(|(at, record)| Some((decision(record)?, at + 1))).next()
    }

    fn check(&mut self, decision: Decision) {
        if self.script.difference.is_some() {
            return;
        }
        match self.expected() {
            Some((expected, after)) if expected == decision => {
                self.script.at = after;
                self.direct = self.script.records[after - 1].flag != 0;
                *self.decisions.entry(decision.name()).or_default() += 1;
            }
            Some((expected, _)) => self.differ(expected, decision),
            None => self.differ("no further decision", decision),
        }
    }

    /// Compares the state with the log. Called after the handler, when the last records of its script were applied.
    pub fn compare(&mut self, memory: &Memory<'_>, hash: u64, subject: Option<u32>) {
        if let Some((expected, _)) = self.expected() {
            self.differ(expected, "no further decision");
        }
        let visits = self.script.records.iter().filter(|record| record.kind == kind::VISIT).count() as u64;
        if visits != self.script.visits {
            let native = format!("visits {}", self.script.visits);
            self.differ(format_args!("visits {visits} threads in queues"), native);
        }
        self.visits += visits;
        if let Some((kernel, native)) = self.different_set(memory).or_else(|| self.different_core(memory)) {
            return self.differ(kernel, native);
        }
        let native = self.hash(memory, subject);
        if native != hash {
            self.differ(
                format_args!("the policy's state has hash {hash:016x}"),
                format_args!("hash {native:016x}"),
            );
        }
    }

    /// The first set that differs: in the log, and here.
    fn different_set(&self, memory: &Memory<'_>) -> Option<(String, String)> {
        let s = &memory.instance;
        let sets = [&s.online, &s.idle, &s.idle_whole, &s.waiting, &s.claimed];
        let names = ["online", "idle", "idle_whole", "waiting", "claimed"];
        let mut all = sets.into_iter().zip(&self.logged.sets).zip(names);
        let ((native, logged), name) = all.find(|((native, logged), _)| native.word != logged.word)?;
        Some((format!("{name} = {}", show(logged)), format!("{name} = {}", show(native))))
    }

    /// The first core whose threads differ: in the log, and here.
    fn different_core(&self, memory: &Memory<'_>) -> Option<(String, String)> {
        let native = |id| (memory.core(id).nr_ready, memory.current(id));
        let mut all = (0..).zip(&self.logged.cores);
        let (id, logged) = all.find(|&(id, logged)| native(id) != (logged.nr_ready, logged.current))?;
        let show = |(nr_ready, current): (u32, Option<u32>)| {
            let thread = current.map_or(0, |thread| memory.thread(thread).tid);
            format!("core {id} has {nr_ready} ready threads, current thread {thread}")
        };
        Some((show((logged.nr_ready, logged.current)), show(native(id))))
    }

    /// The hash of the policy's state, of each core's and of the subject's attributes, as `saakm_hash` computes it.
    pub fn hash(&self, memory: &Memory<'_>, subject: Option<u32>) -> u64 {
        let words = memory.core_words();
        let core_attrs = |core: &u32| &memory.core_attrs()[words * *core as usize..][..words];
        let subject = subject.map_or(&[][..], |thread| memory.thread_attrs(thread));
        let all = memory.state().iter().chain(self.known.iter().flat_map(core_attrs)).chain(subject);
        all.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x100_0000_01b3))
    }

    /// Puts a thread into a queue of a core that exists; or on the core, if it is dispatched to it directly.
    pub fn enqueue(&mut self, memory: &mut Memory<'_>, thread: u32, core: u32, queue: u32) {
        let direct = std::mem::take(&mut self.direct);
        let new = if direct { RUNNING } else { READY };
        let state = std::mem::replace(&mut self.states[thread as usize], new);
        if [READY, MIGRATING].contains(&state) {
            let from = memory.thread(thread).core;
            let old = memory.core_mut(from);
            old.nr_ready = old.nr_ready.saturating_sub(1);
            old.nr_running = old.nr_running.saturating_sub(1);
            if old.nr_ready == 0 {
                memory.instance.waiting.remove(from);
            }
        }
        let t = memory.thread_mut(thread);
        (t.core, t.queue) = (core, queue);
        if direct {
            memory.set_current(core, Some(thread));
        } else {
            memory.set_nr_ready(core, memory.core(core).nr_ready + 1);
            memory.instance.waiting.insert(core);
        }
        memory.instance.claimed.remove(core);
        if memory.instance.idle.contains(core) {
            memory.clear_idle(core);
        }
    }

    /// The head of a queue in `schedule`.
    pub fn head(&self, queue: u32) -> Option<Option<u32>> {
        self.scheduling.then(|| self.logged.heads.get(queue as usize).copied().flatten())
    }

    /// Begins the walk that is next in the script, if it is over this queue.
    fn begin_walk(&mut self, memory: &mut Memory<'_>, core: u32, queue: u32) -> Option<u32> {
        let from = self.script.at.max(self.script.walk);
        let records = &self.script.records[from..];
        let is_walk = |record: &Record| record.kind == kind::WALK || decision(record).is_some();
        let next = records.iter().position(is_walk).map(|at| (at, records[at]));
        if let Some((at, walk)) = next
            && walk.kind == kind::WALK
            && (u32::from(walk.core), u32::from(walk.flag)) == (core, queue)
        {
            let (name, at) = (walk.a, from + at + 1);
            self.script.walk = at;
            self.script.walks.push(Walk { name, at, next: None });
            return self.step(memory);
        }
        let kernel = match next {
            Some((_, walk)) if walk.kind == kind::WALK => {
                format!("walks over queue {} of core {}", walk.flag, walk.core)
            }
            Some((_, record)) => decision(&record).map_or_else(String::new, |decision| decision.to_string()),
            None => "no further decision".into(),
        };
        self.differ(kernel, format_args!("walks over queue {queue} of core {core}"));
        None
    }

    /// Advances the innermost walk. Returns its next thread, or `None` at its end.
    fn step(&mut self, memory: &mut Memory<'_>) -> Option<u32> {
        let walk = self.script.walks.last()?;
        let (name, from) = (walk.name, walk.at);
        let records = &self.script.records;
        let is_visit = |at: &usize| records[*at].kind == kind::VISIT && records[*at].a == name;
        let Some(at) = (from..records.len()).find(is_visit) else {
            self.script.walks.pop();
            return None;
        };
        let describes = |record: &Record| matches!(record.kind, kind::THREAD | kind::AFFINITY);
        let of_it = records[..at].iter().rev().take_while(|record| describes(record)).count();
        for at in at - of_it..at {
            let record = self.script.records[at];
            self.describe(memory, &record);
        }
        let next = self.known_thread(self.script.records[at].thread);
        if let Some(walk) = self.script.walks.last_mut() {
            (walk.at, walk.next) = (at + 1, next);
        }
        next
    }

    /// Applies a record of a thread, which must have been validated.
    pub fn describe(&mut self, memory: &mut Memory<'_>, record: &Record) {
        let thread = self.thread(memory, record.thread);
        let affinity = memory.affinity_mut(thread);
        if record.kind == kind::AFFINITY {
            affinity.word[record.flag as usize % SET_WORDS] = record.a;
            return;
        }
        *affinity = Set::EMPTY;
        affinity.word[0] = record.e;
        let t = memory.thread_mut(thread);
        t.core = record.a as u32;
        t.weight = record.b as u32;
        t.runtime = record.c as i64;
        t.running_since = record.d as i64;
        t.queue = (record.f & 0xff) as u32;
        self.states[thread as usize] = (record.f >> 8) as u8;
    }
}

impl Runtime for Replayed {
    fn decide(&mut self, memory: &mut Memory<'_>, decision: Decision) {
        let mut logged = decision;
        if let Some(thread) = logged.thread_mut() {
            *thread = memory.thread(*thread).tid;
        }
        self.check(logged);
        let Decision::Ready { thread, core, queue, .. } = decision else { return };
        if core >= memory.nr_cores() {
            return self.differ("an existing core", format_args!("core {core}"));
        }
        self.enqueue(memory, thread, core, queue);
    }

    fn first(&mut self, memory: &mut Memory<'_>, core: u32, queue: u32) -> Option<u32> {
        self.head(queue).unwrap_or_else(|| self.begin_walk(memory, core, queue))
    }

    /// Continues the walk that is at `thread`, and ends the walks inside it.
    fn next(&mut self, memory: &mut Memory<'_>, thread: u32) -> Option<u32> {
        // A head: the log has no walk.
        if self.scheduling && self.script.walks.is_empty() {
            return None;
        }
        self.script.visits += 1;
        while self.script.walks.last().is_some_and(|walk| walk.next != Some(thread)) {
            self.script.walks.pop();
        }
        self.step(memory)
    }
}

fn show(set: &Set) -> String {
    let members: Vec<String> = set.iter().map(|core| core.to_string()).collect();
    format!("{{{}}}", members.join(" "))
}
