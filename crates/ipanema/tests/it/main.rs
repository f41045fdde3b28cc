//! The tests of this crate, in one binary.

mod checks;
mod common;
mod diagnostics;
mod features;
mod golden;
mod harness;
mod ir;
mod native;
mod policies;
mod properties;
mod reference;
mod robust;
mod steal;
mod syntax;
