//! Serde representation of a machine file.

use crate::costs::Costs;
use crate::frequency::{FrequencySpec, PowerSpec};
use crate::idle::IdleState;
use crate::topology::Shape;
use serde::{Deserialize, Serialize};

/// Contents of a machine file. `docs/src/machines.md` describes the keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineFile {
    pub name: String,
    pub model: String,
    pub topology: Shape,
    pub frequency: FrequencySpec,
    pub power: Option<PowerSpec>,
    pub costs: Costs,
    #[serde(default)]
    pub idle: Vec<IdleState>,
}
