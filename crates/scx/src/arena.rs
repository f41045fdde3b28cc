//! The BPF arena of a running policy, mapped into the loader.

use crate::layout::*;
use std::ptr;

/// Address of the arena: the BPF object requests it (`map_extra`), and libbpf maps the arena there.
const BASE: usize = 1 << 44;

/// The shared memory of the one policy that this process has loaded.
///
/// The policy writes to it at any time, from any core. So fields are read and written one by one with volatile
/// loads and stores (`read!`, `store!`), and no reference to them exists. `runtime/bpf/README.md` lists the
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
    fn param(&self, index: usize) -> *mut i64 {
        assert!(index < MAX_PARAMS);
        self.at(STATE_AT + index * 8)
    }

    pub fn read_param(&self, index: usize) -> i64 {
        // SAFETY: the parameter is in the arena, which is mapped.
        unsafe { ptr::read_volatile(self.param(index)) }
    }

    pub fn write_param(&self, index: usize, value: i64) {
        // SAFETY: the parameter is in the arena, which is mapped.
        unsafe { ptr::write_volatile(self.param(index), value) };
        store!(self.world(), params[index], value);
    }

    /// The members of set number `set` of a policy with `params` parameters.
    pub fn set(&self, params: usize, set: usize) -> Vec<u32> {
        assert!(params <= MAX_PARAMS && set < MAX_SETS);
        self.members(self.at(STATE_AT + offset_of_sets(params) + set * size_of::<Set>()))
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

    /// The idle cores, ascending.
    pub(crate) fn idle(&self) -> Vec<u32> {
        self.known().filter(|core| self.is_idle(*core)).map(|core| core as u32).collect()
    }

    /// Whether the policy sees `core` as idle.
    fn is_idle(&self, core: usize) -> bool {
        let part = read!(self.core(core), part) as usize;
        assert!(part < MAX_CORES);
        let line: *const Line = self.at(LINES_AT + part * size_of::<Line>());
        read!(line, kept[KEPT_IDLE]) >> (core % 64) & 1 != 0
    }

    /// Where the sets of the runtime store the cores.
    pub(crate) fn parts(&self) -> *mut Parts {
        self.at(PARTS_AT)
    }

    /// The kernel's numbers of the cores in the topology, ascending.
    pub fn known(&self) -> impl Iterator<Item = usize> {
        let nr_cores = (read!(self.world(), nr_cores) as usize).min(MAX_CORES);
        (0..nr_cores).filter(|core| read!(self.core(*core), known) != 0)
    }

    /// Clears what belongs to no core. This also allocates the pages: from a missing page the policy would read zeros,
    /// through a page fault.
    pub(crate) fn clear(&self) {
        self.zero(WORLD_AT, STATE_AT + STATE_BYTES - WORLD_AT);
        self.zero(LINES_AT, MAX_CORES * size_of::<Line>());
        self.zero(PARTS_AT, size_of::<Parts>());
    }

    /// Clears the last logged state of cores. That of sets is a part of what `clear` clears.
    pub(crate) fn clear_logged(&self) {
        self.zero(TOLD_AT, CORES_AT - TOLD_AT);
    }

    /// Clears `core` and its contexts.
    pub(crate) fn clear_core(&self, core: usize) {
        assert!(core < MAX_CORES);
        self.zero(CORES_AT + core * CORE_BYTES, CORE_BYTES);
        self.zero(CONTEXTS_AT + core * CONTEXTS * CONTEXT_BYTES, CONTEXTS * CONTEXT_BYTES);
    }

    /// Clears a domain.
    pub(crate) fn clear_domain(&self, level: usize, index: usize) {
        assert!(level < LEVELS && index < MAX_CORES);
        self.zero(DOMAINS_AT + (level * MAX_CORES + index) * DOMAIN_BYTES, DOMAIN_BYTES);
    }

    fn zero(&self, at: usize, bytes: usize) {
        // SAFETY: callers pass ranges within the arena. No policy runs; a timer that one left behind at most reads.
        unsafe { ptr::write_bytes(self.at::<u8>(at), 0, bytes) };
    }
}

/// Offset of the sets in the state of a policy: behind the parameters, from the next cache line on.
fn offset_of_sets(params: usize) -> usize {
    const CACHE_LINE: usize = 64;
    (params * 8).next_multiple_of(CACHE_LINE)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_where_the_emitted_c_has_them() {
        let mut padded = 0;
        for name in hearth_policy::names() {
            let policy = hearth_policy::load(name).unwrap();
            let params = policy.params().len();
            if !policy.sets().is_empty() {
                let (c, gap) = (policy.c(), offset_of_sets(params) - params * 8);
                assert_eq!(c.contains("char saakm_pad["), gap > 0, "{name}");
                assert!(gap == 0 || c.contains(&format!("char saakm_pad[{gap}];")), "{name}");
                padded += usize::from(gap > 0);
            }
        }
        assert!(padded > 0);
    }
}
