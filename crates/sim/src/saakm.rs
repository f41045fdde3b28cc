//! The interface between a policy's C code and its runtime: `runtime/saakm.h` and `runtime/host/saakm_host.h`.
//!
//! A [`Runtime`] gives a policy its world: the simulator, or the replay of a kernel's log. [`Host`] calls the policy's
//! handlers and passes their operations to the runtime. [`Memory`] owns what both sides share, and all pointers in it.

use std::ffi::c_void;

// `scripts/bindings` generates it.
#[allow(non_camel_case_types, dead_code)]
mod bindings;
mod decision;
mod host;
mod memory;

pub use bindings::{
    SAAKM_ABI as ABI, saakm as Instance, saakm_core as Core, saakm_domain as Domain, saakm_param as Param,
    saakm_policy as PolicyTable, saakm_queue as Queue, saakm_set as Set, saakm_thread as Thread,
};
pub use decision::Decision;
pub use host::{Call, Host, Runtime};
pub use memory::{CoreFacts, Memory};

use bindings::saakm_ops as Ops;

pub const MAX_CORES: usize = bindings::SAAKM_MAX_CORES as usize;
pub const SET_WORDS: usize = bindings::SAAKM_SET_WORDS as usize;
/// Number of topology levels: smt, llc, numa, machine.
pub const LEVELS: usize = bindings::SAAKM_LEVELS as usize;
/// The level of the physical core.
pub const SMT: usize = bindings::SAAKM_SMT as usize;
/// The level of the last-level cache.
pub const LLC: usize = bindings::SAAKM_LLC as usize;
/// The bit of [`Instance::facts`] that says that the waker is exiting.
pub const WAKER_EXITS: u32 = bindings::SAAKM_WAKER_EXITS;
/// The bit that says that the waker is about to sleep.
pub const WAKER_SLEEPS: u32 = bindings::SAAKM_WAKER_SLEEPS;
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

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let words = self.word.iter().zip(0..).filter(|(word, _)| **word != 0);
        words.flat_map(|(word, at)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        })
    }

    /// Inserts the members of `other`.
    #[inline]
    pub fn insert_all(&mut self, other: &Set) {
        self.word.iter_mut().zip(&other.word).for_each(|(word, other)| *word |= other);
    }

    /// Removes the members of `other`.
    #[inline]
    pub fn remove_all(&mut self, other: &Set) {
        self.word.iter_mut().zip(&other.word).for_each(|(word, other)| *word &= !other);
    }

    /// Whether it has all members of `other`.
    #[inline]
    pub fn contains_all(&self, other: &Set) -> bool {
        self.word.iter().zip(&other.word).all(|(word, other)| other & !word == 0)
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

type OnThread = Option<unsafe extern "C" fn(*mut Instance, *mut Thread)>;
type OnThreadCore = Option<unsafe extern "C" fn(*mut Instance, *mut Thread, u32)>;
type OnCore = Option<unsafe extern "C" fn(*mut Instance, u32)>;
type Init = Option<unsafe extern "C" fn(*mut c_void)>;
