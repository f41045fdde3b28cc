//! The memory that a policy's handlers share with their runtime.

use super::{Core, Domain, Init, Instance, LEVELS, PolicyTable, SMT, Set, Thread};
use crate::native::Native;
use hearth_machine::FULL_CAPACITY;
use std::ptr;

/// What the handlers of one policy see: cores, threads, topology domains, and the policy's own state.
///
/// Handlers do not check it. A thread's core and a member of a set must be below the number of cores, and an affinity must
/// not be empty.
pub struct Memory<'a> {
    pub(super) table: &'a PolicyTable,
    pub instance: Instance,
    cores: Vec<Core>,
    threads: Vec<Slot>,
    domains: [Vec<Domain>; LEVELS],
    state: Vec<u64>,
    core_attrs: Vec<u64>,
    /// For the capacity of `threads`.
    thread_attrs: Vec<u64>,
}

/// A thread, and the affinity that it points to.
struct Slot {
    thread: Thread,
    affinity: Set,
}

/// What a policy sees of a core that never changes.
#[derive(Clone, Copy, Debug)]
pub struct CoreFacts {
    /// Its lowest frequency in kHz; 0: unknown.
    pub min_khz: u32,
    /// Speed at its highest frequency relative to the fastest core, 1 to 1024.
    pub capacity: u32,
}

impl Default for CoreFacts {
    /// Of a core of which nothing is known.
    fn default() -> Self {
        CoreFacts { min_khz: 0, capacity: FULL_CAPACITY.into() }
    }
}

/// Number of words of a record of `size` bytes.
fn words(size: u64) -> usize {
    (size as usize).div_ceil(8)
}

/// # Safety
/// `memory` must have the size that the policy's table states for `init`.
unsafe fn initialise(init: Init, memory: *mut u64) {
    if let Some(init) = init {
        // SAFETY: promised by the caller.
        unsafe { init(memory.cast()) };
    }
}

