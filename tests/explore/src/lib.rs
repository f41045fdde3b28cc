//! Runs the C of `runtime/words.h` in every order of a few concurrent operations, with weak memory.
//!
//! [loom](https://docs.rs/loom) runs the operations as coroutines and chooses, at each access of a shared word, who continues
//! and which of the possible values a load returns. The memory model is C11's. The kernel's operations map to it so:
//!
//! - A load (`READ_ONCE`) is relaxed.
//! - A compare-and-swap that swaps is fully ordered: a sequentially consistent fence, the relaxed swap, and a fence. Without
//!   a swap it has no order. (Linux, `tools/memory-model/Documentation/cheatsheet.txt`: "successful full non-void RMW" and
//!   "unsuccessful RMW".)
//!
//! loom lets a failed swap return only the newest value, and a load one of the last seven. It does not reorder a load with
//! a store that follows it.

mod variants;

pub use variants::{Operations, mutants};

use loom::sync::atomic::{AtomicU64, Ordering, fence};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64 as Plain, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

pub const CORES: usize = 3;
pub const THREADS: usize = 4;
/// Words of a set: cores 0 and 1 share a last-level cache, and core 2 has another.
pub const PARTS: usize = 2;
const CELLS: usize = CORES + THREADS + 4 * PARTS + 1;
const PLACE: usize = CORES;
const SETS: usize = PLACE + THREADS;

/// The cell of the word of set number `set` that has `core`.
const fn cell_of(set: usize, core: usize) -> usize {
    SETS + set * PARTS + core / 2
}

pub const BLOCKED: u32 = 1;
pub const READY: u32 = 2;
pub const RUNNING: u32 = 3;
pub const MIGRATING: u32 = 7;

pub const ARRIVES: u32 = 0;
pub const LEAVES: u32 = 1;
pub const STARTS: u32 = 2;
pub const RUNS: u32 = 3;
pub const STOPS: u32 = 4;
pub const SLEEPS: u32 = 5;
pub const WAKES: u32 = 6;
pub const SETTLES: u32 = 7;
pub const SEARCHES: u32 = 8;

pub const CHANGED: u32 = 1;
pub const ENTERED_IDLE: u32 = 4;
pub const CLAIMED: u32 = 2;

/// The word of a core, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Core {
    pub ready: u32,
    pub current: u32,
    pub sleeps: bool,
    pub idle: bool,
}

impl Core {
    pub const BUSY: Core = Core { ready: 0, current: 0, sleeps: false, idle: false };
    pub const IDLE: Core = Core { ready: 0, current: 0, sleeps: true, idle: true };

    pub fn decode(word: u64) -> Core {
        Core {
            ready: word as u32,
            current: (word >> 32) as u32 & 0x3fff_ffff,
            sleeps: word >> 62 & 1 != 0,
            idle: word >> 63 != 0,
        }
    }

    pub fn encode(self) -> u64 {
        u64::from(self.ready)
            | u64::from(self.current) << 32
            | u64::from(self.sleeps) << 62
            | u64::from(self.idle) << 63
    }

    pub fn threads(self) -> u32 {
        self.ready + u32::from(self.current != 0)
    }

    pub fn stranded(self) -> bool {
        self.sleeps && !self.idle && self.threads() == 0
    }
}

/// Whether the theory of the proofs allows a change of a core (`step` and `ok` of `proofs/cores.mlw`). A change that adds a
/// thread marks the core filled, one that takes the last thread or runs on the core marks it emptied: what remains is that a
/// change adds or takes at most one thread, that an idle core has none, and that only the core itself becomes idle.
pub fn theory_allows(before: Core, after: Core, change: u32) -> bool {
    let (old, new) = (before.threads(), after.threads());
    let own = matches!(change, SLEEPS | SETTLES | STARTS | RUNS | STOPS | WAKES | SEARCHES);
    let count = match change {
        ARRIVES => new == old + 1 && after.current == before.current,
        LEAVES => old == new + 1 && after.current == before.current,
        RUNS => new == old || new == old + 1,
        // The idle loop runs: no thread does.
        STOPS | SLEEPS => (new == old || old == new + 1) && after.ready == before.ready,
        _ => new == old,
    };
    count
        && (!after.idle || new == 0)
        && (own || after.current == before.current)
        && (!after.idle || before.idle || own)
}

/// A thread's place, decoded: state and core.
pub fn place(word: u64) -> (u32, usize) {
    (word as u32 & 0xff, (word >> 16) as usize & 0xffff)
}

