//! What words mean, and that a real kernel takes the programs.

use super::*;
use crate::record::decode::{KernelEvent, What};
use hearth_trace::Stop;
