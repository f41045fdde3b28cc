//! Finds the best product of the feature model for a workload, with few simulations.
//!
//! - [`Pool`]: the products to choose from.
//! - [`Experience`]: how they did on other applications, and the [`Profile`](hearth_workload::Profile) of each.
//! - [`Search`]: proposes the product to try next, by one of the [`Method`]s.
//! - [`replay()`]: searches in a table of all runs, which tells how far from the best one a method ends.
//! - [`tune()`]: searches with simulations, and compares the winner with today's scheduler. [`Report`] shows the result.

mod cholesky;
mod error;
mod experience;
mod find;
mod forest;
mod gaussian;
mod pool;
mod replay;
mod report;
mod search;

pub use error::Error;
pub use experience::{Application, Experience};
pub use find::{BASELINE, Goal, Plan, Recommendation, Rival, others, tune};
pub use forest::importance;
pub use pool::{Distance, Pool, space};
pub use replay::{Replay, ReplayResult, replay};
pub use report::{ClaimVerdict, Compared, Report, Similar};
pub use search::{Method, Search};
