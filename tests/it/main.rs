//! Tests of the whole.

mod architecture;
mod colours;
mod differential;
