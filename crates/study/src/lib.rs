//! Studies: many simulations, and statistics over their results.
//!
//! - [`Matrix`]: simulates machines × governors × policies × seeds. Its result is a [`Prediction`].
//! - [`claims`] and [`reproduction`]: the papers' claims, and the simulated result of each.
//! - [`catalogue`]: lists the built-in machines, policies and workload generators.
//! - [`measure`]: the report about one trace or two.
//! - [`ranks`]: the comparison of measured runs.
//! - [`statistics`]: means over seeds, and confidence intervals of their ratios.
//! - [`sweep`]: many workloads, and a table of all runs.
//! - [`methodology`]: which features of a scheduler matter for an application, as the thesis defines it.
//! - [`tune`]: finds the best product of the feature model for a workload, with few simulations.
//! - [`Plays`]: the report about plays of a workload on a live kernel.
//!
//! This crate prints nothing. Long computations call a callback after each simulation.
//!
//! # A sweep
//!
//! ```
//! use hearth_study::{Keep, Matrix, Selection};
//! use hearth_workload::Workload;
//!
//! let selection = Selection {
//!     machines: vec!["ryzen-3400g".into()],
//!     governors: vec!["schedutil".parse()?],
//!     policies: vec!["cfs".parse()?, "nest:r_max=0".parse()?],
//!     params: Vec::new(),
//! };
//! let matrix = Matrix { runs: 2, ..Matrix::load(&selection)? };
//! let workload = Workload::resolve("fork-wait:iterations=5")?;
//! let prediction = matrix.predict(&workload, Vec::new(), &Keep::default(), || ())?;
//! for row in prediction.rows() {
//!     let speedup = row.against.map_or(0.0, |against| against.speedup.value);
//!     println!("{}: {:.4} s, {speedup:+.3}", row.setting.label(), row.time.mean);
//! }
//! assert_eq!(prediction.rows().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by;
pub mod catalogue;
pub mod claims;
mod csv;
mod difference;
mod error;
mod fleet;
mod matrix;
pub mod measure;
pub mod methodology;
mod plays;
mod prediction;
mod provenance;
pub mod ranks;
pub mod reproduction;
mod selection;
mod sensitivity;
pub mod statistics;
pub mod sweep;
pub mod tune;
mod verdict;

pub use by::By;
pub use difference::{AgainstBase, Difference, Speedup};
pub use error::Error;
pub use fleet::{Fleet, FleetRow};
pub use matrix::{Gaps, Keep, Matrix, Variant};
pub use plays::{LatencyFacts, Overall, Plays, RunFacts};
pub use prediction::{Against, Answer, Prediction, Row, Run, Setting, WorkloadFacts};
pub use provenance::{Provenance, RecordedFacts, date};
pub use selection::Selection;
pub use sensitivity::Sensitivity;
pub use verdict::{Conclusion, Effect, NOTICEABLE, NoVerdict, Verdict, accuracy};
