//! The interface between a policy's C code and the simulator: `runtime/saakm.h` and `runtime/host/saakm_host.h`.

use std::ffi::c_void;
use std::ptr;

// `scripts/bindings` generates it.
#[allow(non_camel_case_types, dead_code)]
mod bindings;

pub use bindings::{
    SAAKM_ABI as ABI, saakm as Instance, saakm_core as Core, saakm_domain as Domain, saakm_ops as Ops,
    saakm_param as Param, saakm_policy as PolicyTable, saakm_queue as Queue, saakm_set as Set,
    saakm_thread as Thread,
};

pub const MAX_CORES: usize = bindings::SAAKM_MAX_CORES as usize;
pub const SET_WORDS: usize = bindings::SAAKM_SET_WORDS as usize;
/// Number of topology levels: smt, llc, numa, machine.
pub const LEVELS: usize = bindings::SAAKM_LEVELS as usize;
/// The level of the last-level cache.
pub const LLC: usize = bindings::SAAKM_LLC as usize;
/// The reason of a transition without `because`: 0, "none".
pub const NO_REASON: u32 = 0;

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

impl Instance {
    /// An instance without core and domain tables. All sets of cores are empty.
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
            looked: [0; MAX_CORES],
        }
    }

    /// Sets the core and domain tables, which must outlive the instance and must not move.
    pub fn point_to(&mut self, cores: &mut [Core], domains: &mut [Vec<Domain>; LEVELS]) {
        self.cores = cores.as_mut_ptr();
        for (level, domains) in domains.iter_mut().enumerate() {
            self.domains[level] = domains.as_mut_ptr();
            self.nr_domains[level] = domains.len() as u32;
        }
    }
}

pub type OnThread = Option<unsafe extern "C" fn(*mut Instance, *mut Thread)>;
pub type OnThreadCore = Option<unsafe extern "C" fn(*mut Instance, *mut Thread, u32)>;
pub type OnCore = Option<unsafe extern "C" fn(*mut Instance, u32)>;
pub type Init = Option<unsafe extern "C" fn(*mut c_void)>;
