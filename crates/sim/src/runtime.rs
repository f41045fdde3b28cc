//! The SaaKM runtime of the simulator: the state that a policy sees, and the operations on it.
//!
//! A decision of a handler changes the shared state at once, so that the handler sees the change, and records an [`Effect`].
//! After the handler has returned, the engine applies the delays and costs of its effects.
//! Decisions cannot return errors: the first violation of a rule is recorded and ends the simulation.

use crate::native::Native;
use crate::saakm::{CoreFacts, Decision, Domain, Host, LEVELS, LLC, Memory, Runtime, SMT, Set};
use hearth_machine::Machine;
use std::collections::VecDeque;

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

/// What the policy does not see.
pub struct Simulated {
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
    /// For each core: the start of its last idle period.
    idle_since: Vec<i64>,
}

/// The scheduling attributes of a thread.
pub struct ThreadSpec {
    pub weight: u32,
    /// `None` means all cores.
    pub affinity: Option<Set>,
}

impl<'a> Host<'a, Simulated> {
    /// `params` has the values of all parameters, in the policy's order.
    pub fn new(machine: &Machine, policy: &'a Native, params: &[i64], specs: &[ThreadSpec]) -> Self {
        let topology = &machine.topology;
        let nr_cores = topology.core_count();
        let online: Set = (0..nr_cores as u32).collect();
        // Without cpufreq, the kernel knows no frequencies.
        let min_khz = if machine.has_governor() { machine.frequency.min_khz } else { 0 };
        let facts = |core| CoreFacts { min_khz, capacity: machine.capacity(core).into() };
        let facts: Vec<CoreFacts> = (0..nr_cores as u16).map(facts).collect();
        let mut memory = Memory::new(policy, params, &facts, domains(machine));
        let instance = &mut memory.instance;
        (instance.online, instance.idle, instance.idle_whole) = (online, online, online);
        memory.reserve_threads(specs.len());
        for (spec, tid) in specs.iter().zip(1..) {
            memory.add_thread(tid, spec.weight, spec.affinity.unwrap_or(online));
        }
        let ordered: Vec<bool> = policy.queues_ordered().collect();
        let runtime = Simulated {
            queues: vec![ReadyQueue::new(); nr_cores * ordered.len()],
            ordered,
            position: vec![(0, 0); specs.len()],
            arrivals: 0,
            states: vec![State::NotQueued; specs.len()],
            effects: Vec::new(),
            violation: None,
            searching: None,
            reserved: Set::EMPTY,
        };
        Host { memory, runtime }
    }

    pub fn set_now(&mut self, now: u64) {
        self.memory.instance.now = now as i64;
    }

    pub fn state(&self, thread: u32) -> State {
        self.runtime.states[thread as usize]
    }

    pub fn is_idle(&self, core: u32) -> bool {
        self.memory.instance.idle.contains(core)
    }

    /// Marks the core as idle from now on.
    pub fn set_idle(&mut self, core: u32) {
        self.memory.set_idle(core);
        self.memory.core_mut(core).idle_since = self.memory.instance.now;
    }

    /// Starts the thread on the core.
    pub fn start(&mut self, thread: u32, core: u32) {
        let now = self.memory.instance.now;
        let t = self.memory.thread_mut(thread);
        t.running_since = now;
        t.core = core;
        self.memory.set_current(core, Some(thread));
    }

    /// Stops the core's current thread.
    pub fn stop(&mut self, core: u32) {
        let now = self.memory.instance.now;
        if let Some(current) = self.memory.current(core) {
            let t = self.memory.thread_mut(current);
            t.runtime += now - t.running_since;
            t.running_since = -1;
        }
        self.memory.set_current(core, None);
    }

    pub fn has_effects(&self) -> bool {
        !self.runtime.effects.is_empty()
    }

    pub fn take_effects(&mut self, into: &mut Vec<Effect>) {
        std::mem::swap(&mut self.runtime.effects, into);
    }

    /// Releases the claims without a placement, at the end of a handler.
    pub fn end_claims(&mut self) {
        self.memory.instance.claimed = self.runtime.reserved;
    }

    /// The handler that is called next places the thread. If it is to be `postponed`, the placement is only an
    /// `Effect::Choose`, and its core stays idle until `Runtime::choose`.
    pub fn begin_search(&mut self, thread: u32, postponed: bool) {
        self.runtime.searching = postponed.then_some(thread);
        let nr_cores = self.memory.nr_cores() as usize;
        self.memory.instance.looked[..nr_cores].fill(0);
    }

