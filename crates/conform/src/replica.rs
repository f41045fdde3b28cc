//! The native build of a policy in a runtime that replays a log: handlers see the logged state, and their decisions are
//! compared with the logged ones.

use crate::decision::Decision;
use hearth_scx::log::{Header, Record, event, kind};
use hearth_sim::Native;
use hearth_sim::saakm::{
    Core, Domain, Instance, LEVELS, MAX_CORES, Ops, PolicyTable, SET_WORDS, Set, Thread,
};
use std::collections::{BTreeMap, HashMap};
use std::ptr;

/// Largest number of ready queues of a core.
pub const QUEUES: usize = hearth_scx::layout::MAX_QUEUES;
/// `SAAKM_READY` and `SAAKM_MIGRATING` of the kernel runtime's `enum saakm_state`: a core counts such threads as ready.
/// The handler of a timer holds its thread, so that it is MIGRATING.
const READY: u8 = hearth_scx::layout::state::READY;
const MIGRATING: u8 = hearth_scx::layout::state::MIGRATING;

/// The last logged state of a core.
#[derive(Clone, Copy)]
pub struct LoggedCore {
    pub nr_ready: u32,
    pub seen_khz: u32,
    pub idle_since: i64,
    pub current: *mut Slot,
}

/// The last logged state of the runtime.
pub struct Logged {
    /// The sets online, idle, idle_whole, waiting and claimed.
    pub sets: [Set; 5],
    pub cores: Vec<LoggedCore>,
    /// The first thread of each ready queue, for `schedule`.
    pub heads: [*mut Slot; QUEUES],
}

/// The memory of a thread. Begins with `Thread`, so that a pointer to one is a pointer to the other.
#[repr(C)]
pub struct Slot {
    pub thread: Thread,
    pub affinity: Set,
    pub state: u8,
    pub attrs: Vec<u64>,
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
    /// The next thread, or null.
    next: *mut Slot,
}

pub struct Stage {
    pub instance: Instance,
    cores: Vec<Core>,
    domains: [Vec<Domain>; LEVELS],
    state: Vec<u64>,
    core_attrs: Vec<u64>,
    core_words: usize,
    thread_words: usize,
    known: Vec<u32>,
    table: *const PolicyTable,
    threads: HashMap<u32, *mut Slot>,
    pub logged: Logged,
    pub script: Script,
    scheduling: bool,
    pub decisions: BTreeMap<&'static str, u64>,
    pub visits: u64,
}

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

/// A call of a handler.
#[derive(Clone, Copy)]
pub struct Call {
    /// Index into `EVENTS`.
    pub event: usize,
    pub thread: *mut Slot,
    pub core: u32,
    pub now: i64,
}

/// Owns a [`Stage`] behind a raw pointer, because handlers also access it through their instance. Borrows the policy,
/// whose code it calls.
pub struct Replica<'a> {
    stage: *mut Stage,
    pub(crate) policy: &'a Native,
}

impl Drop for Replica<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointers came from `Box::into_raw` and are dropped once.
        unsafe {
            let stage = Box::from_raw(self.stage);
            for slot in stage.threads.values() {
                drop(Box::from_raw(*slot));
            }
        }
    }
}

