//! Last pass: emission of other languages from the IR.

mod c;

pub use c::{Contracted, Contracts, contracts, emit as c};