    /// Ends the search. Returns the number of other cores that the policy has looked at: those that share the
    /// last-level cache of `here`, and the others.
    pub fn end_search(&mut self, here: u32) -> (u32, u32) {
        self.runtime.searching = None;
        let memory = &mut self.memory;
        memory.instance.looked[here as usize] = 0;
        let die_of = |core: u32| memory.core(core).domain[LLC];
        let die = die_of(here);
        let (mut near, mut all) = (0, 0);
        for (looked, core) in memory.instance.looked.iter().zip(0..memory.nr_cores()) {
            all += u32::from(*looked);
            near += u32::from(*looked) * u32::from(die_of(core) == die);
        }
        (near, all - near)
    }

    /// The end of a search that has chosen this ready queue for the thread. Records an `Effect::Ready`.
    pub fn choose(&mut self, thread: u32, core: u32, queue: u32, key: i64, reason: u32) {
        self.runtime.reserved.remove(core);
        self.runtime.ready(&mut self.memory, thread, core, queue, key, reason);
    }

    /// What the next run finds.
    pub fn remember(&self) -> Remembered {
        let memory = &self.memory;
        Remembered {
            state: memory.state().to_vec(),
            core_attrs: memory.core_attrs().to_vec(),
            idle_since: (0..memory.nr_cores()).map(|core| memory.core(core).idle_since).collect(),
        }
    }

    /// Starts with what an earlier run of the same policy on the same machine left.
    pub fn recall(&mut self, from: &Remembered) {
        self.memory.state_mut().copy_from_slice(&from.state);
        self.memory.core_attrs_mut().copy_from_slice(&from.core_attrs);
        for (&idle_since, core) in from.idle_since.iter().zip(0..) {
            self.memory.core_mut(core).idle_since = idle_since;
        }
    }

    /// The first violation of a SaaKM rule since the last call.
    pub fn take_violation(&mut self) -> Option<String> {
        self.runtime.violation.take()
    }

    /// Checks the consistency of the state that the policy sees: each thread is in one place, and counts and sets
    /// match the queues. Takes time linear in cores and threads.
    pub fn check(&self) -> Result<(), String> {
        let mut seen = vec![0u32; self.runtime.states.len()];
        for core in 0..self.memory.nr_cores() {
            self.check_core(core, &mut seen).map_err(|what| format!("core {core}: {what}"))?;
        }
        for (idx, state) in self.runtime.states.iter().enumerate() {
            let expected = u32::from(matches!(state, State::Ready | State::Running));
            if seen[idx] != expected {
                return Err(format!("thread {}: {state:?}, but on {} cores", idx + 1, seen[idx]));
            }
        }
        Ok(())
    }

    /// Checks one core, and counts in `seen` how often each thread is on it.
    fn check_core(&self, core: u32, seen: &mut [u32]) -> Result<(), String> {
        let Host { memory, runtime } = self;
        let first = runtime.queue_index(core, 0);
        let queues = &runtime.queues[first..first + runtime.ordered.len()];
        let queued: usize = queues.iter().map(VecDeque::len).sum();
        let (nr_ready, current) = (memory.core(core).nr_ready, memory.current(core));
        if queued != nr_ready as usize {
            return Err(format!("nr_ready is {nr_ready}, but {queued} are queued"));
        }
        if memory.instance.waiting.contains(core) != (queued > 0) {
            return Err("its membership in `waiting` is wrong".into());
        }
        if self.is_idle(core) && (queued > 0 || current.is_some()) {
            return Err("in `idle`, but has a thread".into());
        }
        let whole = memory.instance.idle.contains_all(memory.domain(core, SMT));
        if memory.instance.idle_whole.contains(core) != whole {
            return Err("its membership in `idle_whole` is wrong".into());
        }
        for &(_, _, thread) in queues.iter().flatten() {
            seen[thread as usize] += 1;
            if memory.thread(thread).core != core {
                return Err(format!("thread {} is queued, but its core field differs", thread + 1));
            }
        }
        if let Some(current) = current {
            seen[current as usize] += 1;
            if runtime.states[current as usize] != State::Running {
                return Err(format!("thread {} is current, but not running", current + 1));
            }
        }
        Ok(())
    }
}

impl Simulated {
    fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    fn queue_index(&self, core: u32, queue: u32) -> usize {
        core as usize * self.ordered.len() + queue as usize
    }

    fn enqueue(&mut self, memory: &mut Memory<'_>, thread: u32, core: u32, queue: u32, key: i64) {
        self.arrivals += 1;
        let key = if self.ordered[queue as usize] { key } else { 0 };
        let entry = (key, self.arrivals, thread);
        self.position[thread as usize] = (key, self.arrivals);
        let index = self.queue_index(core, queue);
        let q = &mut self.queues[index];
        let at = q.partition_point(|other| *other < entry);
        q.insert(at, entry);
        let t = memory.thread_mut(thread);
        t.core = core;
        t.queue = queue;
        memory.set_nr_ready(core, memory.core(core).nr_ready + 1);
        memory.instance.waiting.insert(core);
        memory.instance.claimed.remove(core);
        memory.clear_idle(core);
    }

