//! Last pass: emission of other languages from the IR.

mod c;

pub use c::{Contracts, FunctionContract, contracts, emit as c};
