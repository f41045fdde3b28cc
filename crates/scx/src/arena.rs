//! The BPF arena of a running policy, mapped into the loader.

use crate::layout::*;
use std::ptr;

/// Address of the arena: the BPF object requests it (`map_extra`), and libbpf maps the arena there.
const BASE: usize = 1 << 44;

/// The shared memory of the one policy that this process has loaded.
///
/// The policy writes to it at any time, from any core. So fields are read and written one by one with volatile
/// loads and stores (`read!`, `store!`), and no reference to them exists. `docs/src/thread-state.md` lists the
/// writers of each field.
#[derive(Debug)]
pub struct Arena {
    base: *mut u8,
}

// SAFETY: all accesses are volatile loads and stores of single fields, and each field has one writer on this side.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// The arena at its fixed address.
    ///
    /// # Safety
    /// The object that declares the arena is loaded, and outlives the result.
    pub unsafe fn mapped() -> Self {
        Arena { base: BASE as *mut u8 }
    }

    fn at<T>(&self, offset: usize) -> *mut T {
        // SAFETY: callers pass offsets within the arena, which is mapped completely.
        unsafe { self.base.add(offset).cast() }
    }

    /// State that belongs to no single core.
    pub fn world(&self) -> *mut World {
        self.at(WORLD_AT)
    }

    /// State of a core; `core` is the kernel's number, below [`MAX_CORES`].
    pub fn core(&self, core: usize) -> *mut Core {
        assert!(core < MAX_CORES);
        self.at(CORES_AT + core * CORE_BYTES)
    }

    /// Domain number `index` of a level (0: physical cores, 1: last-level caches, 2: NUMA nodes, 3: the machine).
    pub fn domain(&self, level: usize, index: usize) -> *mut Domain {
        assert!(level < LEVELS && index < MAX_CORES);
        self.at(DOMAINS_AT + (level * MAX_CORES + index) * DOMAIN_BYTES)
    }

    /// A parameter of the policy. The parameters are the first fields of its state.
    pub fn param(&self, index: usize) -> *mut i64 {
        assert!(index < MAX_PARAMS);
        self.at(STATE_AT + index * 8)
    }

    /// The members of set number `set` of a policy with `params` parameters. The sets follow the parameters.
    pub fn set(&self, params: usize, set: usize) -> Vec<u32> {
        assert!(params <= MAX_PARAMS && set < MAX_SETS);
        self.members(self.at(STATE_AT + params * 8 + set * size_of::<Set>()))
    }

    /// The members of a set in the arena, ascending.
    pub(crate) fn members(&self, set: *const Set) -> Vec<u32> {
        let nr_words = (read!(self.world(), nr_words) as usize).min(SET_WORDS);
        let mut members = Vec::new();
        for word in 0..nr_words {
            let mut bits = read!(set, word[word]);
            while bits != 0 {
                members.push((word * 64) as u32 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        members
    }

    /// The kernel's numbers of the cores in the topology, ascending.
    pub fn known(&self) -> impl Iterator<Item = usize> {
        let nr_cores = (read!(self.world(), nr_cores) as usize).min(MAX_CORES);
        (0..nr_cores).filter(|core| read!(self.core(*core), known) != 0)
    }

    /// Allocates the pages that belong to no core. From a missing page the policy would read zeros, through a page
    /// fault.
    pub(crate) fn touch(&self) {
        for at in (WORLD_AT..STATE_AT + STATE_BYTES).step_by(4096) {
            // SAFETY: the address is in the arena, which the policy does not use yet.
            unsafe { ptr::write_volatile(self.at::<u8>(at), 0) };
        }
    }

    /// Allocates the pages in which the log keeps the last logged state.
    pub(crate) fn touch_logged(&self) {
        for at in (TOLD_SETS_AT..ZERO_AT).chain(TOLD_AT..CORES_AT).step_by(4096) {
            // SAFETY: as above.
            unsafe { ptr::write_volatile(self.at::<u8>(at), 0) };
        }
    }

    /// Allocates the pages of `core` and of its contexts.
    pub(crate) fn touch_core(&self, core: usize) {
        let seen = read!(self.core(core), known);
        store!(self.core(core), known, seen);
        for context in 0..CONTEXTS {
            let at = CONTEXTS_AT + (core * CONTEXTS + context) * CONTEXT_BYTES;
            // SAFETY: as above.
            unsafe { ptr::write_volatile(self.at::<u8>(at), 0) };
        }
    }
}

/// Reads a field through a pointer to its structure in an [`Arena`].
macro_rules! read {
    ($pointer:expr, $($field:tt)+) => {
        // SAFETY: the pointer comes from an `Arena`.
        unsafe { std::ptr::read_volatile(&raw const (*$pointer).$($field)+) }
    };
}

/// Writes a field through a pointer to its structure in an [`Arena`].
macro_rules! store {
    ($pointer:expr, $field:ident $([$index:expr])*, $value:expr) => {
        // SAFETY: the pointer comes from an `Arena`.
        unsafe { std::ptr::write_volatile(&raw mut (*$pointer).$field $([$index])*, $value) }
    };
}

pub(crate) use {read, store};
