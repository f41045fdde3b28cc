//! The memory that the loader and a running policy share, and the records of the ring buffers: `runtime/bpf/layout.h`.
//!
//! The running policy writes to it at any time, from any core: the loader reads single fields with
//! volatile loads, and makes no reference to a whole structure.

/// `scripts/bindings` makes it.
#[allow(non_camel_case_types, dead_code)]
mod bindings;

pub use bindings::{
    SAAKM_LAYOUT as LAYOUT, saakm_core as Core, saakm_counters as Counters, saakm_domain as Domain,
    saakm_log_record as LogRecord, saakm_set as Set, saakm_window as Window, saakm_world as World,
};

/// Numbers of the header as other types.
macro_rules! numbers {
    ($type:ty: $($name:ident = $c:ident),* $(,)?) => {
        $(pub const $name: $type = bindings::$c as $type;)*
    };
}

numbers! { usize:
    WORLD_AT = SAAKM_WORLD_AT,
    TOLD_SETS_AT = SAAKM_TOLD_SETS_AT,
    TOLD_AT = SAAKM_TOLD_AT,
    ZERO_AT = SAAKM_ZERO_AT,
    STATE_AT = SAAKM_STATE_AT,
    STATE_BYTES = SAAKM_STATE_BYTES,
    CORES_AT = SAAKM_CORES_AT,
    CORE_BYTES = SAAKM_CORE_BYTES,
    DOMAINS_AT = SAAKM_DOMAINS_AT,
    DOMAIN_BYTES = SAAKM_DOMAIN_BYTES,
    CONTEXTS_AT = SAAKM_CONTEXTS_AT,
    CONTEXT_BYTES = SAAKM_CONTEXT_BYTES,
    MAX_CORES = SAAKM_MAX_CORES,
    SET_WORDS = SAAKM_SET_WORDS,
    LEVELS = SAAKM_LEVELS,
    CONTEXTS = SAAKM_CONTEXTS,
    MAX_REASONS = SAAKM_MAX_REASONS,
    MAX_SETS = SAAKM_MAX_SETS,
    MAX_PARAMS = SAAKM_MAX_PARAMS,
}

/// What a [`LogRecord`] tells: `enum saakm_log_kind`.
pub mod log_kind {
    use super::bindings;

    numbers! { u8:
        SETS = SAAKM_L_SETS,
        CORE = SAAKM_L_CORE,
        THREAD = SAAKM_L_THREAD,
        AFFINITY = SAAKM_L_AFFINITY,
        HEAD = SAAKM_L_HEAD,
        BEGIN = SAAKM_L_BEGIN,
        WALK = SAAKM_L_WALK,
        VISIT = SAAKM_L_VISIT,
        END = SAAKM_L_END,
        READY = SAAKM_L_READY,
        RUN = SAAKM_L_RUN,
        BLOCKED = SAAKM_L_BLOCKED,
        TERMINATED = SAAKM_L_TERMINATED,
        ARM = SAAKM_L_ARM,
        CANCEL = SAAKM_L_CANCEL,
        KEEP_WARM = SAAKM_L_KEEP_WARM,
        PREEMPT = SAAKM_L_PREEMPT,
        SET = SAAKM_L_SET,
    }
}

/// `enum saakm_event`.
pub mod event {
    use super::bindings;

    numbers! { usize:
        NEW = SAAKM_E_NEW,
        UNBLOCK = SAAKM_E_UNBLOCK,
        SCHEDULE = SAAKM_E_SCHEDULE,
        TICK = SAAKM_E_TICK,
        YIELD = SAAKM_E_YIELD,
        PREEMPT = SAAKM_E_PREEMPT,
        BLOCK = SAAKM_E_BLOCK,
        TERMINATE = SAAKM_E_TERMINATE,
        TIMER = SAAKM_E_TIMER,
        NEWLY_IDLE = SAAKM_E_NEWLY_IDLE,
        ENTER_IDLE = SAAKM_E_ENTER_IDLE,
        EXIT_IDLE = SAAKM_E_EXIT_IDLE,
        BALANCE = SAAKM_E_BALANCE,
        ENTRY = SAAKM_E_ENTRY,
        EXIT = SAAKM_E_EXIT,
    }
}
