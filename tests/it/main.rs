//! Tests of the whole.

mod colours;
mod differential;
