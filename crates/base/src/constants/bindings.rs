// Made by scripts/bindings from runtime/saakm.h.

pub const SAAKM_TICK_NS: u32 = 4000000;
pub const SAAKM_NICE_0_WEIGHT: u32 = 1024;
pub const SAAKM_MAX_WEIGHT: u32 = 1048576;
pub const SAAKM_MAX_CORES: u32 = 1024;
pub const SAAKM_MAX_QUEUES: u32 = 4;