impl<'a> Replica<'a> {
    /// The policy before its first event. The header must have been checked.
    pub fn new(policy: &'a Native, header: &Header) -> Replica<'a> {
        let table = policy.table();
        let nr_cores = header.cores.last().map_or(1, |core| core.cpu as usize + 1);
        let words = |size: u64| (size as usize).div_ceil(8);
        let (core_words, thread_words) = (words(table.core_size), words(table.thread_size));
        let mut state = vec![0; words(table.state_size).max(header.params.len())];
        let mut core_attrs = vec![0; core_words * nr_cores];
        // SAFETY: the memory of the state and of each core has the size that the policy's table states.
        unsafe {
            table.init_state.inspect(|init| init(state.as_mut_ptr().cast()));
            for core in &header.cores {
                let attrs = core_attrs.as_mut_ptr().add(core_words * core.cpu as usize);
                table.init_core.inspect(|init| init(attrs.cast()));
            }
        }
        // Parameters are the first fields of the state.
        for (at, value) in header.params.iter().enumerate() {
            state[at] = *value as u64;
        }
        let (domains, of) = domains(header, nr_cores);
        let mut cores: Vec<Core> = (0..nr_cores)
            .map(|core| Core {
                current: ptr::null_mut(),
                nr_ready: 0,
                nr_running: 0,
                seen_khz: 0,
                min_khz: 0,
                exit_latency_ns: 0,
                domain: of[core],
                idle_since: 0,
                attrs: ptr::null_mut(),
            })
            .collect();
        for core in &header.cores {
            cores[core.cpu as usize].min_khz = core.min_khz;
        }
        let logged = LoggedCore { nr_ready: 0, seen_khz: 0, idle_since: 0, current: ptr::null_mut() };
        let stage = Box::into_raw(Box::new(Stage {
            instance: Instance::new(&OPS, nr_cores),
            cores,
            domains,
            state,
            core_attrs,
            core_words,
            thread_words,
            known: header.cores.iter().map(|core| core.cpu).collect(),
            table,
            threads: HashMap::new(),
            logged: Logged {
                sets: [Set::EMPTY; 5],
                cores: vec![logged; nr_cores],
                heads: [ptr::null_mut(); QUEUES],
            },
            script: Script::default(),
            scheduling: false,
            decisions: BTreeMap::new(),
            visits: 0,
        }));
        // SAFETY: not shared yet. The vectors are never resized, so pointers into them stay valid.
        let this = unsafe { &mut *stage };
        this.instance.runtime_private = stage.cast();
        this.instance.state = this.state.as_mut_ptr().cast();
        for (core, at) in this.cores.iter_mut().zip(0..) {
            // SAFETY: the vector has `core_words` words for each core.
            core.attrs = unsafe { this.core_attrs.as_mut_ptr().add(core_words * at) }.cast();
        }
        this.instance.point_to(&mut this.cores, &mut this.domains);
        Replica { stage, policy }
    }

    /// The state, between two handlers.
    pub fn get(&mut self) -> &mut Stage {
        // SAFETY: no handler runs, because `call` takes `&mut self`, so there is no other reference.
        unsafe { &mut *self.stage }
    }

    /// Calls the handler with the logged state, and compares its decisions with the script. Returns whether the policy
    /// has such a handler.
    pub fn call(&mut self, call: Call) -> bool {
        self.get().begin(call);
        let table = self.policy.table();
        let on_thread = [
            (event::TICK, table.tick),
            (event::YIELD, table.yield_),
            (event::PREEMPT, table.preempt),
            (event::BLOCK, table.block),
            (event::TERMINATE, table.terminate),
            (event::TIMER, table.timer),
        ];
        let on_core = [
            (event::SCHEDULE, table.schedule),
            (event::NEWLY_IDLE, table.newly_idle),
            (event::ENTER_IDLE, table.enter_idle),
            (event::EXIT_IDLE, table.exit_idle),
            (event::BALANCE, table.balance),
            (event::ENTRY, table.entry),
            (event::EXIT, table.exit),
        ];
        let find = |of| (call.event == of).then_some(());
        // SAFETY: handlers of this policy, with their instance, and with threads and cores that were checked. This only
        // takes addresses: no reference exists while a handler runs.
        unsafe {
            let s = &raw mut (*self.stage).instance;
            let t: *mut Thread = call.thread.cast();
            let called = match call.event {
                event::NEW => table.new_thread.map(|on| on(s, t, call.core)),
                event::UNBLOCK => table.unblock.map(|on| on(s, t, call.core)),
                _ => {
                    let thread = on_thread.iter().find_map(|(of, on)| find(*of).and(*on));
                    let core = on_core.iter().find_map(|(of, on)| find(*of).and(*on));
                    thread.map(|on| on(s, t)).or_else(|| core.map(|on| on(s, call.core)))
                }
            };
            called.is_some()
        }
    }
}

/// The domains of each level, and for each core the indices of its domains.
fn domains(header: &Header, nr_cores: usize) -> ([Vec<Domain>; LEVELS], Vec<[u32; LEVELS]>) {
    let mut of = vec![[0; LEVELS]; nr_cores];
    let domains = std::array::from_fn(|level| {
        let groups = header.domains.groups[level].iter().enumerate();
        groups
            .map(|(index, group)| {
                for core in &group.cores {
                    of[*core as usize][level] = index as u32;
                }
                Domain {
                    cores: group.cores.iter().copied().collect(),
                    size: group.cores.len() as u32,
                    first: group.first,
                    count: group.count,
                }
            })
            .collect()
    });
    (domains, of)
}

impl Stage {
    pub fn nr_cores(&self) -> u32 {
        self.instance.nr_cores
    }

    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The thread with this serial. Creates it if there is none.
    pub fn thread(&mut self, serial: u32) -> *mut Slot {
        let (words, table) = (self.thread_words, self.table);
        *self.threads.entry(serial).or_insert_with(|| {
            let slot = Box::into_raw(Box::new(Slot {
                thread: Thread {
                    tid: serial,
                    core: 0,
                    weight: 1024,
                    queue: 0,
                    runtime: 0,
                    running_since: -1,
                    affinity: ptr::null(),
                    attrs: ptr::null_mut(),
                    runtime_private: ptr::null_mut(),
                },
                affinity: Set::EMPTY,
                state: 0,
                attrs: vec![0; words],
            }));
            // SAFETY: not shared yet. The memory has the size that the policy's table states.
            unsafe {
                (*slot).thread.affinity = &raw const (*slot).affinity;
                (*slot).thread.attrs = (*slot).attrs.as_mut_ptr().cast();
                if let Some(init) = (*table).init_thread {
                    init((*slot).thread.attrs);
                }
            }
            slot
        })
    }

