//! A policy's native build with the kernel's view of the world: its handlers are called with what the log says, and
//! what they do is compared with what the log says that they did.

use crate::decision::Decision;
use hearth_scx::log::{Header, Record, event, kind};
use hearth_sim::Native;
use hearth_sim::saakm::{
    Core, Domain, Instance, LEVELS, MAX_CORES, Ops, PolicyTable, SET_WORDS, Set, Thread,
};
use std::collections::{BTreeMap, HashMap};
use std::ptr;

/// Ready queues of a core that can be told apart.
pub const QUEUES: usize = 4;
/// `enum saakm_state` of the kernel's side.
const READY: u8 = 2;

/// State of a core as last logged.
#[derive(Clone, Copy)]
pub struct ToldCore {
    pub nr_ready: u32,
    pub seen_khz: u32,
    pub idle_since: i64,
    pub current: *mut Slot,
}

/// And of all.
pub struct Told {
    /// online, idle, idle_whole, waiting, claimed
    pub sets: [Set; 5],
    pub cores: Vec<ToldCore>,
    pub heads: [*mut Slot; QUEUES],
}

/// A thread's memory.
#[repr(C)]
pub struct Slot {
    pub thread: Thread,
    pub affinity: Set,
    pub state: u8,
    pub attrs: Vec<u64>,
}

/// The logged decisions of a handler.
#[derive(Default)]
pub struct Script {
    pub records: Vec<Record>,
    /// The next decision is from here on.
    at: usize,
    /// The next walk is from here on.
    walk: usize,
    /// Walks under way, the innermost last.
    walks: Vec<Walk>,
    visits: u64,
    /// The first difference: the kernel's side, the native side.
    pub difference: Option<(String, String)>,
}

/// A walk over a queue, as far as it has come: the thread that it comes to next was looked up when it came to the
/// one before, because that may leave the queue.
struct Walk {
    name: u64,
    /// Where in the script that thread is; and it, or null.
    at: usize,
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
    pub told: Told,
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

/// Owns a [`Stage`] behind a raw pointer, because handlers reach it a second time through the instance that they are
/// given. Borrows the policy, whose code it calls.
pub struct Replica<'a> {
    stage: *mut Stage,
    pub(crate) policy: &'a Native,
}

impl Drop for Replica<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointers came from Box::into_raw and are dropped once.
        unsafe {
            let stage = Box::from_raw(self.stage);
            for slot in stage.threads.values() {
                drop(Box::from_raw(*slot));
            }
        }
    }
}

impl<'a> Replica<'a> {
    /// The policy before its first event. The header was checked.
    pub fn new(policy: &'a Native, header: &Header) -> Replica<'a> {
        let table = policy.table();
        let nr_cores = header.cores.last().map_or(1, |core| core.cpu as usize + 1);
        let words = |size: u64| (size as usize).div_ceil(8);
        let (core_words, thread_words) = (words(table.core_size), words(table.thread_size));
        let mut state = vec![0; words(table.state_size).max(header.params.len())];
        let mut core_attrs = vec![0; core_words * nr_cores];
        // SAFETY: the memory has the size that the policy's table asks for, as has that of each core.
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
        let told = ToldCore { nr_ready: 0, seen_khz: 0, idle_since: 0, current: ptr::null_mut() };
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
            told: Told {
                sets: [Set::EMPTY; 5],
                cores: vec![told; nr_cores],
                heads: [ptr::null_mut(); QUEUES],
            },
            script: Script::default(),
            scheduling: false,
            decisions: BTreeMap::new(),
            visits: 0,
        }));
        // SAFETY: just made, not shared yet. Vectors do not move their contents from here on.
        let this = unsafe { &mut *stage };
        this.instance.runtime_private = stage.cast();
        this.instance.state = this.state.as_mut_ptr().cast();
        for (core, at) in this.cores.iter_mut().zip(0..) {
            // SAFETY: there are so many words for each core.
            core.attrs = unsafe { this.core_attrs.as_mut_ptr().add(core_words * at) }.cast();
        }
        this.instance.point_to(&mut this.cores, &mut this.domains);
        Replica { stage, policy }
    }

    /// The state, between two handlers.
    pub fn get(&mut self) -> &mut Stage {
        // SAFETY: no handler runs (`call` takes &mut self), so nobody else holds a reference.
        unsafe { &mut *self.stage }
    }

    /// Calls the handler with what was told; then [`Stage::difference`] says whether it did what its script says.
    /// False: there is no such handler.
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
        // SAFETY: handlers of this policy, with their own instance, and threads and cores that were checked. Only
        // addresses are taken: no reference lives while a handler runs.
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