/// The shared words, and what the kernel would do: kicks.
pub struct Machine {
    pub operations: &'static Operations,
    order: Order,
    cells: Vec<AtomicU64>,
    /// The newest value of each cell. A swap always acts on the newest.
    newest: Vec<Plain>,
    /// Number of swaps of each cell.
    swaps: Vec<Plain>,
    /// The hyperthreads of core 0's physical core; 0: hyperthreads are left out.
    pair: u64,
    /// Whether somebody has kicked the core; and whether it must also search.
    kicked: [AtomicBool; CORES],
    searches: [AtomicBool; CORES],
    heard: [Plain; CORES],
    wrong: Mutex<Option<String>>,
}

thread_local! {
    /// loom runs all coroutines of an execution on one system thread.
    static MACHINE: RefCell<Option<Arc<Machine>>> = const { RefCell::new(None) };
}

fn with<T>(use_it: impl FnOnce(&Machine) -> T) -> T {
    let machine = MACHINE.with_borrow(|machine| machine.clone().expect("an execution has a machine"));
    use_it(&machine)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn explore_load(cell: usize) -> u64 {
    with(|machine| machine.cells[cell].load(Ordering::Relaxed))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn explore_swap(cell: usize, old: u64, new: u64) -> u64 {
    with(|machine| machine.swap(cell, old, new))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn explore_pair(core: u32) -> u64 {
    with(|machine| if machine.pair >> core & 1 != 0 { machine.pair } else { 0 })
}

#[unsafe(no_mangle)]
extern "C-unwind" fn explore_kick(core: u32, search: bool) {
    with(|machine| machine.kick(core as usize, search));
}

impl Machine {
    fn new(operations: &'static Operations, order: Order, start: &Start) -> Machine {
        let mut values = [0; CELLS];
        for (core, word) in start.cores.iter().enumerate() {
            values[core] = word.encode();
            values[cell_of(0, core)] |= u64::from(word.idle) << core;
            values[cell_of(2, core)] |= u64::from(word.ready != 0) << core;
        }
        values[cell_of(1, 0)] = if values[cell_of(0, 0)] & start.pair == start.pair { start.pair } else { 0 };
        for (thread, (state, core)) in start.places.iter().enumerate() {
            values[PLACE + thread] = u64::from(*state) | (*core as u64) << 16;
        }
        Machine {
            operations,
            order,
            cells: values.iter().map(|value| AtomicU64::new(*value)).collect(),
            newest: values.iter().map(|value| Plain::new(*value)).collect(),
            swaps: values.iter().map(|_| Plain::new(0)).collect(),
            pair: start.pair,
            kicked: Default::default(),
            searches: Default::default(),
            heard: Default::default(),
            wrong: Mutex::new(None),
        }
    }

    /// Reports a violation; the first one of an execution counts.
    pub fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.lock().expect("no panic").get_or_insert_with(what);
        }
    }

    fn order(&self) {
        if self.order == Order::Full {
            fence(Ordering::SeqCst);
        }
    }

    fn swap(&self, cell: usize, old: u64, new: u64) -> u64 {
        self.order();
        let result = self.cells[cell].compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
        let Ok(before) = result else { return result.unwrap_or_else(|seen| seen) };
        self.order();
        self.newest[cell].store(new, Relaxed);
        self.swaps[cell].fetch_add(1, Relaxed);
        if cell < CORES {
            let (before, after) = (Core::decode(before), Core::decode(new));
            let explained = (ARRIVES..=SEARCHES).any(|change| {
                (1..THREADS as u32).any(|thread| {
                    // SAFETY: a pure function.
                    let result = unsafe { (self.operations.word_after)(before.encode(), change, thread) };
                    result == new && theory_allows(before, after, change)
                })
            });
            self.check(explained, || {
                format!("core {cell}: no step of the theory from {before:?} to {after:?}")
            });
        }
        self.check_now();
        before
    }

    /// What holds at each instant: a core counts at least its READY and MIGRATING threads, and an idle core has none.
    fn check_now(&self) {
        for core in 0..CORES {
            let word = self.core(core);
            let counts = |thread: &usize| [(READY, core), (MIGRATING, core)].contains(&self.place(*thread));
            let ready = (0..THREADS).filter(counts).count() as u32;
            self.check(word.ready >= ready && word.ready < 1 << 31, || {
                format!("core {core} counts {} READY threads of {ready}", word.ready)
            });
            self.check(!word.idle || ready == 0 && word.threads() == 0, || {
                format!("core {core} is idle with {ready} READY threads: {word:?}")
            });
        }
    }

    pub fn kick(&self, core: usize, search: bool) {
        self.kicked[core].store(true, Relaxed);
        if search {
            self.searches[core].store(true, Relaxed);
        }
    }

    /// The newest word of a core. Of use only at rest and in checks.
    pub fn core(&self, core: usize) -> Core {
        Core::decode(self.newest[core].load(Relaxed))
    }

    /// The newest place of a thread. Of use only at rest and in checks.
    pub fn place(&self, thread: usize) -> (u32, usize) {
        place(self.newest[PLACE + thread].load(Relaxed))
    }

    pub fn kicked(&self, core: usize) -> bool {
        self.kicked[core].load(Relaxed)
    }

    pub fn must_search(&self, core: usize) -> bool {
        self.searches[core].load(Relaxed)
    }

    fn has(&self, set: usize, core: usize) -> bool {
        self.newest[cell_of(set, core)].load(Relaxed) >> core & 1 != 0
    }

    /// Number of swaps of the sets that cores share, in the words with `core`: `idle`, `idle_whole`, `waiting`,
    /// `claimed`.
    pub fn swaps_of_sets(&self, core: usize) -> [u64; 4] {
        std::array::from_fn(|set| self.swaps[cell_of(set, core)].load(Relaxed))
    }

    /// What holds when all operations have ended.
    fn check_rest(&self) {
        for core in 0..CORES {
            let word = self.core(core);
            let ready = (0..THREADS).filter(|thread| self.place(*thread) == (READY, core)).count() as u32;
            self.check(word.ready == ready, || {
                format!("core {core} counts {} READY threads, not {ready}", word.ready)
            });
            self.check(self.has(0, core) == word.idle, || {
                format!("`idle` contradicts core {core}: {word:?}")
            });
            self.check(self.has(2, core) == (ready > 0), || {
                format!("`waiting` contradicts core {core} with {ready} READY threads")
            });
            if self.pair >> core & 1 != 0 {
                let whole = (0..CORES).all(|other| self.pair >> other & 1 == 0 || self.core(other).idle);
                self.check(self.has(1, core) == whole, || format!("`idle_whole` contradicts core {core}"));
            }
            self.check(!word.stranded() || self.kicked(core), || {
                format!("core {core} is stranded: {word:?}")
            });
            self.check(!word.sleeps || ready == 0 || self.kicked(core), || {
                format!("core {core} sleeps with {ready} READY threads, and nobody kicks it")
            });
        }
    }

    // ---- operations, as runtime/bpf composes them from words.h ----

    pub fn change(&self, core: usize, change: u32, thread: usize) -> u32 {
        // SAFETY: the machine of this execution is set; cores and threads exist.
        unsafe { (self.operations.change_core)(core as u32, change, thread as u32) }
    }

    fn load_place(&self, thread: usize) -> u64 {
        self.cells[PLACE + thread].load(Ordering::Relaxed)
    }

    /// One attempt of a transition. True if it was made.
    pub fn transition(&self, thread: usize, old: u64, state: u32, core: usize) -> bool {
        // SAFETY: as in `change`.
        let result = unsafe { (self.operations.change_place)(thread as u32, old, state, core as u32) };
        result & CHANGED != 0
    }

    /// Event unblock: the thread becomes READY, and ops.enqueue inserts it and kicks the core.
    pub fn place_on(&self, thread: usize, core: usize) {
        let placed = self.transition(thread, self.load_place(thread), READY, core);
        self.check(placed, || format!("the placement of thread {thread} failed"));
        self.kick(core, false);
    }

    /// A placement that claims one of the cores, in their order; otherwise on core `other`, without a claim.
    pub fn claim_one_of(&self, thread: usize, cores: &[usize], other: usize) {
        for core in cores {
            // SAFETY: as in `change`.
            if unsafe { (self.operations.take_claim)(*core as u32) } == CLAIMED {
                self.check(self.core(*core).threads() == 0, || {
                    format!("core {core} is claimed but not empty")
                });
                self.place_on(thread, *core);
                // SAFETY: as in `change`.
                unsafe { (self.operations.release_claim)(*core as u32) };
                return;
            }
        }
        self.place_on(thread, other);
    }

    /// Takes the thread if it is READY on `from`: its place then.
    fn take(&self, thread: usize, from: usize) -> Option<u64> {
        let old = self.load_place(thread);
        let taken = place(old) == (READY, from) && self.transition(thread, old, MIGRATING, from);
        // Not loaded: the kernel may have run the thread meanwhile.
        taken.then_some((old & !0xff | u64::from(MIGRATING)) + (1 << 32))
    }

    /// A steal: takes the thread if it is READY on `from`, and moves it. True if it did.
    pub fn steal(&self, thread: usize, from: usize, to: usize) -> bool {
        self.take(thread, from).is_some_and(|taken| self.transition(thread, taken, READY, to))
    }

    /// A timer that takes the thread but does not move it.
    pub fn take_and_give_back(&self, thread: usize, core: usize) {
        if self.take(thread, core).is_some_and(|taken| self.transition(thread, taken, READY, core)) {
            self.kick(core, false);
        }
    }

    /// The kernel has taken the thread's entry from the queue of `core`: ops.running.
    pub fn run(&self, thread: usize, core: usize) {
        self.change(core, WAKES, 0);
        loop {
            let old = self.load_place(thread);
            if place(old) == (RUNNING, core) || self.transition(thread, old, RUNNING, core) {
                break;
            }
        }
        self.change(core, RUNS, thread);
    }

    /// The running thread blocks.
    pub fn block(&self, thread: usize, core: usize) {
        self.change(core, STOPS, thread);
        let blocked = self.transition(thread, self.load_place(thread), BLOCKED, core);
        self.check(blocked, || format!("thread {thread} cannot block"));
    }

    /// The idle loop starts (SLEEPS), or goes on after a kick (SETTLES).
    pub fn sleep(&self, core: usize, change: u32) {
        if self.change(core, change, 0) == ENTERED_IDLE {
            let mut heard = self.heard[core].load(Relaxed);
            // SAFETY: as in `change`; `heard` outlives the call.
            if unsafe { (self.operations.has_missed)(&raw mut heard) } {
                self.kick(core, true);
            }
            self.heard[core].store(heard, Relaxed);
        }
    }

    /// Whether a search of the cores in `waiting` finds the core.
    pub fn sees_waiting(&self, core: usize) -> bool {
        self.cells[cell_of(2, core)].load(Ordering::Relaxed) >> core & 1 != 0
    }

    /// Whether a search of the cores in `idle` finds the core.
    pub fn sees_idle(&self, core: usize) -> bool {
        self.cells[cell_of(0, core)].load(Ordering::Relaxed) >> core & 1 != 0
    }

    /// Whether a core finds the thread READY on `core`.
    pub fn sees_ready(&self, thread: usize, core: usize) -> bool {
        place(self.load_place(thread)) == (READY, core)
    }
}

/// The order that a compare-and-swap imposes if it swaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The kernel's.
    Full,
    /// None, as arm64's `cas` has it.
    None,
}

