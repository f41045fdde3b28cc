//! Last pass: from the IR to other languages.

mod c;

pub use c::emit as c;
