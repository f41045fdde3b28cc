//! The SaaKM runtime of the simulator: the state that a policy sees, and the operations on it.
//!
//! A handler receives a pointer to [`Instance`] and calls the callbacks below. A callback
//! changes the shared state at once, so that the handler sees the change, and records an [`Effect`].
//! After the handler has returned, the engine applies the delays and costs of its effects.
//! Callbacks cannot return errors: the first violation of a rule is recorded and ends the simulation.

use crate::native::Native;
use crate::saakm::{self, Core, Domain, Instance, LEVELS, Set, Thread};
use hearth_machine::Machine;
use std::collections::VecDeque;
use std::ptr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    NotQueued,
    Ready,
    Running,
    Blocked,
    Terminated,
}

/// An effect of a handler. `thread` is an index.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// The thread shall enter this ready queue at the end of the search ([`Runtime::begin_search`]).
    Choose {
        thread: u32,
        core: u32,
        queue: u32,
        key: i64,
        reason: u32,
    },
    /// The thread entered a ready queue of core `to`. It was in state `before` on core `from`.
    Ready {
        thread: u32,
        before: State,
        from: u32,
        to: u32,
        reason: u32,
        was_idle: bool,
    },
    Run {
        thread: u32,
    },
    Arm {
        thread: u32,
        ns: u64,
    },
    Cancel {
        thread: u32,
    },
    KeepWarm {
        core: u32,
        ns: u64,
    },
    Preempt {
        core: u32,
    },
    Set {
        set: u32,
        core: u32,
        member: bool,
    },
}

/// A ready queue of (key, arrival, thread), sorted. All keys of a FIFO are 0.
type ReadyQueue = VecDeque<(i64, u64, u32)>;

pub struct Runtime {
    instance: Instance,
    cores: Vec<Core>,
    threads: Vec<Thread>,
    _domains: [Vec<Domain>; LEVELS],
    _attributes: [Vec<u64>; 3],
    affinities: Vec<Set>,
    /// For each core, the cores of its physical core.
    siblings: Vec<Set>,
    queues: Vec<ReadyQueue>,
    ordered: Vec<bool>,
    /// For each thread, its key and arrival in its ready queue.
    position: Vec<(i64, u64)>,
    arrivals: u64,
    states: Vec<State>,
    effects: Vec<Effect>,
    violation: Option<String>,
    /// The thread that a handler places, if the placement takes effect at the end of the search.
    searching: Option<u32>,
    /// Claimed cores whose placements have not taken effect.
    reserved: Set,
}

/// What a policy and the kernel remember from one run to the next.
pub struct Remembered {
    state: Vec<u64>,
    core_attrs: Vec<u64>,
    /// For each core: the frequency at its last tick, and the start of its last idle period.
    seen: Vec<(u32, i64)>,
}

