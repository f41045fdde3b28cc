// Made by scripts/bindings from runtime/bpf/layout.h.

pub const SAAKM_NICE_0_WEIGHT: u32 = 1024;
pub const SAAKM_MAX_WEIGHT: u32 = 1048576;
pub const SAAKM_MAX_CORES: u32 = 1024;
pub const SAAKM_SET_WORDS: u32 = 16;
pub const SAAKM_MAX_QUEUES: u32 = 4;
pub const SAAKM_CORE_CURRENT_AT: u32 = 32;
pub const SAAKM_CORE_CURRENT_MASK: u32 = 1073741823;
pub const SAAKM_CORE_SLEEPS: u64 = 4611686018427387904;
pub const SAAKM_CORE_IDLE: i64 = -9223372036854775808;
pub const SAAKM_CHANGED: u32 = 1;
pub const SAAKM_LEFT_IDLE: u32 = 2;
pub const SAAKM_ENTERED_IDLE: u32 = 4;
pub const SAAKM_LAYOUT: u32 = 18;
pub const SAAKM_WORLD_AT: u32 = 4096;
pub const SAAKM_TOLD_SETS_AT: u32 = 8192;
pub const SAAKM_ZERO_AT: u32 = 12288;
pub const SAAKM_STATE_AT: u32 = 16384;
pub const SAAKM_STATE_BYTES: u32 = 16384;
pub const SAAKM_TOLD_AT: u32 = 32768;
pub const SAAKM_CORES_AT: u32 = 65536;
pub const SAAKM_CORE_BYTES: u32 = 1024;
pub const SAAKM_LINES_AT: u32 = 1114112;
pub const SAAKM_PARTS_AT: u32 = 1179648;
pub const SAAKM_DOMAINS_AT: u32 = 2097152;
pub const SAAKM_DOMAIN_BYTES: u32 = 256;
pub const SAAKM_CONTEXTS_AT: u32 = 4194304;
pub const SAAKM_CONTEXT_BYTES: u32 = 8192;
pub const SAAKM_GROUPS_AT: u32 = 33554432;
pub const SAAKM_GROUP_BYTES: u32 = 64;
pub const SAAKM_MAX_GROUPS: u32 = 16384;
pub const SAAKM_THREADS_AT: u32 = 67108864;
pub const SAAKM_THREAD_BYTES: u32 = 512;
pub const SAAKM_MAX_THREADS: u32 = 1048576;
pub const SAAKM_FIRST_THREAD: u32 = 1025;
pub const SAAKM_ARENA_PAGES: u32 = 147456;
pub const SAAKM_CORE_ATTRS: u32 = 256;
pub const SAAKM_THREAD_ATTRS: u32 = 256;
pub const SAAKM_MAX_REASONS: u32 = 32;
pub const SAAKM_MAX_SETS: u32 = 16;
pub const SAAKM_KEPT_SETS: u32 = 8;
pub const SAAKM_KEPT_USED: u32 = 4;
pub const SAAKM_MAX_PARAMS: u32 = 64;
pub const SAAKM_MOVES: u32 = 32;
pub const SAAKM_SCRATCH_SETS: u32 = 48;
pub const SAAKM_MEMBER_PROCESS_AT: u32 = 32;
pub const SAAKM_SMT: saakm_level = 0;
pub const SAAKM_LLC: saakm_level = 1;
pub const SAAKM_NUMA: saakm_level = 2;
pub const SAAKM_MACHINE: saakm_level = 3;
pub const SAAKM_LEVELS: saakm_level = 4;
pub type saakm_level = ::std::os::raw::c_uint;
pub const SAAKM_KEPT_IDLE: saakm_kept = 0;
pub const SAAKM_KEPT_WHOLE: saakm_kept = 1;
pub const SAAKM_KEPT_WAITING: saakm_kept = 2;
pub const SAAKM_KEPT_CLAIMED: saakm_kept = 3;
pub type saakm_kept = ::std::os::raw::c_uint;
pub const SAAKM_WAKER_EXITS: saakm_fact = 0;
pub const SAAKM_WAKER_SLEEPS: saakm_fact = 1;
pub type saakm_fact = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq)]
pub struct saakm_set {
    pub word: [u64; 16usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_memo {
    pub known: u64,
    pub value: [i64; 4usize],
}
pub type saakm_t = *mut saakm;
pub const SAAKM_NOT_QUEUED: saakm_state = 0;
pub const SAAKM_BLOCKED: saakm_state = 1;
pub const SAAKM_READY: saakm_state = 2;
pub const SAAKM_RUNNING: saakm_state = 3;
pub const SAAKM_TERMINATED: saakm_state = 4;
pub const SAAKM_DETACHED: saakm_state = 5;
pub const SAAKM_THROTTLED: saakm_state = 6;
pub const SAAKM_MIGRATING: saakm_state = 7;
pub type saakm_state = ::std::os::raw::c_uint;
pub const SAAKM_ARRIVES: saakm_change = 0;
pub const SAAKM_LEAVES: saakm_change = 1;
pub const SAAKM_STARTS: saakm_change = 2;
pub const SAAKM_RUNS: saakm_change = 3;
pub const SAAKM_TAKES: saakm_change = 4;
pub const SAAKM_STOPS: saakm_change = 5;
pub const SAAKM_SLEEPS: saakm_change = 6;
pub const SAAKM_SEARCHES: saakm_change = 7;
pub type saakm_change = ::std::os::raw::c_uint;
pub const SAAKM_NOT_IDLE: saakm_claim_result = 0;
pub const SAAKM_LOST: saakm_claim_result = 1;
pub const SAAKM_CLAIMED: saakm_claim_result = 2;
pub type saakm_claim_result = ::std::os::raw::c_uint;
pub const SAAKM_IN_OPERATION: saakm_context_level = 0;
pub const SAAKM_IN_TIMER: saakm_context_level = 1;
pub const SAAKM_POSTPONED: saakm_context_level = 2;
pub const SAAKM_CONTEXTS: saakm_context_level = 3;
pub type saakm_context_level = ::std::os::raw::c_uint;
pub const SAAKM_NEXT_ANY: saakm_next = 0;
pub const SAAKM_NEXT_DISPATCH: saakm_next = 1;
pub const SAAKM_NEXT_RUNNING: saakm_next = 2;
pub type saakm_next = ::std::os::raw::c_uint;
pub const SAAKM_NOT_SEARCHED: saakm_search = 0;
pub const SAAKM_SEARCHED: saakm_search = 1;
pub const SAAKM_AWAITS: saakm_search = 2;
pub type saakm_search = ::std::os::raw::c_uint;
pub const SAAKM_KHZ_UNKNOWN: saakm_frequency_source = 0;
pub const SAAKM_KHZ_KERNEL: saakm_frequency_source = 1;
pub const SAAKM_KHZ_MODEL: saakm_frequency_source = 2;
pub type saakm_frequency_source = ::std::os::raw::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_counters {
    pub placed: [u64; 32usize],
    pub news: u64,
    pub wakeups: u64,
    pub switches: u64,
    pub preemptions: u64,
    pub migrations: u64,
    pub steals: u64,
    pub moves_failed: u64,
    pub moves_refused: u64,
    pub timers_armed: u64,
    pub timers_fired: u64,
    pub timers_moved: u64,
    pub claims_lost: u64,
    pub idles: u64,
    pub idle_ns: u64,
    pub spins: u64,
    pub spin_ns: u64,
    pub kicks: u64,
    pub bypassed: u64,
    pub throttled: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_thread {
    pub where_: u64,
    pub key: i64,
    pub index: u32,
    pub serial: u32,
    pub pid: u32,
    pub weight: u32,
    pub runtime: i64,
    pub running_since: i64,
    pub affinity: u64,
    pub timer_at: u64,
    pub flags: u32,
    pub ran_on: u32,
    pub next_free: u32,
    pub reason: u32,
    pub group: u32,
    pub own_weight: u32,
    pub counted: u32,
    pub charged: u64,
    pub pad: [u32; 6usize],
    pub attrs: [u8; 256usize],
    pub allowed: saakm_set,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_group {
    pub word: u64,
    pub quota: u64,
    pub period: u64,
    pub burst: u64,
    pub used: i64,
    pub begun: u64,
    pub parent: u32,
    pub weight: u32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_core {
    pub word: u64,
    pub searched: u32,
    pub pad_word: [u32; 13usize],
    pub domain: [u32; 4usize],
    pub known: u32,
    pub min_khz: u32,
    pub max_khz: u32,
    pub model_khz: u32,
    pub seen_khz: u32,
    pub pending_head: u32,
    pub pending_tail: u32,
    pub part: u32,
    pub capacity: u32,
    pub exit_latency: u32,
    pub pad_domain: [u32; 2usize],
    pub idle_since: u64,
    pub last_tick: u64,
    pub warm_ns: u64,
    pub warm_until: u64,
    pub spin_since: u64,
    pub busy_ns: u64,
    pub rounds: u64,
    pub heard: u64,
    pub self_: saakm_set,
    pub count: saakm_counters,
    pub free: u64,
    pub serials: u64,
    pub threads: i64,
    pub pad_threads: [u64; 2usize],
    pub attrs: [u8; 256usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_domain {
    pub cores: saakm_set,
    pub size: u32,
    pub first: [u32; 4usize],
    pub count: [u32; 4usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_line {
    pub kept: [u64; 8usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_parts {
    pub first: [u32; 17usize],
    pub pad: [u32; 15usize],
    pub cores: [u64; 1024usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_move {
    pub thread: u32,
    pub from: u16,
    pub queue: u16,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm {
    pub now: i64,
    pub cpu: u32,
    pub subject: u32,
    pub run: u32,
    pub nr_moves: u32,
    pub nr_claims: u32,
    pub nr_preempts: u32,
    pub heads: [u32; 4usize],
    pub scheduling: u32,
    pub left_idle: u32,
    pub nr_left: u32,
    pub on_timer: u32,
    pub on_preempt: u32,
    pub facts: u32,
    pub direct: u32,
    pub next: u32,
    pub moved: u32,
    pub held: u32,
    pub from: u64,
    pub room: u64,
    pub moves: [saakm_move; 32usize],
    pub claims: saakm_set,
    pub preempts: saakm_set,
    pub left: saakm_set,
    pub scratch: [saakm_set; 48usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_window {
    pub interval: u64,
    pub runnable: i64,
    pub most: i64,
    pub intervals: u64,
    pub cores_used: u64,
    pub underload: u64,
    pub pad: [u64; 2usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_world {
    pub layout: u32,
    pub nr_cores: u32,
    pub nr_words: u32,
    pub nr_domains: [u32; 4usize],
    pub frequency_source: u32,
    pub torn: u32,
    pub nr_params: u32,
    pub underload: u32,
    pub pairs: u32,
    pub lazy: u32,
    pub split: u32,
    pub pad: [u32; 2usize],
    pub missed: u64,
    pub limits: u64,
    pub pad_of_reads: [u64; 6usize],
    pub lock: u64,
    pub logged: u64,
    pub free: u64,
    pub fresh: u64,
    pub no_slot: u64,
    pub fresh_group: u64,
    pub pad_of_slots: [u64; 2usize],
    pub online: saakm_set,
    pub members: [i64; 16usize],
    pub params: [i64; 64usize],
    pub window: saakm_window,
}
#[repr(C)]
#[derive(Debug, Copy, Clone, Default, PartialEq, Eq)]
pub struct saakm_log_record {
    pub number: u64,
    pub kind: u8,
    pub flag: u8,
    pub core: u16,
    pub thread: u32,
    pub a: u64,
    pub b: u64,
    pub c: u64,
    pub d: u64,
    pub e: u64,
    pub f: u64,
}
pub const SAAKM_L_NONE: saakm_log_kind = 0;
pub const SAAKM_L_SETS: saakm_log_kind = 1;
pub const SAAKM_L_CORE: saakm_log_kind = 2;
pub const SAAKM_L_THREAD: saakm_log_kind = 3;
pub const SAAKM_L_AFFINITY: saakm_log_kind = 4;
pub const SAAKM_L_HEAD: saakm_log_kind = 5;
pub const SAAKM_L_BEGIN: saakm_log_kind = 6;
pub const SAAKM_L_WALK: saakm_log_kind = 7;
pub const SAAKM_L_VISIT: saakm_log_kind = 8;
pub const SAAKM_L_END: saakm_log_kind = 9;
pub const SAAKM_L_READY: saakm_log_kind = 10;
pub const SAAKM_L_RUN: saakm_log_kind = 11;
pub const SAAKM_L_BLOCKED: saakm_log_kind = 12;
pub const SAAKM_L_TERMINATED: saakm_log_kind = 13;
pub const SAAKM_L_ARM: saakm_log_kind = 14;
pub const SAAKM_L_CANCEL: saakm_log_kind = 15;
pub const SAAKM_L_KEEP_WARM: saakm_log_kind = 16;
pub const SAAKM_L_PREEMPT: saakm_log_kind = 17;
pub const SAAKM_L_SET: saakm_log_kind = 18;
pub type saakm_log_kind = ::std::os::raw::c_uint;
pub const SAAKM_E_NEW: saakm_event = 0;
pub const SAAKM_E_UNBLOCK: saakm_event = 1;
pub const SAAKM_E_SCHEDULE: saakm_event = 2;
pub const SAAKM_E_TICK: saakm_event = 3;
pub const SAAKM_E_YIELD: saakm_event = 4;
pub const SAAKM_E_PREEMPT: saakm_event = 5;
pub const SAAKM_E_BLOCK: saakm_event = 6;
pub const SAAKM_E_TERMINATE: saakm_event = 7;
pub const SAAKM_E_TIMER: saakm_event = 8;
pub const SAAKM_E_NEWLY_IDLE: saakm_event = 9;
pub const SAAKM_E_ENTER_IDLE: saakm_event = 10;
pub const SAAKM_E_EXIT_IDLE: saakm_event = 11;
pub const SAAKM_E_BALANCE: saakm_event = 12;
pub const SAAKM_E_ENTRY: saakm_event = 13;
pub const SAAKM_E_EXIT: saakm_event = 14;
pub type saakm_event = ::std::os::raw::c_uint;
