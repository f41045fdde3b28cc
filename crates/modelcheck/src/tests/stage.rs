//! Runs a policy's native build on a state: the memory that its C code reads, and the operations that it calls.

use hearth_ipanema::ir::{Attribute, BaseType, Level, Owner};
use hearth_sim::Native;
use hearth_sim::saakm::{CoreFacts, Decision, Domain, Host, LEVELS, Memory, Runtime, SET_WORDS, Set};

use crate::cores::Cores;
use crate::model::{EXIT_LATENCY_NS, MIN_KHZ, Model, capacity};
use crate::world::{Line, MAX_QUEUES, Mode, NO_THREAD, State, World};

/// The runtime of a native build.
pub struct Stage {
    queues: Vec<[Vec<(i64, u32)>; MAX_QUEUES]>,
    ready: Vec<bool>,
    pub decisions: Vec<Decision>,
}

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

/// The state as the native build sees it before a handler.
pub fn stage<'a>(model: &Model<'_>, policy: &'a Native, world: &World) -> Host<'a, Stage> {
    let facts = |core| CoreFacts { min_khz: MIN_KHZ as u32, capacity: capacity(core) as u32 };
    let facts: Vec<CoreFacts> = (0..world.cores.len() as u8).map(facts).collect();
    let mut memory = Memory::new(policy, &model.params, &facts, domains(model));
    let s = &mut memory.instance;
    s.now = world.now;
    s.online = set((0..world.cores.len() as u8).collect());
    (s.claimed, s.waiting) = (set(world.claimed), set(world.waiting()));
    set(world.idle).iter().for_each(|core| memory.set_idle(core));
    for (id, t) in (0..).zip(&world.threads) {
        let thread = memory.add_thread(id as u32 + 1, model.weight[id] as u32, set(model.affinity[id]));
        let thread = memory.thread_mut(thread);
        (thread.core, thread.queue) = (t.core.into(), t.queue.into());
        (thread.runtime, thread.running_since) = (t.runtime, t.since);
    }
    for (id, core) in (0..).zip(&world.cores) {
        memory.set_nr_ready(id, core.nr_ready() as u32);
        memory.set_current(id, (core.current != NO_THREAD).then(|| core.current.into()));
        let c = memory.core_mut(id);
        (c.seen_khz, c.idle_since) = (model.frequency(id as u8) as u32, core.idle_since);
        c.exit_latency_ns = if core.mode == Mode::Idle { EXIT_LATENCY_NS as u32 } else { 0 };
    }
    store(&mut memory, model, world);
    let line = |line: &Line| line.iter().map(|t| (world.thread(t).key, t.into())).collect();
    let runtime = Stage {
        queues: world.cores.iter().map(|core| core.queues.each_ref().map(line)).collect(),
        ready: world.threads.iter().map(|t| t.state == State::Ready).collect(),
        decisions: Vec::new(),
    };
    Host { memory, runtime }
}

fn domains(model: &Model<'_>) -> [Vec<Domain>; LEVELS] {
    let map = &model.map;
    let levels = [Level::Smt, Level::Llc, Level::Numa, Level::Machine];
    std::array::from_fn(|wide| {
        let inside = |group, narrow: usize| map.groups(group, levels[narrow], None);
        let index = |domain: crate::topology::DomainId| (domain.to_value() & 255) as u32;
        let domain = |group| Domain {
            cores: set(map.cores_of(group)),
            size: map.cores_of(group).iter().count() as u32,
            first: std::array::from_fn(|l| if l > wide { 0 } else { index(inside(group, l)[0]) }),
            count: std::array::from_fn(|l| if l > wide { 0 } else { inside(group, l).len() as u32 }),
        };
        map.groups(map.machine(), levels[wide], None).into_iter().map(domain).collect()
    })
}

/// The word of the state at which its sets start: they are not in a cache line of parameters.
fn first_set(model: &Model<'_>) -> usize {
    let params = model.params.len();
    if model.policy.sets.is_empty() { params } else { params.next_multiple_of(8) }
}

/// Writes the policy's variables to the C structs.
fn store(memory: &mut Memory<'_>, model: &Model<'_>, world: &World) {
    for at in 0..model.policy.sets.len() {
        memory.state_mut()[first_set(model) + at * SET_WORDS] = world.vars[at] as u64;
    }
    visit(memory, model, |memory, at, base, var| write(memory, at, base, world.vars[var]));
}