/// The words at the start of a scenario.
pub struct Start {
    pub cores: [Core; CORES],
    /// State and core of each thread; thread 0 does not exist.
    pub places: [(u32, usize); THREADS],
    pub pair: u64,
}

/// An operation of a scenario, and a check at rest.
pub type Operation = fn(&Machine);

/// A few concurrent operations.
pub struct Scenario {
    pub name: &'static str,
    pub start: Start,
    pub operations: &'static [Operation],
    pub rest: Operation,
    /// Most preemptions in one execution; `None`: every order.
    pub preemptions: Option<usize>,
}

/// Runs all orders of a scenario. Returns their number, or what was violated first.
pub fn explore(
    operations: &'static Operations,
    order: Order,
    scenario: &'static Scenario,
) -> Result<u64, String> {
    let executions = Arc::new(Plain::new(0));
    let violated = Arc::new(Mutex::new(None::<String>));
    let (count, first) = (executions.clone(), violated.clone());
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = scenario.preemptions;
    builder.max_branches = 20_000;
    let run = move || {
        count.fetch_add(1, Relaxed);
        let machine = Arc::new(Machine::new(operations, order, &scenario.start));
        MACHINE.set(Some(machine.clone()));
        let spawned: Vec<_> = scenario.operations[1..]
            .iter()
            .map(|operation| {
                let machine = machine.clone();
                loom::thread::spawn(move || operation(&machine))
            })
            .collect();
        scenario.operations[0](&machine);
        for thread in spawned {
            thread.join().expect("an operation does not panic");
        }
        machine.check_rest();
        (scenario.rest)(&machine);
        MACHINE.set(None);
        let wrong = machine.wrong.lock().expect("no panic").take();
        if let Some(wrong) = wrong {
            first.lock().expect("no panic").get_or_insert(wrong);
            std::panic::resume_unwind(Box::new("violated"));
        }
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.check(run)));
    let violated = violated.lock().expect("no panic").take();
    match (result, violated) {
        (Ok(()), None) => Ok(executions.load(Relaxed)),
        (_, Some(violated)) => Err(format!("{violated} (execution {})", executions.load(Relaxed))),
        (Err(panic), None) => std::panic::resume_unwind(panic),
    }
}