    /// The thread with this serial, if it exists.
    pub fn known_thread(&self, serial: u32) -> Option<*mut Slot> {
        self.threads.get(&serial).copied()
    }

    fn begin(&mut self, call: Call) {
        let s = &mut self.instance;
        [s.online, s.idle, s.idle_whole, s.waiting, s.claimed] = self.logged.sets;
        s.now = call.now;
        for (core, logged) in self.cores.iter_mut().zip(&self.logged.cores) {
            core.current = logged.current.cast();
            core.nr_ready = logged.nr_ready;
            core.nr_running = logged.nr_ready + u32::from(!logged.current.is_null());
            core.seen_khz = logged.seen_khz;
            core.idle_since = logged.idle_since;
        }
        self.scheduling = call.event == event::SCHEDULE;
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
        records.filter_map(|(at, record)| Some((Decision::of(record)?, at + 1))).next()
    }

    fn decide(&mut self, decision: Decision) {
        if self.script.difference.is_some() {
            return;
        }
        match self.expected() {
            Some((expected, after)) if expected == decision => {
                self.script.at = after;
                *self.decisions.entry(decision.name()).or_default() += 1;
            }
            Some((expected, _)) => self.differ(expected, decision),
            None => self.differ("no further decision", decision),
        }
    }

    /// Compares the state with the log. Called after the handler, when the last records of its script were applied.
    pub fn compare(&mut self, hash: u64, subject: *mut Slot) {
        if let Some((expected, _)) = self.expected() {
            self.differ(expected, "no further decision");
        }
        let visits = self.script.records.iter().filter(|record| record.kind == kind::VISIT).count() as u64;
        if visits != self.script.visits {
            let native = format!("visits {}", self.script.visits);
            self.differ(format_args!("visits {visits} threads in queues"), native);
        }
        self.visits += visits;
        let s = &self.instance;
        let sets = [&s.online, &s.idle, &s.idle_whole, &s.waiting, &s.claimed];
        let names = ["online", "idle", "idle_whole", "waiting", "claimed"];
        let differs = |(native, logged): &(&Set, Set)| native.word != logged.word;
        let differing = sets.into_iter().zip(self.logged.sets).zip(names).find(|(both, _)| differs(both));
        if let Some(((native, logged), name)) = differing {
            let (logged, native) = (show(&logged), show(native));
            return self.differ(format_args!("{name} = {logged}"), format_args!("{name} = {native}"));
        }
        for (id, (core, logged)) in self.cores.iter().zip(&self.logged.cores).enumerate() {
            if core.nr_ready != logged.nr_ready || core.current != logged.current.cast() {
                let show = |nr_ready, current: *mut Thread| {
                    // SAFETY: null or the start of a slot, which lives as long as self.
                    let thread = unsafe { current.as_ref() }.map_or(0, |thread| thread.tid);
                    format!("core {id} has {nr_ready} ready threads, current thread {thread}")
                };
                let (kernel, native) =
                    (show(logged.nr_ready, logged.current.cast()), show(core.nr_ready, core.current));
                return self.differ(kernel, native);
            }
        }
        // SAFETY: null or a slot, which lives as long as self.
        let attrs = unsafe { subject.as_ref() }.map_or(&[][..], |slot| &slot.attrs);
        let native = self.hash(attrs);
        if native != hash {
            self.differ(
                format_args!("the policy's state has hash {hash:016x}"),
                format_args!("hash {native:016x}"),
            );
        }
    }

