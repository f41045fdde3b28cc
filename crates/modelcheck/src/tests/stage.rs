//! Runs a policy's native build on a state: the memory that its C code reads, and the operations that it calls.

use std::ffi::c_void;
use std::ptr;

use hearth_ipanema::ir::{Attribute, BaseType, Level, Owner};
use hearth_sim::Native;
use hearth_sim::saakm::{Core, Domain, Instance, LEVELS, Ops, SET_WORDS, Set, Thread};

use crate::cores::Cores;
use crate::model::{MIN_KHZ, Model};
use crate::world::{Line, MAX_QUEUES, NO_THREAD, State, World};

/// A call of a handler to its runtime.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Ready { thread: u8, core: u8, queue: u32, key: i64, reason: u32 },
    Run(u8),
    Blocked(u8),
    Terminated(u8),
    Arm(u8, i64),
    Cancel(u8),
    Preempt(u8),
}

pub struct Stage {
    pub instance: Instance,
    cores: Vec<Core>,
    threads: Vec<Thread>,
    domains: [Vec<Domain>; LEVELS],
    affinity: Vec<Set>,
    /// Attributes of the policy, of each core and of each thread.
    memory: [Vec<Vec<u64>>; 3],
    pub queues: Vec<[Vec<(i64, u8)>; MAX_QUEUES]>,
    ready: Vec<bool>,
    siblings: Vec<Cores>,
    pub decisions: Vec<Decision>,
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

/// Size and alignment of a stored attribute, in bytes.
fn size(base: BaseType) -> usize {
    match base {
        BaseType::Bool => 1,
        BaseType::Core => 4,
        _ => 8,
    }
}

/// Offset of each attribute in its struct.
fn offsets(attributes: &[Attribute], start: usize) -> Vec<usize> {
    let mut at = start;
    let mut place = |attribute: &Attribute| {
        let size = size(attribute.ty.base);
        let here = at.next_multiple_of(size);
        at = here + size;
        here
    };
    attributes.iter().map(&mut place).collect()
}

fn bytes(memory: &mut [u64]) -> &mut [u8] {
    // SAFETY: a `u64` is eight initialised bytes, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), memory.len() * 8) }
}

fn write(memory: &mut [u64], at: usize, base: BaseType, value: i64) {
    let size = size(base);
    bytes(memory)[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

fn read(memory: &mut [u64], at: usize, base: BaseType) -> i64 {
    let mut value = [0; 8];
    let size = size(base);
    value[..size].copy_from_slice(&bytes(memory)[at..at + size]);
    match base {
        BaseType::Core => i64::from(i32::from_le_bytes([value[0], value[1], value[2], value[3]])),
        _ => i64::from_le_bytes(value),
    }
}

pub fn set(cores: Cores) -> Set {
    cores.iter().map(u32::from).collect()
}

impl Stage {
    /// The state as the native build sees it before a handler.
    pub fn new(model: &Model<'_>, policy: &Native, world: &World) -> Box<Stage> {
        let table = policy.table();
        let memory = |size: u64, count: usize| vec![vec![0u64; (size as usize).div_ceil(8).max(1)]; count];
        let (nr_cores, nr_threads) = (world.cores.len(), world.threads.len());
        let map = &model.map;
        let levels = [Level::Smt, Level::Llc, Level::Numa, Level::Machine];
        let domains: [Vec<Domain>; LEVELS] = std::array::from_fn(|wide| {
            let groups = map.groups(map.machine(), levels[wide], None);
            let inside = |group, narrow: usize| map.groups(group, levels[narrow], None);
            let index = |domain: crate::topology::DomainId| (domain.to_value() & 255) as u32;
            let domain = |group| Domain {
                cores: set(map.cores_of(group)),
                size: map.cores_of(group).iter().count() as u32,
                first: std::array::from_fn(|l| if l > wide { 0 } else { index(inside(group, l)[0]) }),
                count: std::array::from_fn(|l| if l > wide { 0 } else { inside(group, l).len() as u32 }),
            };
            groups.into_iter().map(domain).collect()
        });
        let mut stage = Box::new(Stage {
            instance: Instance::new(&OPS, nr_cores),
            cores: Vec::new(),
            threads: Vec::new(),
            domains,
            affinity: model.affinity.iter().map(|cores| set(*cores)).collect(),
            memory: [
                memory(table.state_size, 1),
                memory(table.core_size, nr_cores),
                memory(table.thread_size, nr_threads),
            ],
            queues: vec![Default::default(); nr_cores],
            ready: world.threads.iter().map(|t| t.state == State::Ready).collect(),
            siblings: (0..nr_cores as u8).map(|core| map.siblings(core)).collect(),
            decisions: Vec::new(),
        });
        stage.store(model, world);
        for (id, t) in (0..).zip(&world.threads) {
            let (affinity, attrs) =
                (&raw const stage.affinity[id], stage.memory[2][id].as_mut_ptr().cast::<c_void>());
            stage.threads.push(Thread {
                tid: id as u32 + 1,
                core: t.core.into(),
                weight: model.weight[id] as u32,
                queue: t.queue.into(),
                runtime: t.runtime,
                running_since: t.since,
                affinity,
                attrs,
                runtime_private: ptr::null_mut(),
            });
        }
        for (id, core) in world.cores.iter().enumerate() {
            for (queue, line) in core.queues.iter().enumerate() {
                stage.queues[id][queue] = line.iter().map(|t| (world.thread(t).key, t)).collect();
            }
            let current = match core.current {
                NO_THREAD => ptr::null_mut(),
                thread => &raw mut stage.threads[usize::from(thread)],
            };
            let attrs = stage.memory[1][id].as_mut_ptr().cast();
            stage.cores.push(Core {
                current,
                nr_ready: core.nr_ready() as u32,
                nr_running: core.nr_running() as u32,
                seen_khz: model.frequency(id as u8) as u32,
                min_khz: MIN_KHZ as u32,
                exit_latency_ns: 0,
                domain: levels.map(|level| (map.domain_of(id as u8, level).to_value() & 255) as u32),
                idle_since: core.idle_since,
                attrs,
            });
        }
        stage.point(world);
        stage
    }

    /// Points the instance to the memory of the stage.
    fn point(&mut self, world: &World) {
        let this: *mut Stage = self;
        let s = &mut self.instance;
        (s.runtime_private, s.state) = (this.cast(), self.memory[0][0].as_mut_ptr().cast());
        s.now = world.now;
        s.online = set((0..world.cores.len() as u8).collect());
        (s.idle, s.claimed) = (set(world.idle), set(world.claimed));
        s.waiting = set(world.waiting());
        s.point_to(&mut self.cores, &mut self.domains);
        self.update_idle_whole();
    }

    fn update_idle_whole(&mut self) {
        let idle = Cores(self.instance.idle.word[0] as u8);
        let whole = |core: &u8| (self.siblings[usize::from(*core)] - idle).is_empty();
        self.instance.idle_whole = set(idle.iter().filter(whole).collect());
    }

    /// Writes the policy's variables to the C structs.
    fn store(&mut self, model: &Model<'_>, world: &World) {
        let policy = model.policy;
        let state = &mut self.memory[0][0];
        state[..model.params.len()]
            .copy_from_slice(&model.params.iter().map(|v| *v as u64).collect::<Vec<u64>>());
        for at in 0..policy.sets.len() {
            state[model.params.len() + at * SET_WORDS] = world.vars[at] as u64;
        }
        self.visit(model, |memory, at, base, var| write(memory, at, base, world.vars[var]));
    }

    /// Visits every attribute: its memory, its offset there, its type, and its index in `World::vars`.
    fn visit(&mut self, model: &Model<'_>, mut visit: impl FnMut(&mut [u64], usize, BaseType, usize)) {
        let policy = model.policy;
        let start = (model.params.len() + policy.sets.len() * SET_WORDS) * 8;
        let mut var = policy.sets.len();
        for (kind, owner) in [(0, Owner::Global), (1, Owner::Core), (2, Owner::Thread)] {
            let attributes = policy.attributes(owner);
            let offsets = offsets(attributes, if kind == 0 { start } else { 0 });
            for memory in &mut self.memory[kind] {
                for (attribute, at) in attributes.iter().zip(&offsets) {
                    visit(memory, *at, attribute.ty.base, var);
                    var += 1;
                }
            }
        }
    }

    /// The current variables, in the order of `World::vars`.
    pub fn vars(&mut self, model: &Model<'_>) -> Vec<i64> {
        let sets = model.policy.sets.len();
        let state = &self.memory[0][0];
        let mut vars: Vec<i64> =
            (0..sets).map(|at| state[model.params.len() + at * SET_WORDS] as i64).collect();
        self.visit(model, |memory, at, base, _| vars.push(read(memory, at, base)));
        vars
    }

    pub fn lines(&self) -> Vec<[Line; MAX_QUEUES]> {
        let line = |queue: &Vec<(i64, u8)>| queue.iter().map(|(_, thread)| *thread).collect();
        self.queues.iter().map(|queues| std::array::from_fn(|q| line(&queues[q]))).collect()
    }

    pub fn thread(&mut self, thread: u8) -> *mut Thread {
        &raw mut self.threads[usize::from(thread)]
    }

    fn update_counts(&mut self, core: usize) {
        let ready: usize = self.queues[core].iter().map(Vec::len).sum();
        let c = &mut self.cores[core];
        c.nr_ready = ready as u32;
        c.nr_running = c.nr_ready + u32::from(!c.current.is_null());
        self.instance.waiting.put(core as u32, ready > 0);
    }

    fn dequeue(&mut self, thread: u8) {
        let core = self.threads[usize::from(thread)].core as usize;
        for queue in &mut self.queues[core] {
            queue.retain(|(_, other)| *other != thread);
        }
        self.update_counts(core);
    }
}

/// # Safety
/// `s` belongs to a stage, and no reference to the stage is used while a handler runs.
unsafe fn stage<'a>(s: *mut Instance) -> &'a mut Stage {
    // SAFETY: `Stage::point` sets it; the caller guarantees the rest.
    unsafe { &mut *(*s).runtime_private.cast::<Stage>() }
}

/// # Safety
/// `t` is one of a stage's threads.
unsafe fn id(t: *mut Thread) -> u8 {
    // SAFETY: the stage's threads live as long as the stage.
    unsafe { (*t).tid as u8 - 1 }
}

extern "C" fn ready(s: *mut Instance, t: *mut Thread, c: u32, queue: u32, key: i64, reason: u32) {
    // SAFETY: the policy passes the instance that it was called with, and a thread of the stage.
    let (stage, thread) = unsafe { (stage(s), id(t)) };
    stage.decisions.push(Decision::Ready { thread, core: c as u8, queue, key, reason });
    if std::mem::replace(&mut stage.ready[usize::from(thread)], true) {
        stage.dequeue(thread);
    }
    let line = &mut stage.queues[c as usize][queue as usize];
    let at = line.iter().take_while(|(other, _)| *other <= key).count();
    line.insert(at, (key, thread));
    (stage.threads[usize::from(thread)].core, stage.threads[usize::from(thread)].queue) = (c, queue);
    stage.update_counts(c as usize);
    stage.instance.claimed.remove(c);
    stage.instance.idle.remove(c);
    stage.update_idle_whole();
}

extern "C" fn run(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    let (stage, thread) = unsafe { (stage(s), id(t)) };
    stage.dequeue(thread);
    stage.decisions.push(Decision::Run(thread));
}

extern "C" fn blocked(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { stage(s).decisions.push(Decision::Blocked(id(t))) }
}

extern "C" fn terminated(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { stage(s).decisions.push(Decision::Terminated(id(t))) }
}

extern "C" fn first(s: *mut Instance, c: u32, queue: u32) -> *mut Thread {
    // SAFETY: as in `ready`.
    let stage = unsafe { stage(s) };
    let first = stage.queues[c as usize][queue as usize].first().map(|(_, thread)| *thread);
    first.map_or(ptr::null_mut(), |thread| stage.thread(thread))
}

extern "C" fn next(s: *mut Instance, t: *mut Thread) -> *mut Thread {
    // SAFETY: as in `ready`.
    let (stage, thread) = unsafe { (stage(s), id(t)) };
    let Thread { core, queue, .. } = stage.threads[usize::from(thread)];
    let (core, queue) = (core as usize, queue as usize);
    let line = &stage.queues[core][queue];
    let at = line.iter().position(|(_, other)| *other == thread).map_or(usize::MAX, |at| at + 1);
    let next = line.get(at).map(|(_, thread)| *thread);
    next.map_or(ptr::null_mut(), |thread| stage.thread(thread))
}

extern "C" fn arm(s: *mut Instance, t: *mut Thread, ns: i64) {
    // SAFETY: as in `ready`.
    unsafe { stage(s).decisions.push(Decision::Arm(id(t), ns)) }
}

extern "C" fn cancel(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { stage(s).decisions.push(Decision::Cancel(id(t))) }
}

extern "C" fn keep_warm(_: *mut Instance, _: u32, _: i64) {}

extern "C" fn preempt(s: *mut Instance, c: u32) {
    // SAFETY: as in `ready`.
    unsafe { stage(s).decisions.push(Decision::Preempt(c as u8)) }
}

extern "C" fn set_changed(_: *mut Instance, _: u32, _: u32, _: bool) {}