static OPS: saakm::Ops = saakm::Ops {
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

/// The scheduling attributes of a thread.
pub struct ThreadSpec {
    pub weight: u32,
    /// `None` means all cores.
    pub affinity: Option<Set>,
}

/// Owns a [`Runtime`] behind a raw pointer, because handlers also access it through their instance.
pub struct Handle(*mut Runtime);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw` and is dropped once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Handle {
    /// `params` has the values of all parameters, in the policy's order.
    pub fn new(machine: &Machine, policy: &Native, params: &[i64], specs: &[ThreadSpec]) -> Handle {
        let table = policy.table();
        let topology = &machine.topology;
        let nr_cores = topology.core_count();
        let online: Set = (0..nr_cores as u32).collect();

        let (mut state, _) = attributes(table.state_size, 1);
        let (mut core_attrs, core_words) = attributes(table.core_size, nr_cores);
        let (mut thread_attrs, thread_words) = attributes(table.thread_size, specs.len());
        let init = |handler: saakm::Init, memory: *mut u64| {
            if let Some(handler) = handler {
                // SAFETY: the memory has the size that the policy's table states.
                unsafe { handler(memory.cast()) };
            }
        };
        init(table.init_state, state.as_mut_ptr());
        policy.set_params(&mut state, params);

        let domains = domains(machine);
        let mut cores = Vec::with_capacity(nr_cores);
        for id in 0..nr_cores {
            let attrs = core_attrs[id * core_words..].as_mut_ptr();
            init(table.init_core, attrs);
            cores.push(Core {
                current: ptr::null_mut(),
                nr_ready: 0,
                nr_running: 0,
                seen_khz: machine.frequency.min_khz,
                min_khz: machine.frequency.min_khz,
                exit_latency_ns: 0,
                domain: domain_of(&topology.cores[id]),
                idle_since: 0,
                attrs: attrs.cast(),
            });
        }
        let siblings = (0..nr_cores as u16)
            .map(|c| topology.siblings(c).iter().map(|s| u32::from(*s)).collect())
            .collect();

        // Affinities first, so that their addresses are fixed before a thread points to one.
        let affinities: Vec<Set> =
            std::iter::once(online).chain(specs.iter().filter_map(|s| s.affinity)).collect();
        let mut own_affinity = affinities[1..].iter();
        let mut threads = Vec::with_capacity(specs.len());
        for (idx, spec) in specs.iter().enumerate() {
            let attrs = thread_attrs[idx * thread_words..].as_mut_ptr();
            init(table.init_thread, attrs);
            let affinity = spec.affinity.and_then(|_| own_affinity.next()).unwrap_or(&affinities[0]);
            threads.push(Thread {
                tid: idx as u32 + 1,
                core: 0,
                weight: spec.weight,
                queue: 0,
                runtime: 0,
                running_since: -1,
                affinity,
                attrs: attrs.cast(),
                runtime_private: ptr::null_mut(),
            });
        }

        let ordered: Vec<bool> = policy.queues_ordered().collect();
        let runtime = Box::into_raw(Box::new(Runtime {
            instance: Instance { online, idle: online, idle_whole: online, ..Instance::new(&OPS, nr_cores) },
            queues: vec![ReadyQueue::new(); nr_cores * ordered.len()],
            ordered,
            position: vec![(0, 0); specs.len()],
            arrivals: 0,
            states: vec![State::NotQueued; specs.len()],
            effects: Vec::new(),
            violation: None,
            searching: None,
            reserved: Set::EMPTY,
            cores,
            threads,
            _domains: domains,
            _attributes: [state, core_attrs, thread_attrs],
            affinities,
            siblings,
        }));
        // SAFETY: not shared yet. The vectors are never resized, so pointers into them stay valid.
        let this = unsafe { &mut *runtime };
        this.instance.runtime_private = runtime.cast();
        this.instance.state = this._attributes[0].as_mut_ptr().cast();
        this.instance.point_to(&mut this.cores, &mut this._domains);
        debug_assert!(!this.affinities.is_empty());
        Handle(runtime)
    }

    /// The state, between two handlers.
    pub fn get(&mut self) -> &mut Runtime {
        // SAFETY: no handler runs, because `call` takes `&mut self`, so there is no other reference.
        unsafe { &mut *self.0 }
    }

    /// Calls a handler of the policy.
    pub fn call(&mut self, handler: impl FnOnce(*mut Instance)) {
        // SAFETY: this only takes the address. No reference exists while the handler runs.
        handler(unsafe { &raw mut (*self.0).instance });
    }

    pub fn thread(&self, thread: u32) -> *mut Thread {
        // SAFETY: as in `call`; the vector is never resized.
        unsafe { (*self.0).threads.as_mut_ptr().add(thread as usize) }
    }
}

/// Zeroed memory for `count` records of `size` bytes, 8-aligned, and the size of a record in words.
fn attributes(size: u64, count: usize) -> (Vec<u64>, usize) {
    let words = (size as usize).div_ceil(8);
    (vec![0; words * count], words)
}

impl Runtime {
    pub fn set_now(&mut self, now: u64) {
        self.instance.now = now as i64;
    }

    pub fn core(&mut self, core: u32) -> &mut Core {
        &mut self.cores[core as usize]
    }

    pub fn thread(&mut self, thread: u32) -> &mut Thread {
        &mut self.threads[thread as usize]
    }

    pub fn state(&self, thread: u32) -> State {
        self.states[thread as usize]
    }

    pub fn is_idle(&self, core: u32) -> bool {
        self.instance.idle.contains(core)
    }

    /// Marks the core as idle from now on.
    pub fn set_idle(&mut self, core: u32) {
        self.instance.idle.insert(core);
        self.cores[core as usize].idle_since = self.instance.now;
        let siblings = &self.siblings[core as usize];
        let whole = (0..saakm::SET_WORDS).all(|w| siblings.word[w] & !self.instance.idle.word[w] == 0);
        if whole {
            for w in 0..saakm::SET_WORDS {
                self.instance.idle_whole.word[w] |= siblings.word[w];
            }
        }
    }

    fn clear_idle(&mut self, core: u32) {
        self.instance.idle.remove(core);
        for w in 0..saakm::SET_WORDS {
            self.instance.idle_whole.word[w] &= !self.siblings[core as usize].word[w];
        }
    }

    /// Starts the thread on the core.
    pub fn start(&mut self, thread: u32, core: u32) {
        let now = self.instance.now;
        let t = &mut self.threads[thread as usize];
        t.running_since = now;
        t.core = core;
        let t: *mut Thread = t;
        self.cores[core as usize].current = t;
        self.update_nr_running(core);
    }

    /// Stops the core's current thread.
    pub fn stop(&mut self, core: u32) {
        let now = self.instance.now;
        let current = std::mem::replace(&mut self.cores[core as usize].current, ptr::null_mut());
        self.update_nr_running(core);
        // SAFETY: `current` is null or points into `self.threads`.
        if let Some(t) = unsafe { current.as_mut() } {
            t.runtime += now - t.running_since;
            t.running_since = -1;
        }
    }

    /// Index of the core's current thread.
    pub fn current(&self, core: u32) -> Option<u32> {
        // SAFETY: as in `stop`.
        unsafe { self.cores[core as usize].current.as_ref() }.map(|t| t.tid - 1)
    }

    fn update_nr_running(&mut self, core: u32) {
        let c = &mut self.cores[core as usize];
        c.nr_running = c.nr_ready + u32::from(!c.current.is_null());
    }

    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    pub fn take_effects(&mut self, into: &mut Vec<Effect>) {
        std::mem::swap(&mut self.effects, into);
    }

    /// Releases the claims without a placement, at the end of a handler.
    pub fn end_claims(&mut self) {
        self.instance.claimed = self.reserved;
    }

    /// The handler that is called next places the thread. If it is to be `postponed`, the placement is only an
    /// [`Effect::Choose`], and its core stays idle until [`Runtime::choose`].
    pub fn begin_search(&mut self, thread: u32, postponed: bool) {
        self.searching = postponed.then_some(thread);
        self.instance.looked[..self.cores.len()].fill(0);
    }

    /// Ends the search. Returns the number of other cores that the policy has looked at: those that share the
    /// last-level cache of `here`, and the others.
    pub fn end_search(&mut self, here: u32) -> (u32, u32) {
        self.searching = None;
        self.instance.looked[here as usize] = 0;
        let die_of = |core: &Core| core.domain[saakm::LLC];
        let die = die_of(&self.cores[here as usize]);
        let (mut near, mut all) = (0, 0);
        for (looked, core) in self.instance.looked.iter().zip(&self.cores) {
            all += u32::from(*looked);
            near += u32::from(*looked) * u32::from(die_of(core) == die);
        }
        (near, all - near)
    }

    /// The end of a search that has chosen this ready queue for the thread. Records an [`Effect::Ready`].
    pub fn choose(&mut self, thread: u32, core: u32, queue: u32, key: i64, reason: u32) {
        self.reserved.remove(core);
        self.ready(thread, core, queue, key, reason);
    }

    /// What the next run finds.
    pub fn remember(&self) -> Remembered {
        let [state, core_attrs, _] = &self._attributes;
        Remembered {
            state: state.clone(),
            core_attrs: core_attrs.clone(),
            seen: self.cores.iter().map(|c| (c.seen_khz, c.idle_since)).collect(),
        }
    }

    /// Starts with what an earlier run of the same policy on the same machine left.
    pub fn recall(&mut self, from: &Remembered) {
        let [state, core_attrs, _] = &mut self._attributes;
        state.copy_from_slice(&from.state);
        core_attrs.copy_from_slice(&from.core_attrs);
        for (core, &(seen_khz, idle_since)) in self.cores.iter_mut().zip(&from.seen) {
            (core.seen_khz, core.idle_since) = (seen_khz, idle_since);
        }
    }

    /// The first violation of a SaaKM rule since the last call.
    pub fn take_violation(&mut self) -> Option<String> {
        self.violation.take()
    }

    fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    fn queue_index(&self, core: u32, queue: u32) -> usize {
        core as usize * self.ordered.len() + queue as usize
    }

    fn enqueue(&mut self, thread: u32, core: u32, queue: u32, key: i64) {
        self.arrivals += 1;
        let key = if self.ordered[queue as usize] { key } else { 0 };
        let entry = (key, self.arrivals, thread);
        self.position[thread as usize] = (key, self.arrivals);
        let index = self.queue_index(core, queue);
        let q = &mut self.queues[index];
        let at = q.partition_point(|other| *other < entry);
        q.insert(at, entry);
        let t = &mut self.threads[thread as usize];
        t.core = core;
        t.queue = queue;
        self.cores[core as usize].nr_ready += 1;
        self.update_nr_running(core);
        self.instance.waiting.insert(core);
        self.instance.claimed.remove(core);
        self.clear_idle(core);
    }

    fn find(&self, thread: u32) -> (usize, usize) {
        let t = &self.threads[thread as usize];
        let (key, arrival) = self.position[thread as usize];
        let index = self.queue_index(t.core, t.queue);
        let at = self.queues[index].partition_point(|e| (e.0, e.1) < (key, arrival));
        (index, at)
    }

    fn dequeue(&mut self, thread: u32) {
        let (index, at) = self.find(thread);
        let removed = self.queues[index].remove(at);
        debug_assert_eq!(removed.map(|e| e.2), Some(thread));
        let core = self.threads[thread as usize].core;
        let c = &mut self.cores[core as usize];
        c.nr_ready -= 1;
        if c.nr_ready == 0 {
            self.instance.waiting.remove(core);
        }
        self.update_nr_running(core);
    }

    fn ready(&mut self, thread: u32, core: u32, queue: u32, key: i64, reason: u32) {
        let before = self.states[thread as usize];
        let from = self.threads[thread as usize].core;
        let tid = thread + 1;
        if core >= self.instance.nr_cores {
            return self.violate(format!("it places thread {tid} on core {core}, which does not exist"));
        }
        if queue as usize >= self.ordered.len() {
            return self
                .violate(format!("it places thread {tid} in ready queue {queue}, which does not exist"));
        }
        // SAFETY: points into `affinities`, which never changes.
        if !unsafe { &*self.threads[thread as usize].affinity }.contains(core) {
            return self.violate(format!(
                "it places thread {tid} on core {core}, which the affinity of the thread excludes"
            ));
        }
        if before == State::Terminated {
            return self.violate(format!("it makes thread {tid} ready, which has exited"));
        }
        if before == State::Running && self.threads[thread as usize].running_since >= 0 {
            return self.violate(format!("it makes thread {tid} ready while it runs on core {from}"));
        }
        if self.searching == Some(thread) {
            if self.instance.claimed.contains(core) {
                self.reserved.insert(core);
            }
            return self.effects.push(Effect::Choose { thread, core, queue, key, reason });
        }
        if before == State::Ready {
            self.dequeue(thread);
        }
        let was_idle = self.is_idle(core);
        self.states[thread as usize] = State::Ready;
        self.enqueue(thread, core, queue, key);
        self.effects.push(Effect::Ready { thread, before, from, to: core, reason, was_idle });
    }

    fn stop_running(&mut self, thread: u32, state: State, verb: &str) {
        if self.states[thread as usize] == State::Running {
            self.states[thread as usize] = state;
        } else {
            let now = self.states[thread as usize];
            self.violate(format!("it {verb} thread {}, which is {now:?}, not running", thread + 1));
        }
    }

    fn run(&mut self, thread: u32) {
        if self.states[thread as usize] != State::Ready {
            let now = self.states[thread as usize];
            return self.violate(format!("it runs thread {}, which is {now:?}, not ready", thread + 1));
        }
        self.dequeue(thread);
        self.states[thread as usize] = State::Running;
        self.effects.push(Effect::Run { thread });
    }

    /// Checks the consistency of the state that the policy sees: each thread is in one place, and counts and sets
    /// match the queues. Takes time linear in cores and threads.
    pub fn check(&self) -> Result<(), String> {
        let mut seen = vec![0u32; self.threads.len()];
        let nq = self.ordered.len();
        for (id, c) in self.cores.iter().enumerate() {
            let queued: usize = self.queues[id * nq..(id + 1) * nq].iter().map(VecDeque::len).sum();
            if queued != c.nr_ready as usize {
                return Err(format!("core {id}: nr_ready is {}, but {queued} are queued", c.nr_ready));
            }
            if self.instance.waiting.contains(id as u32) != (queued > 0) {
                return Err(format!("core {id}: its membership in `waiting` is wrong"));
            }
            if self.is_idle(id as u32) && (queued > 0 || !c.current.is_null()) {
                return Err(format!("core {id}: in `idle`, but has a thread"));
            }
            let whole = self.siblings[id].word.iter().zip(&self.instance.idle.word).all(|(s, i)| s & !i == 0);
            if self.instance.idle_whole.contains(id as u32) != whole {
                return Err(format!("core {id}: its membership in `idle_whole` is wrong"));
            }
            for entry in self.queues[id * nq..(id + 1) * nq].iter().flatten() {
                seen[entry.2 as usize] += 1;
                if self.threads[entry.2 as usize].core != id as u32 {
                    return Err(format!(
                        "thread {}: queued on core {id}, but its core field differs",
                        entry.2 + 1
                    ));
                }
            }
            if let Some(current) = self.current(id as u32) {
                seen[current as usize] += 1;
                if self.states[current as usize] != State::Running {
                    return Err(format!("thread {}: current of core {id}, but not running", current + 1));
                }
            }
        }
        for (idx, state) in self.states.iter().enumerate() {
            let expected = u32::from(matches!(state, State::Ready | State::Running));
            if seen[idx] != expected {
                return Err(format!("thread {}: {state:?}, but on {} cores", idx + 1, seen[idx]));
            }
        }
        Ok(())
    }
}

/// The domains of a core, by level: physical core, LLC, NUMA node, machine.
fn domain_of(core: &hearth_machine::Core) -> [u32; LEVELS] {
    [u32::from(core.physical), u32::from(core.llc), u32::from(core.numa), 0]
}

/// The domains of each level. Topologies number the domains inside a wider one without gaps.
fn domains(machine: &Machine) -> [Vec<Domain>; LEVELS] {
    let topology = &machine.topology;
    let counts = [topology.physical_count(), topology.llc_count(), topology.numa_count(), 1];
    let blank = Domain { cores: Set::EMPTY, size: 0, first: [u32::MAX; LEVELS], count: [0; LEVELS] };
    let mut levels = counts.map(|count| vec![blank; count]);
    for core in &topology.cores {
        let of = domain_of(core);
        for wide in 0..LEVELS {
            let domain = &mut levels[wide][of[wide] as usize];
            domain.cores.insert(u32::from(core.id));
            domain.size += 1;
            for (narrow, inside) in of.iter().enumerate().take(wide + 1) {
                // Until all cores are processed, `count` holds the largest index.
                domain.first[narrow] = domain.first[narrow].min(*inside);
                domain.count[narrow] = domain.count[narrow].max(*inside);
            }
        }
    }
    for (wide, domains) in levels.iter_mut().enumerate() {
        for domain in domains {
            for narrow in 0..=wide {
                domain.count[narrow] = domain.count[narrow] + 1 - domain.first[narrow];
            }
            debug_assert_eq!(
                domain.size,
                domain.cores.word.iter().map(|word| word.count_ones()).sum::<u32>()
            );
        }
    }
    levels
}

/// The runtime of an instance.
///
/// # Safety
/// `s` is the pointer that the engine passed to the running handler.
unsafe fn runtime_of<'a>(s: *mut Instance) -> &'a mut Runtime {
    // SAFETY: `Handle::new` sets it. The engine holds no reference while a handler runs.
    unsafe { &mut *(*s).runtime_private.cast::<Runtime>() }
}

/// The index of a thread.
///
/// # Safety
/// The runtime gave `t` to the policy.
unsafe fn index(t: *mut Thread) -> u32 {
    // SAFETY: the runtime's threads live as long as the runtime.
    unsafe { (*t).tid - 1 }
}

extern "C" fn ready(s: *mut Instance, t: *mut Thread, c: u32, queue: u32, key: i64, reason: u32) {
    // SAFETY: the policy passes the instance that it was called with, and a thread that the runtime gave it.
    unsafe { runtime_of(s).ready(index(t), c, queue, key, reason) }
}

extern "C" fn run(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s).run(index(t)) }
}

extern "C" fn blocked(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s).stop_running(index(t), State::Blocked, "blocks") }
}

extern "C" fn terminated(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s).stop_running(index(t), State::Terminated, "terminates") }
}

extern "C" fn first(s: *mut Instance, c: u32, queue: u32) -> *mut Thread {
    // SAFETY: as in `ready`.
    let rt = unsafe { runtime_of(s) };
    match rt.queues[rt.queue_index(c, queue)].front() {
        Some(entry) => &raw mut rt.threads[entry.2 as usize],
        None => ptr::null_mut(),
    }
}

extern "C" fn next(s: *mut Instance, t: *mut Thread) -> *mut Thread {
    // SAFETY: as in `ready`.
    let (rt, thread) = unsafe { (runtime_of(s), index(t)) };
    let (index, at) = rt.find(thread);
    match rt.queues[index].get(at + 1) {
        Some(entry) => &raw mut rt.threads[entry.2 as usize],
        None => ptr::null_mut(),
    }
}

extern "C" fn arm(s: *mut Instance, t: *mut Thread, ns: i64) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s).effects.push(Effect::Arm { thread: index(t), ns: ns.max(0) as u64 }) }
}

extern "C" fn cancel(s: *mut Instance, t: *mut Thread) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s).effects.push(Effect::Cancel { thread: index(t) }) }
}

extern "C" fn keep_warm(s: *mut Instance, core: u32, ns: i64) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s) }.effects.push(Effect::KeepWarm { core, ns: ns.max(0) as u64 });
}

extern "C" fn preempt(s: *mut Instance, core: u32) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s) }.effects.push(Effect::Preempt { core });
}

extern "C" fn set_changed(s: *mut Instance, set: u32, core: u32, member: bool) {
    // SAFETY: as in `ready`.
    unsafe { runtime_of(s) }.effects.push(Effect::Set { set, core, member });
}
