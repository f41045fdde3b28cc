//! The memory that a policy's C code and the simulator share: `runtime/host/saakm_host.h` in Rust.
//!
//! Field names, order and types follow the header; `tests/abi.rs` compares the layouts.

use std::ffi::{c_char, c_void};
use std::ptr;

pub const ABI: u32 = 1;
pub const MAX_CORES: usize = 1024;
pub const SET_WORDS: usize = MAX_CORES / 64;
pub const NO_CORE: u32 = u32::MAX;
/// Reason 0, "none": a transition without `because`.
pub const NO_REASON: u32 = 0;
/// smt, llc, numa, machine.
pub const LEVELS: usize = 4;

/// A set of cores, one bit each.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Set {
    pub word: [u64; SET_WORDS],
}

impl Set {
    pub const EMPTY: Set = Set { word: [0; SET_WORDS] };

    pub fn contains(&self, core: u32) -> bool {
        self.word[core as usize / 64] >> (core % 64) & 1 == 1
    }

    pub fn insert(&mut self, core: u32) {
        self.word[core as usize / 64] |= 1 << (core % 64);
    }

    pub fn remove(&mut self, core: u32) {
        self.word[core as usize / 64] &= !(1 << (core % 64));
    }

    pub fn put(&mut self, core: u32, member: bool) {
        if member { self.insert(core) } else { self.remove(core) }
    }
}

impl FromIterator<u32> for Set {
    fn from_iter<I: IntoIterator<Item = u32>>(cores: I) -> Set {
        let mut set = Set::EMPTY;
        for core in cores {
            set.insert(core);
        }
        set
    }
}

#[repr(C)]
pub struct Thread {
    pub tid: u32,
    pub core: u32,
    pub weight: u32,
    pub queue: u32,
    pub runtime: i64,
    pub running_since: i64,
    pub affinity: *const Set,
    pub attrs: *mut c_void,
    pub runtime_private: *mut c_void,
}

#[repr(C)]
pub struct Core {
    pub current: *mut Thread,
    pub nr_ready: u32,
    pub nr_running: u32,
    pub seen_khz: u32,
    pub min_khz: u32,
    pub exit_latency_ns: u32,
    pub domain: [u32; LEVELS],
    pub idle_since: i64,
    pub attrs: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Domain {
    pub cores: Set,
    pub first: [u32; LEVELS],
    pub count: [u32; LEVELS],
}

#[repr(C)]
pub struct Ops {
    pub ready: extern "C" fn(*mut Instance, *mut Thread, u32, u32, i64, u32),
    pub run: extern "C" fn(*mut Instance, *mut Thread),
    pub blocked: extern "C" fn(*mut Instance, *mut Thread),
    pub terminated: extern "C" fn(*mut Instance, *mut Thread),
    pub first: extern "C" fn(*mut Instance, u32, u32) -> *mut Thread,
    pub next: extern "C" fn(*mut Instance, *mut Thread) -> *mut Thread,
    pub arm: extern "C" fn(*mut Instance, *mut Thread, i64),
    pub cancel: extern "C" fn(*mut Instance, *mut Thread),
    pub keep_warm: extern "C" fn(*mut Instance, u32, i64),
    pub preempt: extern "C" fn(*mut Instance, u32),
    pub set_changed: extern "C" fn(*mut Instance, u32, u32, bool),
}

/// `struct saakm`: one instance of a policy on a machine.
#[repr(C)]
pub struct Instance {
    pub ops: *const Ops,
    pub runtime_private: *mut c_void,
    pub state: *mut c_void,
    pub now: i64,
    pub nr_cores: u32,
    pub nr_words: u32,
    pub cores: *mut Core,
    pub domains: [*mut Domain; LEVELS],
    pub nr_domains: [u32; LEVELS],
    pub online: Set,
    pub idle: Set,
    pub idle_whole: Set,
    pub waiting: Set,
    pub claimed: Set,
}

impl Instance {
    /// Of a machine of which nothing is known but the number of its cores: none is on line.
    pub fn new(ops: &'static Ops, nr_cores: usize) -> Instance {
        Instance {
            ops,
            runtime_private: ptr::null_mut(),
            state: ptr::null_mut(),
            now: 0,
            nr_cores: nr_cores as u32,
            nr_words: nr_cores.div_ceil(64) as u32,
            cores: ptr::null_mut(),
            domains: [ptr::null_mut(); LEVELS],
            nr_domains: [0; LEVELS],
            online: Set::EMPTY,
            idle: Set::EMPTY,
            idle_whole: Set::EMPTY,
            waiting: Set::EMPTY,
            claimed: Set::EMPTY,
        }
    }

    /// Points to the machine, which must live as long and stay where it is.
    pub fn point_to(&mut self, cores: &mut [Core], domains: &mut [Vec<Domain>; LEVELS]) {
        self.cores = cores.as_mut_ptr();
        for (level, domains) in domains.iter_mut().enumerate() {
            self.domains[level] = domains.as_mut_ptr();
            self.nr_domains[level] = domains.len() as u32;
        }
    }
}

#[repr(C)]
pub struct Param {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub unit: u32,
    pub offset: u32,
    pub min: i64,
    pub max: i64,
    pub initial: i64,
}

#[repr(C)]
pub struct Queue {
    pub name: *const c_char,
    pub ordered: u32,
}

pub type OnThread = Option<unsafe extern "C" fn(*mut Instance, *mut Thread)>;
pub type OnThreadCore = Option<unsafe extern "C" fn(*mut Instance, *mut Thread, u32)>;
pub type OnCore = Option<unsafe extern "C" fn(*mut Instance, u32)>;
pub type Init = Option<unsafe extern "C" fn(*mut c_void)>;

/// `struct saakm_policy`: what the compiler emits for the loader.
#[repr(C)]
pub struct PolicyTable {
    pub abi: u32,
    pub name: *const c_char,
    pub state_size: u64,
    pub thread_size: u64,
    pub core_size: u64,
    pub params: *const Param,
    pub nr_params: u32,
    pub queues: *const Queue,
    pub nr_queues: u32,
    pub reasons: *const *const c_char,
    pub nr_reasons: u32,
    pub sets: *const *const c_char,
    pub nr_sets: u32,
    pub init_state: Init,
    pub init_core: Init,
    pub init_thread: Init,
    pub new_thread: OnThreadCore,
    pub unblock: OnThreadCore,
    pub schedule: OnCore,
    pub tick: OnThread,
    pub yield_: OnThread,
    pub preempt: OnThread,
    pub block: OnThread,
    pub terminate: OnThread,
    pub timer: OnThread,
    pub newly_idle: OnCore,
    pub enter_idle: OnCore,
    pub exit_idle: OnCore,
    pub balance: OnCore,
    pub entry: OnCore,
    pub exit: OnCore,
}
