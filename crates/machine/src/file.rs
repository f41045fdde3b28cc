//! The machine file, as it is written.

use crate::costs::Costs;
use crate::frequency::{FrequencySpec, PowerSpec};
use crate::idle::IdleState;
use crate::topology::Shape;
use serde::{Deserialize, Serialize};

/// A machine file: every key of it. `docs/src/machines.md` explains them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineFile {
    pub name: String,
    pub model: String,
    pub topology: Shape,
    pub frequency: FrequencySpec,
    pub power: PowerSpec,
    pub costs: Costs,
    #[serde(default)]
    pub idle: Vec<IdleState>,
}