    /// The hash of the policy's state, of each core's and of the subject's attributes, as `saakm_hash` computes it.
    pub fn hash(&self, subject: &[u64]) -> u64 {
        let add = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x100_0000_01b3);
        let mut hash = self.state.iter().fold(0xcbf2_9ce4_8422_2325, add);
        for core in &self.known {
            let at = self.core_words * *core as usize;
            hash = self.core_attrs[at..at + self.core_words].iter().fold(hash, add);
        }
        subject.iter().fold(hash, add)
    }

    fn ready(&mut self, t: *mut Thread, core: u32, queue: u32, key: i64, reason: u32) {
        // SAFETY: policies get thread pointers only from here.
        let thread = unsafe { (*t).tid };
        self.decide(Decision::Ready { thread, core, queue, key, reason });
        if core >= self.instance.nr_cores {
            return self.differ("an existing core", format_args!("core {core}"));
        }
        self.enqueue(t, core, queue);
    }

    /// Puts a thread into a queue of a core that exists.
    pub fn enqueue(&mut self, t: *mut Thread, core: u32, queue: u32) {
        // SAFETY: policies get thread pointers only from here, and each is the start of a slot.
        let slot = unsafe { &mut *t.cast::<Slot>() };
        if [READY, MIGRATING].contains(&slot.state) {
            let from = slot.thread.core;
            let old = &mut self.cores[from as usize];
            old.nr_ready = old.nr_ready.saturating_sub(1);
            old.nr_running = old.nr_running.saturating_sub(1);
            if old.nr_ready == 0 {
                self.instance.waiting.remove(from);
            }
        }
        slot.state = READY;
        (slot.thread.core, slot.thread.queue) = (core, queue);
        let new = &mut self.cores[core as usize];
        new.nr_ready += 1;
        new.nr_running += 1;
        self.instance.waiting.insert(core);
        self.instance.claimed.remove(core);
        if self.instance.idle.contains(core) {
            self.instance.idle.remove(core);
            let pair = self.domains[0][self.cores[core as usize].domain[0] as usize].cores;
            for w in 0..SET_WORDS {
                self.instance.idle_whole.word[w] &= !pair.word[w];
            }
        }
    }

    /// The head of a queue in `schedule`.
    pub fn head(&self, queue: u32) -> Option<*mut Slot> {
        self.scheduling.then(|| self.logged.heads.get(queue as usize).copied().unwrap_or(ptr::null_mut()))
    }

    /// Begins a walk over a queue, or returns the head of a queue in `schedule`.
    fn first(&mut self, core: u32, queue: u32) -> *mut Slot {
        if let Some(head) = self.head(queue) {
            return head;
        }
        let from = self.script.at.max(self.script.walk);
        let records = &self.script.records[from..];
        let is_walk = |record: &Record| record.kind == kind::WALK || Decision::of(record).is_some();
        match records.iter().position(is_walk).map(|at| (at, records[at])) {
            Some((at, walk))
                if walk.kind == kind::WALK
                    && u32::from(walk.core) == core
                    && u32::from(walk.flag) == queue =>
            {
                let (name, at) = (walk.a, from + at + 1);
                self.script.walk = at;
                self.script.walks.push(Walk { name, at, next: ptr::null_mut() });
                self.step()
            }
            other => {
                let kernel = match other {
                    Some((_, walk)) if walk.kind == kind::WALK => {
                        format!("walks over queue {} of core {}", walk.flag, walk.core)
                    }
                    Some((_, record)) => Decision::of(&record).map_or_else(String::new, |d| d.to_string()),
                    None => "no further decision".into(),
                };
                self.differ(kernel, format_args!("walks over queue {queue} of core {core}"));
                ptr::null_mut()
            }
        }
    }

    /// Continues the walk that is at `slot`, and ends the walks inside it.
    fn visit(&mut self, slot: *mut Slot) -> *mut Slot {
        // A head: the log has no walk.
        if self.scheduling && self.script.walks.is_empty() {
            return ptr::null_mut();
        }
        self.script.visits += 1;
        while self.script.walks.last().is_some_and(|walk| walk.next != slot) {
            self.script.walks.pop();
        }
        self.step()
    }