impl<'a> Memory<'a> {
    /// The memory before the first event, without threads. `params` has the values of all parameters, in the policy's
    /// order, and `facts` those of each core.
    pub fn new(
        policy: &'a Native,
        params: &[i64],
        facts: &[CoreFacts],
        mut domains: [Vec<Domain>; LEVELS],
    ) -> Memory<'a> {
        let table = policy.table();
        let core_words = words(table.core_size);
        let mut state = vec![0; words(table.state_size)];
        let mut core_attrs = vec![0; core_words * facts.len()];
        // SAFETY: the state has the size that the table states.
        unsafe { initialise(table.init_state, state.as_mut_ptr()) };
        policy.set_params(&mut state, params);
        let core = |(id, facts): (usize, &CoreFacts)| {
            // SAFETY: `core_attrs` has this number of words for each core.
            let attrs = unsafe { core_attrs.as_mut_ptr().add(core_words * id) };
            // SAFETY: as above.
            unsafe { initialise(table.init_core, attrs) };
            Core {
                current: ptr::null_mut(),
                nr_ready: 0,
                nr_running: 0,
                seen_khz: facts.min_khz,
                min_khz: facts.min_khz,
                capacity: facts.capacity,
                exit_latency_ns: 0,
                domain: [0; LEVELS],
                idle_since: 0,
                attrs: attrs.cast(),
            }
        };
        let mut cores: Vec<Core> = facts.iter().enumerate().map(core).collect();
        for (level, domains) in domains.iter().enumerate() {
            for (domain, index) in domains.iter().zip(0..) {
                domain.cores.iter().for_each(|core| cores[core as usize].domain[level] = index);
            }
        }
        let instance = Instance {
            ops: ptr::null(),
            runtime_private: ptr::null_mut(),
            state: state.as_mut_ptr().cast(),
            facts: 0,
            now: 0,
            nr_cores: cores.len() as u32,
            nr_words: cores.len().div_ceil(64) as u32,
            cores: cores.as_mut_ptr(),
            domains: domains.each_mut().map(|domains| domains.as_mut_ptr()),
            nr_domains: domains.each_ref().map(|domains| domains.len() as u32),
            online: Set::EMPTY,
            idle: Set::EMPTY,
            idle_whole: Set::EMPTY,
            waiting: Set::EMPTY,
            claimed: Set::EMPTY,
            looked: [0; super::MAX_CORES],
        };
        let (threads, thread_attrs) = (Vec::new(), Vec::new());
        Memory { table, instance, cores, threads, domains, state, core_attrs, thread_attrs }
    }

    /// Adds a thread that has not run. Returns its index.
    pub fn add_thread(&mut self, tid: u32, weight: u32, affinity: Set) -> u32 {
        if self.threads.len() == self.threads.capacity() {
            self.reserve_threads(1);
        }
        let index = self.threads.len() as u32;
        let thread = Thread {
            tid,
            core: 0,
            weight,
            queue: 0,
            runtime: 0,
            running_since: -1,
            affinity: ptr::null(),
            attrs: ptr::null_mut(),
            runtime_private: ptr::without_provenance_mut(index as usize),
        };
        self.threads.push(Slot { thread, affinity });
        self.renew_pointers(index);
        // SAFETY: `thread_attrs` has the size that the table states for each thread.
        unsafe { initialise(self.table.init_thread, self.thread(index).attrs.cast()) };
        index
    }

    /// Makes room for `additional` threads. Moves all threads, so that no handler may be running.
    pub fn reserve_threads(&mut self, additional: usize) {
        assert!(self.instance.runtime_private.is_null(), "a handler creates threads");
        let current: Vec<_> = (0..self.nr_cores()).map(|core| self.current(core)).collect();
        self.threads.reserve(additional);
        self.thread_attrs.resize(self.threads.capacity() * self.thread_words(), 0);
        (0..self.nr_threads()).for_each(|thread| self.renew_pointers(thread));
        for (core, thread) in current.into_iter().enumerate() {
            self.cores[core].current = thread.map_or(ptr::null_mut(), |thread| self.pointer(thread));
        }
    }

    /// Renews the pointers to the thread's affinity and attributes.
    fn renew_pointers(&mut self, thread: u32) {
        let at = self.thread_words() * thread as usize;
        let slot = self.slot(thread);
        // SAFETY: `slot` is in bounds, and `thread_attrs` has room for the capacity of `threads`.
        unsafe {
            (*slot).thread.affinity = &raw const (*slot).affinity;
            (*slot).thread.attrs = self.thread_attrs.as_mut_ptr().add(at).cast();
        }
    }

    fn thread_words(&self) -> usize {
        words(self.table.thread_size)
    }

    fn slot(&mut self, thread: u32) -> *mut Slot {
        assert!(thread < self.nr_threads(), "thread {thread} does not exist");
        // SAFETY: in bounds.
        unsafe { self.threads.as_mut_ptr().add(thread as usize) }
    }

    /// The thread as handlers see it, until the threads move.
    pub(super) fn pointer(&mut self, thread: u32) -> *mut Thread {
        let slot = self.slot(thread);
        // SAFETY: `slot` is in bounds.
        unsafe { &raw mut (*slot).thread }
    }

    pub fn nr_cores(&self) -> u32 {
        self.instance.nr_cores
    }

    pub fn nr_threads(&self) -> u32 {
        self.threads.len() as u32
    }

    pub fn core(&self, core: u32) -> &Core {
        &self.cores[core as usize]
    }

    pub fn core_mut(&mut self, core: u32) -> &mut Core {
        &mut self.cores[core as usize]
    }

    pub fn thread(&self, thread: u32) -> &Thread {
        &self.threads[thread as usize].thread
    }

    pub fn thread_mut(&mut self, thread: u32) -> &mut Thread {
        &mut self.threads[thread as usize].thread
    }

    pub fn affinity(&self, thread: u32) -> &Set {
        &self.threads[thread as usize].affinity
    }

    pub fn affinity_mut(&mut self, thread: u32) -> &mut Set {
        &mut self.threads[thread as usize].affinity
    }

    /// The core's current thread.
    pub fn current(&self, core: u32) -> Option<u32> {
        // SAFETY: null, or one of `threads`: moving them renews the pointer.
        unsafe { self.cores[core as usize].current.as_ref() }.map(Thread::index)
    }

    /// Sets the current thread and `nr_running`.
    pub fn set_current(&mut self, core: u32, thread: Option<u32>) {
        self.cores[core as usize].current = thread.map_or(ptr::null_mut(), |thread| self.pointer(thread));
        self.set_nr_ready(core, self.core(core).nr_ready);
    }

    /// Sets `nr_ready` and `nr_running`.
    pub fn set_nr_ready(&mut self, core: u32, nr_ready: u32) {
        let core = self.core_mut(core);
        core.nr_ready = nr_ready;
        core.nr_running = nr_ready + u32::from(!core.current.is_null());
    }

    /// Adds the core to `idle`, and its physical core to `idle_whole` if all of it is idle.
    pub fn set_idle(&mut self, core: u32) {
        let siblings = &self.domains[SMT][self.cores[core as usize].domain[SMT] as usize].cores;
        let instance = &mut self.instance;
        instance.idle.insert(core);
        if instance.idle.contains_all(siblings) {
            instance.idle_whole.insert_all(siblings);
        }
    }

    /// Removes the core from `idle`, and its physical core from `idle_whole`.
    pub fn clear_idle(&mut self, core: u32) {
        let siblings = &self.domains[SMT][self.cores[core as usize].domain[SMT] as usize].cores;
        self.instance.idle.remove(core);
        self.instance.idle_whole.remove_all(siblings);
    }

    /// The members of the core's domain of this level.
    pub fn domain(&self, core: u32, level: usize) -> &Set {
        &self.domains[level][self.cores[core as usize].domain[level] as usize].cores
    }

    /// The policy's parameters, sets and global attributes.
    pub fn state(&self) -> &[u64] {
        &self.state
    }

    pub fn state_mut(&mut self) -> &mut [u64] {
        &mut self.state
    }

    /// The attributes of all cores.
    pub fn core_attrs(&self) -> &[u64] {
        &self.core_attrs
    }

    pub fn core_attrs_mut(&mut self) -> &mut [u64] {
        &mut self.core_attrs
    }

    /// Number of words of a core's attributes.
    pub fn core_words(&self) -> usize {
        words(self.table.core_size)
    }

    pub fn thread_attrs(&self, thread: u32) -> &[u64] {
        &self.thread_attrs[self.thread_words() * thread as usize..][..self.thread_words()]
    }

    pub fn thread_attrs_mut(&mut self, thread: u32) -> &mut [u64] {
        let words = self.thread_words();
        &mut self.thread_attrs[words * thread as usize..][..words]
    }
}

impl Thread {
    pub(super) fn index(&self) -> u32 {
        self.runtime_private.addr() as u32
    }
}