/// Domains of each level, and those of each core.
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

    /// The thread with this serial; a new one if there is none.
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
            // SAFETY: just made, not shared yet; the memory has the size that the policy's table asks for.
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

    /// The thread with this serial, if the log has told of it.
    pub fn known_thread(&self, serial: u32) -> Option<*mut Slot> {
        self.threads.get(&serial).copied()
    }

    fn begin(&mut self, call: Call) {
        let s = &mut self.instance;
        [s.online, s.idle, s.idle_whole, s.waiting, s.claimed] = self.told.sets;
        s.now = call.now;
        for (core, told) in self.cores.iter_mut().zip(&self.told.cores) {
            core.current = told.current.cast();
            core.nr_ready = told.nr_ready;
            core.nr_running = told.nr_ready + u32::from(!told.current.is_null());
            core.seen_khz = told.seen_khz;
            core.idle_since = told.idle_since;
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
            None => self.differ("nothing more", decision),
        }
    }

    /// After the handler, and after the script's last records were told: is everything as the log says?
    pub fn compare(&mut self, hash: u64, subject: *mut Slot) {
        if let Some((expected, _)) = self.expected() {
            self.differ(expected, "nothing more");
        }
        let visits = self.script.records.iter().filter(|record| record.kind == kind::VISIT).count() as u64;
        if visits != self.script.visits {
            let native = format!("at {}", self.script.visits);
            self.differ(format_args!("it looks at {visits} threads of queues"), native);
        }
        self.visits += visits;
        let s = &self.instance;
        let sets = [&s.online, &s.idle, &s.idle_whole, &s.waiting, &s.claimed];
        let names = ["online", "idle", "idle_whole", "waiting", "claimed"];
        let differs = |(now, told): &(&Set, Set)| now.word != told.word;
        let differing = sets.into_iter().zip(self.told.sets).zip(names).find(|(both, _)| differs(both));
        if let Some(((now, told), name)) = differing {
            let (told, now) = (show(&told), show(now));
            return self.differ(format_args!("then {name} is {told}"), format_args!("it is {now}"));
        }
        for (id, (core, told)) in self.cores.iter().zip(&self.told.cores).enumerate() {
            if core.nr_ready != told.nr_ready || core.current != told.current.cast() {
                let (kernel, native) = (
                    format!("then core {id} has {} ready threads", told.nr_ready),
                    format!("it has {}", core.nr_ready),
                );
                return self.differ(kernel, native);
            }
        }
        // SAFETY: null, or a slot that lives as long as self.
        let attrs = unsafe { subject.as_ref() }.map_or(&[][..], |slot| &slot.attrs);
        let native = self.hash(attrs);
        if native != hash {
            self.differ(
                format_args!("then the policy's state has hash {hash:016x}"),
                format_args!("{native:016x}"),
            );
        }
    }

    /// As `saakm_hash` has it: the policy's state, each core's and the subject's.
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
            return self.differ("a core that exists", format_args!("core {core}"));
        }
        self.enqueue(t, core, queue);
    }

    /// Puts a thread into a queue of a core that exists.
    pub fn enqueue(&mut self, t: *mut Thread, core: u32, queue: u32) {
        // SAFETY: policies get thread pointers only from here, and each is the start of a slot.
        let slot = unsafe { &mut *t.cast::<Slot>() };
        if slot.state == READY {
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

    /// The head of a queue, while a core schedules.
    pub fn head(&self, queue: u32) -> Option<*mut Slot> {
        self.scheduling.then(|| self.told.heads.get(queue as usize).copied().unwrap_or(ptr::null_mut()))
    }

    /// A walk over a queue begins, or the head of a queue is asked for.
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
                        format!("it walks over queue {} of core {}", walk.flag, walk.core)
                    }
                    Some((_, record)) => Decision::of(&record).map_or_else(String::new, |d| d.to_string()),
                    None => "nothing more".into(),
                };
                self.differ(kernel, format_args!("it walks over queue {queue} of core {core}"));
                ptr::null_mut()
            }
        }
    }

    /// The walk that has come to `slot`, within which all others are over, goes on.
    fn visit(&mut self, slot: *mut Slot) -> *mut Slot {
        self.script.visits += 1;
        while self.script.walks.last().is_some_and(|walk| walk.next != slot) {
            self.script.walks.pop();
        }
        self.step()
    }

    /// The next thread of the innermost walk; null if it ends.
    fn step(&mut self) -> *mut Slot {
        let Some(walk) = self.script.walks.last() else { return ptr::null_mut() };
        let (name, from) = (walk.name, walk.at);
        let records = &self.script.records;
        let is_visit = |at: &usize| records[*at].kind == kind::VISIT && records[*at].a == name;
        let Some(at) = (from..records.len()).find(is_visit) else {
            self.script.walks.pop();
            return ptr::null_mut();
        };
        let told = |record: &Record| matches!(record.kind, kind::THREAD | kind::AFFINITY);
        let of_it = records[..at].iter().rev().take_while(|record| told(record)).count();
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

    /// Takes over what a record says of a thread. It was checked.
    pub fn describe(&mut self, record: &Record) {
        let slot = self.thread(record.thread);
        // SAFETY: it lives as long as self, and nobody else holds a reference.
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

/// The stage behind an instance.
///
/// # Safety
/// `s` is the pointer that [`Replica::call`] gave to the handler that now calls back.
pub unsafe fn behind<'a>(s: *mut Instance) -> &'a mut Stage {
    // SAFETY: set in `Replica::new`; no reference is held while a handler runs.
    unsafe { &mut *(*s).runtime_private.cast::<Stage>() }
}

/// The serial of a thread that a policy names.
pub unsafe fn serial(t: *mut Thread) -> u32 {
    // SAFETY: policies get thread pointers only from the stage.
    unsafe { (*t).tid }
}

extern "C" fn ready(s: *mut Instance, t: *mut Thread, c: u32, queue: u32, key: i64, reason: u32) {
    // SAFETY: the policy passes on the instance that it was called with, and a thread that the stage gave it.
    unsafe { behind(s) }.ready(t, c, queue, key, reason);
}

extern "C" fn run(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { behind(s).decide(Decision::Run { thread: serial(t) }) }
}

extern "C" fn blocked(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { behind(s).decide(Decision::Blocked { thread: serial(t) }) }
}

extern "C" fn terminated(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { behind(s).decide(Decision::Terminated { thread: serial(t) }) }
}

extern "C" fn first(s: *mut Instance, c: u32, queue: u32) -> *mut Thread {
    // SAFETY: as in `ready`.
    unsafe { behind(s) }.first(c, queue).cast()
}

extern "C" fn next(s: *mut Instance, t: *mut Thread) -> *mut Thread {
    // SAFETY: as in `ready`.
    unsafe { behind(s) }.visit(t.cast()).cast()
}

extern "C" fn arm(s: *mut Instance, t: *mut Thread, ns: i64) {
    // SAFETY: as in `ready`.
    unsafe { behind(s).decide(Decision::Arm { thread: serial(t), ns }) }
}

extern "C" fn cancel(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { behind(s).decide(Decision::Cancel { thread: serial(t) }) }
}

extern "C" fn keep_warm(s: *mut Instance, core: u32, ns: i64) {
    // SAFETY: as in `ready`.
    unsafe { behind(s) }.decide(Decision::KeepWarm { core, ns });
}

extern "C" fn preempt(s: *mut Instance, core: u32) {
    // SAFETY: as in `ready`.
    unsafe { behind(s) }.decide(Decision::Preempt { core });
}

extern "C" fn set_changed(s: *mut Instance, set: u32, core: u32, member: bool) {
    // SAFETY: as in `ready`.
    unsafe { behind(s) }.decide(Decision::Set { set, core, member });
}
