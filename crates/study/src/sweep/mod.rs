//! Sweeps: many workloads × machines × governors × policies × seeds, as one Parquet table.
//!
//! A sweep consists of [`Chunk`]s: one workload on one machine under one governor, with some of the policies. Each chunk is
//! written to a file of its own, whose name is the hash of everything that its rows depend on. A chunk whose file exists is not
//! run again. So a sweep that was killed continues where it stopped, several processes can share a sweep, and
//! nothing is lost or counted twice. When all chunks exist, [`Sweep::merge`] writes them to one table, in their order.
//!
//! The table does not depend on the number of workers, on their order, or on interruptions.

mod chunk;
mod run;
mod table;

pub use chunk::{Chunk, Sweep};
pub use run::GiveUp;
pub use table::{End, Row, read, sweep_of};