    /// Advances the innermost walk. Returns its next thread, or null at its end.
    fn step(&mut self) -> *mut Slot {
        let Some(walk) = self.script.walks.last() else { return ptr::null_mut() };
        let (name, from) = (walk.name, walk.at);
        let records = &self.script.records;
        let is_visit = |at: &usize| records[*at].kind == kind::VISIT && records[*at].a == name;
        let Some(at) = (from..records.len()).find(is_visit) else {
            self.script.walks.pop();
            return ptr::null_mut();
        };
        let describes = |record: &Record| matches!(record.kind, kind::THREAD | kind::AFFINITY);
        let of_it = records[..at].iter().rev().take_while(|record| describes(record)).count();
        for at in at - of_it..at {
            let record = self.script.records[at];
            self.describe(&record);
        }
        let next = self.known_thread(self.script.records[at].thread).unwrap_or(ptr::null_mut());
        if let Some(walk) = self.script.walks.last_mut() {
            (walk.at, walk.next) = (at + 1, next);
        }
        next
    }

    /// Applies a record of a thread, which must have been validated.
    pub fn describe(&mut self, record: &Record) {
        let slot = self.thread(record.thread);
        // SAFETY: the slot lives as long as self, and there is no other reference.
        let slot = unsafe { &mut *slot };
        if record.kind == kind::AFFINITY {
            slot.affinity.word[record.flag as usize % SET_WORDS] = record.a;
            return;
        }
        slot.thread.core = record.a as u32;
        slot.thread.weight = record.b as u32;
        slot.thread.runtime = record.c as i64;
        slot.thread.running_since = record.d as i64;
        slot.thread.queue = (record.f & 0xff) as u32;
        slot.state = (record.f >> 8) as u8;
        slot.affinity = Set::EMPTY;
        slot.affinity.word[0] = record.e;
    }
}

fn show(set: &Set) -> String {
    let members: Vec<String> =
        (0..MAX_CORES as u32).filter(|core| set.contains(*core)).map(|core| core.to_string()).collect();
    format!("{{{}}}", members.join(" "))
}

/// The stage of an instance.
///
/// # Safety
/// `s` is the pointer that [`Replica::call`] passed to the running handler.
pub unsafe fn stage_of<'a>(s: *mut Instance) -> &'a mut Stage {
    // SAFETY: `Replica::new` sets it. No reference is held while a handler runs.
    unsafe { &mut *(*s).runtime_private.cast::<Stage>() }
}

/// The serial of a thread.
///
/// # Safety
/// The stage gave `t` to the policy.
pub unsafe fn serial(t: *mut Thread) -> u32 {
    // SAFETY: the slots of threads live as long as the stage.
    unsafe { (*t).tid }
}

extern "C" fn ready(s: *mut Instance, t: *mut Thread, c: u32, queue: u32, key: i64, reason: u32) {
    // SAFETY: the policy passes the instance that it was called with, and a thread that the stage gave it.
    unsafe { stage_of(s) }.ready(t, c, queue, key, reason);
}

extern "C" fn run(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s).decide(Decision::Run { thread: serial(t) }) }
}

extern "C" fn blocked(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s).decide(Decision::Blocked { thread: serial(t) }) }
}

extern "C" fn terminated(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s).decide(Decision::Terminated { thread: serial(t) }) }
}

extern "C" fn first(s: *mut Instance, c: u32, queue: u32) -> *mut Thread {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s) }.first(c, queue).cast()
}

extern "C" fn next(s: *mut Instance, t: *mut Thread) -> *mut Thread {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s) }.visit(t.cast()).cast()
}

extern "C" fn arm(s: *mut Instance, t: *mut Thread, ns: i64) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s).decide(Decision::Arm { thread: serial(t), ns }) }
}

extern "C" fn cancel(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s).decide(Decision::Cancel { thread: serial(t) }) }
}

extern "C" fn keep_warm(s: *mut Instance, core: u32, ns: i64) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s) }.decide(Decision::KeepWarm { core, ns });
}

extern "C" fn preempt(s: *mut Instance, core: u32) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s) }.decide(Decision::Preempt { core });
}

extern "C" fn set_changed(s: *mut Instance, set: u32, core: u32, member: bool) {
    // SAFETY: as in `ready`.
    unsafe { stage_of(s) }.decide(Decision::Set { set, core, member });
}
