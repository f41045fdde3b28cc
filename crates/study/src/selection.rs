//! What a user names: machines, governors, policies and parameters, as text.

use hearth_machine::Governor;
use hearth_policy::{ScopedAssignment, Spec};

/// What to simulate, by name. [`Matrix::load`](crate::Matrix::load) loads it.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names of built-in machines, or paths of machine files.
    pub machines: Vec<String>,
    pub governors: Vec<Governor>,
    /// Without any: all built-in policies.
    pub policies: Vec<Spec>,
    pub params: Vec<ScopedAssignment>,
}