/// Visits every attribute: its memory, its offset there, its type, and its index in `World::vars`.
fn visit(
    memory: &mut Memory<'_>,
    model: &Model<'_>,
    mut visit: impl FnMut(&mut [u64], usize, BaseType, usize),
) {
    let policy = model.policy;
    let start = (first_set(model) + policy.sets.len() * SET_WORDS) * 8;
    let mut var = policy.sets.len();
    let mut visit_all = |memory: &mut [u64], owner, start| {
        let attributes = policy.attributes(owner);
        for (attribute, at) in attributes.iter().zip(offsets(attributes, start)) {
            visit(memory, at, attribute.ty.base, var);
            var += 1;
        }
    };
    visit_all(memory.state_mut(), Owner::Global, start);
    let words = memory.core_words();
    for core in 0..memory.nr_cores() as usize {
        visit_all(&mut memory.core_attrs_mut()[words * core..][..words], Owner::Core, 0);
    }
    for thread in 0..memory.nr_threads() {
        visit_all(memory.thread_attrs_mut(thread), Owner::Thread, 0);
    }
}

/// The current variables, in the order of `World::vars`.
pub fn vars(memory: &mut Memory<'_>, model: &Model<'_>) -> Vec<i64> {
    let sets = model.policy.sets.len();
    let start = first_set(model);
    let mut vars: Vec<i64> = (0..sets).map(|at| memory.state()[start + at * SET_WORDS] as i64).collect();
    visit(memory, model, |memory, at, base, _| vars.push(read(memory, at, base)));
    vars
}

impl Stage {
    pub fn lines(&self) -> Vec<[Line; MAX_QUEUES]> {
        let line = |queue: &Vec<(i64, u32)>| queue.iter().map(|(_, thread)| *thread as u8).collect();
        self.queues.iter().map(|queues| queues.each_ref().map(line)).collect()
    }

    fn ready(&mut self, memory: &mut Memory<'_>, thread: u32, core: u32, queue: u32, key: i64) {
        if std::mem::replace(&mut self.ready[thread as usize], true) {
            self.dequeue(memory, thread);
        }
        let line = &mut self.queues[core as usize][queue as usize];
        let at = line.iter().take_while(|(other, _)| *other <= key).count();
        line.insert(at, (key, thread));
        let t = memory.thread_mut(thread);
        (t.core, t.queue) = (core, queue);
        self.update_counts(memory, core);
        memory.instance.claimed.remove(core);
        memory.clear_idle(core);
    }

    fn dequeue(&mut self, memory: &mut Memory<'_>, thread: u32) {
        let core = memory.thread(thread).core;
        for queue in &mut self.queues[core as usize] {
            queue.retain(|(_, other)| *other != thread);
        }
        self.update_counts(memory, core);
    }

    fn update_counts(&self, memory: &mut Memory<'_>, core: u32) {
        let ready: usize = self.queues[core as usize].iter().map(Vec::len).sum();
        memory.set_nr_ready(core, ready as u32);
        memory.instance.waiting.put(core, ready > 0);
    }
}

impl Runtime for Stage {
    fn decide(&mut self, memory: &mut Memory<'_>, decision: Decision) {
        match decision {
            Decision::Ready { thread, core, queue, key, .. } => self.ready(memory, thread, core, queue, key),
            Decision::Run { thread } => self.dequeue(memory, thread),
            Decision::KeepWarm { .. } | Decision::Set { .. } => return,
            _ => {}
        }
        self.decisions.push(decision);
    }

    fn first(&mut self, _: &mut Memory<'_>, core: u32, queue: u32) -> Option<u32> {
        self.queues[core as usize][queue as usize].first().map(|(_, thread)| *thread)
    }

    fn next(&mut self, memory: &mut Memory<'_>, thread: u32) -> Option<u32> {
        let t = memory.thread(thread);
        let line = &self.queues[t.core as usize][t.queue as usize];
        let at = line.iter().position(|(_, other)| *other == thread)?;
        line.get(at + 1).map(|(_, thread)| *thread)
    }
}
