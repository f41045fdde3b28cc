// Made by scripts/bindings from runtime/saakm.h.

pub const SAAKM_ABI: u32 = 3;
pub const SAAKM_MAX_CORES: u32 = 1024;
pub const SAAKM_SET_WORDS: u32 = 16;
pub const SAAKM_NO_CORE: u32 = 4294967295;
pub const SAAKM_SMT: saakm_level = 0;
pub const SAAKM_LLC: saakm_level = 1;
pub const SAAKM_NUMA: saakm_level = 2;
pub const SAAKM_MACHINE: saakm_level = 3;
pub const SAAKM_LEVELS: saakm_level = 4;
pub type saakm_level = ::std::os::raw::c_uint;
pub const SAAKM_WAKER_EXITS: saakm_fact = 0;
pub const SAAKM_WAKER_SLEEPS: saakm_fact = 1;
pub type saakm_fact = ::std::os::raw::c_uint;
pub type core_t = u32;
pub type nsec_t = i64;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_set {
    pub word: [u64; 16usize],
}
pub type saakm_t = *mut saakm;
pub type thread_t = *mut saakm_thread;
pub type set_t = *const saakm_set;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_thread {
    pub tid: u32,
    pub core: core_t,
    pub weight: u32,
    pub queue: u32,
    pub runtime: nsec_t,
    pub running_since: nsec_t,
    pub(super) affinity: set_t,
    pub(super) attrs: *mut ::std::os::raw::c_void,
    pub(super) runtime_private: *mut ::std::os::raw::c_void,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_core {
    pub(super) current: thread_t,
    pub nr_ready: u32,
    pub nr_running: u32,
    pub seen_khz: u32,
    pub min_khz: u32,
    pub capacity: u32,
    pub exit_latency_ns: u32,
    pub domain: [core_t; 4usize],
    pub idle_since: nsec_t,
    pub(super) attrs: *mut ::std::os::raw::c_void,
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
pub struct saakm_ops {
    pub ready: ::std::option::Option<
        unsafe extern "C" fn(s: saakm_t, t: thread_t, c: core_t, queue: u32, key: i64, reason: u32),
    >,
    pub run: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub blocked: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub terminated: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub first: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t, queue: u32) -> thread_t>,
    pub next: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t) -> thread_t>,
    pub arm: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t, ns: nsec_t)>,
    pub cancel: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub keep_warm: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t, ns: nsec_t)>,
    pub preempt: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
    pub set_changed:
        ::std::option::Option<unsafe extern "C" fn(s: saakm_t, set: u32, c: core_t, member: bool)>,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm {
    pub(super) ops: *const saakm_ops,
    pub(super) runtime_private: *mut ::std::os::raw::c_void,
    pub(super) state: *mut ::std::os::raw::c_void,
    pub now: nsec_t,
    pub facts: u32,
    pub nr_cores: u32,
    pub nr_words: u32,
    pub(super) cores: *mut saakm_core,
    pub(super) domains: [*mut saakm_domain; 4usize],
    pub nr_domains: [u32; 4usize],
    pub online: saakm_set,
    pub idle: saakm_set,
    pub idle_whole: saakm_set,
    pub waiting: saakm_set,
    pub claimed: saakm_set,
    pub looked: [u8; 1024usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_param {
    pub name: *const ::std::os::raw::c_char,
    pub doc: *const ::std::os::raw::c_char,
    pub unit: u32,
    pub offset: u32,
    pub min: i64,
    pub max: i64,
    pub initial: i64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_queue {
    pub name: *const ::std::os::raw::c_char,
    pub ordered: u32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct saakm_policy {
    pub abi: u32,
    pub name: *const ::std::os::raw::c_char,
    pub state_size: u64,
    pub thread_size: u64,
    pub core_size: u64,
    pub params: *const saakm_param,
    pub nr_params: u32,
    pub queues: *const saakm_queue,
    pub nr_queues: u32,
    pub reasons: *const *const ::std::os::raw::c_char,
    pub nr_reasons: u32,
    pub sets: *const *const ::std::os::raw::c_char,
    pub nr_sets: u32,
    pub init_state: ::std::option::Option<unsafe extern "C" fn(state: *mut ::std::os::raw::c_void)>,
    pub init_core: ::std::option::Option<unsafe extern "C" fn(attrs: *mut ::std::os::raw::c_void)>,
    pub init_thread: ::std::option::Option<unsafe extern "C" fn(attrs: *mut ::std::os::raw::c_void)>,
    pub new_thread: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t, parent: core_t)>,
    pub unblock: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t, waker: core_t)>,
    pub schedule: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
    pub tick: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub yield_: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub preempt: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub block: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub terminate: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub timer: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, t: thread_t)>,
    pub newly_idle: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
    pub enter_idle: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
    pub exit_idle: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
    pub balance: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
    pub entry: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
    pub exit: ::std::option::Option<unsafe extern "C" fn(s: saakm_t, c: core_t)>,
}
