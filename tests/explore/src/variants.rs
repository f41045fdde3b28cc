//! The compiled variants of `runtime/words.h`: as it is, and with one fault each.

include!("mutants.rs");
include!(concat!(env!("OUT_DIR"), "/variants.rs"));

/// `struct operations` of `words.c`.
#[repr(C)]
pub struct Operations {
    pub word_after: unsafe extern "C-unwind" fn(word: u64, change: u32, thread: u32) -> u64,
    pub change_core: unsafe extern "C-unwind" fn(core: u32, change: u32, thread: u32) -> u32,
    pub change_place: unsafe extern "C-unwind" fn(thread: u32, old: u64, state: u32, core: u32) -> u32,
    pub take_core: unsafe extern "C-unwind" fn(thread: u32, old: u64, core: u32) -> u32,
    pub awaits: unsafe extern "C-unwind" fn(core: u32, not_coming: u32) -> bool,
    pub take_claim: unsafe extern "C-unwind" fn(core: u32) -> u32,
    pub release_claim: unsafe extern "C-unwind" fn(core: u32),
    pub has_missed: unsafe extern "C-unwind" fn(heard: *mut u64) -> bool,
}

impl Operations {
    /// `runtime/words.h`.
    pub fn original() -> &'static Operations {
        Operations::variant("").expect("compiled by build.rs")
    }

    /// A variant of [`mutants`].
    pub fn variant(name: &str) -> Option<&'static Operations> {
        // SAFETY: a constant table that words.c defines.
        operations(name).map(|table| unsafe { &*table })
    }
}

/// Names of the variants with a fault.
pub fn mutants() -> impl Iterator<Item = &'static str> {
    MUTANTS.iter().map(|(name, _)| *name)
}