    /// The thread's ready queue, and its place there.
    fn find(&self, memory: &Memory<'_>, thread: u32) -> (usize, usize) {
        let t = memory.thread(thread);
        let (key, arrival) = self.position[thread as usize];
        let index = self.queue_index(t.core, t.queue);
        let at = self.queues[index].partition_point(|e| (e.0, e.1) < (key, arrival));
        (index, at)
    }

    fn dequeue(&mut self, memory: &mut Memory<'_>, thread: u32) {
        let (index, at) = self.find(memory, thread);
        let removed = self.queues[index].remove(at);
        debug_assert_eq!(removed.map(|e| e.2), Some(thread));
        let core = memory.thread(thread).core;
        let nr_ready = memory.core(core).nr_ready - 1;
        memory.set_nr_ready(core, nr_ready);
        if nr_ready == 0 {
            memory.instance.waiting.remove(core);
        }
    }

    /// The first rule that a transition to ready violates.
    fn check_ready(&self, memory: &Memory<'_>, thread: u32, core: u32, queue: u32) -> Result<(), String> {
        let (before, tid) = (self.states[thread as usize], thread + 1);
        let t = memory.thread(thread);
        if core >= memory.nr_cores() {
            return Err(format!("it places thread {tid} on core {core}, which does not exist"));
        }
        if queue as usize >= self.ordered.len() {
            return Err(format!("it places thread {tid} in ready queue {queue}, which does not exist"));
        }
        if !memory.affinity(thread).contains(core) {
            return Err(format!(
                "it places thread {tid} on core {core}, which the affinity of the thread excludes"
            ));
        }
        if before == State::Terminated {
            return Err(format!("it makes thread {tid} ready, which has exited"));
        }
        if before == State::Running && t.running_since >= 0 {
            return Err(format!("it makes thread {tid} ready while it runs on core {}", t.core));
        }
        Ok(())
    }

    fn ready(&mut self, memory: &mut Memory<'_>, thread: u32, core: u32, queue: u32, key: i64, reason: u32) {
        if let Err(what) = self.check_ready(memory, thread, core, queue) {
            return self.violate(what);
        }
        if self.searching == Some(thread) {
            if memory.instance.claimed.contains(core) {
                self.reserved.insert(core);
            }
            return self.effects.push(Effect::Choose { thread, core, queue, key, reason });
        }
        let from = memory.thread(thread).core;
        let was_idle = memory.instance.idle.contains(core);
        let before = std::mem::replace(&mut self.states[thread as usize], State::Ready);
        if before == State::Ready {
            self.dequeue(memory, thread);
        }
        self.enqueue(memory, thread, core, queue, key);
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

    fn run(&mut self, memory: &mut Memory<'_>, thread: u32) {
        if self.states[thread as usize] != State::Ready {
            let now = self.states[thread as usize];
            return self.violate(format!("it runs thread {}, which is {now:?}, not ready", thread + 1));
        }
        self.dequeue(memory, thread);
        self.states[thread as usize] = State::Running;
        self.effects.push(Effect::Run { thread });
    }
}

impl Runtime for Simulated {
    // Inlined, because operations know their decision.
    #[inline(always)]
    fn decide(&mut self, memory: &mut Memory<'_>, decision: Decision) {
        match decision {
            Decision::Ready { thread, core, queue, key, reason } => {
                self.ready(memory, thread, core, queue, key, reason);
            }
            Decision::Run { thread } => self.run(memory, thread),
            Decision::Blocked { thread } => self.stop_running(thread, State::Blocked, "blocks"),
            Decision::Terminated { thread } => self.stop_running(thread, State::Terminated, "terminates"),
            Decision::Arm { thread, ns } => self.effects.push(Effect::Arm { thread, ns: ns.max(0) as u64 }),
            Decision::Cancel { thread } => self.effects.push(Effect::Cancel { thread }),
            Decision::KeepWarm { core, ns } => {
                self.effects.push(Effect::KeepWarm { core, ns: ns.max(0) as u64 })
            }
            Decision::Preempt { core } => self.effects.push(Effect::Preempt { core }),
            Decision::Set { set, core, member } => self.effects.push(Effect::Set { set, core, member }),
        }
    }

    fn first(&mut self, _: &mut Memory<'_>, core: u32, queue: u32) -> Option<u32> {
        self.queues[self.queue_index(core, queue)].front().map(|entry| entry.2)
    }

    fn next(&mut self, memory: &mut Memory<'_>, thread: u32) -> Option<u32> {
        let (index, at) = self.find(memory, thread);
        self.queues[index].get(at + 1).map(|entry| entry.2)
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
