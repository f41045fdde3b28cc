//! The names of machines, governors, policies and parameters that a user selects.

use hearth_machine::Scaling;
use hearth_policy::{ScopedAssignment, Spec};

/// The names of what to simulate. [`Matrix::load`](crate::Matrix::load) loads it.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names of built-in machines, or paths of machine files.
    pub machines: Vec<String>,
    pub governors: Vec<Scaling>,
    /// Empty means all built-in policies. The first is the baseline.
    pub policies: Vec<Spec>,
    pub params: Vec<ScopedAssignment>,
}
