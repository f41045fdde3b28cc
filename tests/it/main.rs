//! Tests of the whole.

mod differential;
