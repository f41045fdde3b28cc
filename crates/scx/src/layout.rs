//! `runtime/bpf/layout.h` in Rust: the memory that the loader and a running policy share.
//!
//! The running policy writes to it at any time, from any core: the loader reads single fields with
//! volatile loads, and makes no reference to a whole structure.

/// `SAAKM_LAYOUT`: changes with anything below.
pub const LAYOUT: u32 = 5;

pub const WORLD_AT: usize = 0x1000;
/// What the log last told of sets of cores, and of cores.
pub const TOLD_SETS_AT: usize = 0x2000;
pub const TOLD_AT: usize = 0x8000;
/// A page of zeros that the policy reads.
pub const ZERO_AT: usize = 0x3000;
pub const STATE_AT: usize = 0x4000;
pub const STATE_BYTES: usize = 0x4000;
pub const CORES_AT: usize = 0x10000;
pub const CORE_BYTES: usize = 1024;
pub const DOMAINS_AT: usize = 0x20_0000;
pub const DOMAIN_BYTES: usize = 256;
pub const CONTEXTS_AT: usize = 0x40_0000;
pub const CONTEXT_BYTES: usize = 4096;
pub const THREADS_AT: usize = 0x400_0000;
pub const THREAD_BYTES: usize = 512;

pub const MAX_CORES: usize = 1024;
pub const SET_WORDS: usize = MAX_CORES / 64;
pub const LEVELS: usize = 4;
pub const CONTEXTS: usize = 3;
pub const MAX_REASONS: usize = 32;
pub const MAX_SETS: usize = 16;
pub const MAX_PARAMS: usize = 64;

/// A set of cores, by number.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Set {
    pub word: [u64; SET_WORDS],
}

/// Counters of a core: only that core adds to them. Times in ns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// Placements of new and woken threads, by reason.
    pub placed: [u64; MAX_REASONS],
    /// Time spent in them.
    pub place_ns: u64,
    pub news: u64,
    pub wakeups: u64,
    /// Threads that began to run here.
    pub switches: u64,
    pub preemptions: u64,
    /// Threads that began to run here, having last run elsewhere.
    pub migrations: u64,
    /// Threads moved by balancing.
    pub steals: u64,
    /// Moves of threads that were gone when they were to be carried out.
    pub moves_failed: u64,
    pub timers_armed: u64,
    pub timers_fired: u64,
    pub timers_moved: u64,
    /// Claims of a core that another placement had.
    pub claims_lost: u64,
    /// Times that the core went idle.
    pub idles: u64,
    pub idle_ns: u64,
    /// Times that the idle loop was kept awake, and for how long.
    pub spins: u64,
    pub spin_ns: u64,
    /// Rounds of that.
    pub kicks: u64,
    /// Threads that the kernel or the runtime ran past the policy.
    pub bypassed: u64,
    /// Records that did not fit into the ring buffer.
    pub lost: u64,
}

#[repr(C)]
pub struct Core {
    pub current: u32,
    pub nr_ready: u32,
    pub seen_khz: u32,
    pub min_khz: u32,
    pub max_khz: u32,
    pub model_khz: u32,
    pub domain: [u32; LEVELS],
    pub searched: u32,
    pub pending_head: u32,
    pub pending_tail: u32,
    pub known: u32,
    pub idle_since: u64,
    pub last_tick: u64,
    pub warm_ns: u64,
    pub warm_until: u64,
    pub spin_since: u64,
    pub busy_ns: u64,
    pub rounds: u64,
    pub this: Set,
    pub count: Counters,
}

#[repr(C)]
pub struct Domain {
    pub cores: Set,
    pub first: [u32; LEVELS],
    pub count: [u32; LEVELS],
}

/// Underload (Nest, section 5.2), by intervals of a tick.
#[repr(C)]
pub struct Window {
    pub interval: u64,
    pub runnable: i64,
    pub most: i64,
    pub intervals: u64,
    pub cores_used: u64,
    pub underload: u64,
    pub pad: [u64; 2],
    pub used: Set,
}

#[repr(C)]
pub struct World {
    pub layout: u32,
    pub ready: u32,
    pub nr_cores: u32,
    pub nr_words: u32,
    pub nr_domains: [u32; LEVELS],
    pub frequency_source: u32,
    pub recording: u32,
    pub torn: u32,
    pub nr_params: u32,
    pub underload: u32,
    pub pad: [u32; 3],
    pub lock: u64,
    pub logged: u64,
    pub free: u64,
    pub fresh: u64,
    pub threads: u64,
    pub no_slot: u64,
    pub serials: u64,
    pub pad2: [u64; 1],
    pub online: Set,
    pub kernel_idle: Set,
    pub idle: Set,
    pub idle_whole: Set,
    pub waiting: Set,
    pub claimed: Set,
    pub members: [i64; MAX_SETS],
    pub params: [i64; MAX_PARAMS],
    pub window: Window,
}

/// `struct saakm_record` of `records.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub time: u64,
    pub value: u64,
    pub thread: u32,
    pub other: u32,
    pub khz: u32,
    pub core: u16,
    pub target: u16,
    pub reason: u16,
    pub kind: u8,
    pub flag: u8,
    pub pad: u32,
    pub text: [u8; 16],
}
