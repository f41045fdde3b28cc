//! Codes of diagnostics of all passes after the parser.

use crate::diagnostic::Code;

pub const NO_SUCH_POLICY: Code = Code::new("E0301", "unknown policy");
pub const CYCLE: Code = Code::new("E0302", "cycle of base policies");
pub const WRONG_POLICY: Code = Code::new("E0303", "file declares a different policy");
pub const DECLARED_TWICE: Code = Code::new("E0304", "declared twice");
pub const RESERVED_WORD: Code = Code::new("E0305", "redeclared library name");
pub const BAD_OVERRIDE: Code = Code::new("E0306", "override with a different kind or signature");
pub const NO_BASE_VERSION: Code = Code::new("E0307", "`super` without a base version");
pub const UNKNOWN_NAME: Code = Code::new("E0308", "unknown name");
pub const MISUSED_NAME: Code = Code::new("E0309", "name of the wrong kind");
pub const BAD_SIGNATURE: Code = Code::new("E0310", "wrong parameters of a handler or phase");
pub const NO_SUCH_FEATURE: Code = Code::new("E0311", "unknown feature");
pub const FEATURE_OR_POLICY: Code = Code::new("E0312", "feature used as a policy, or policy as a feature");
pub const SLOT_USE: Code = Code::new("E0313", "slot without a feature, or with two");
pub const OUTSIDE_SLOT: Code =
    Code::new("E0314", "feature that does not fit its slot, or clashes with another");

pub const MISMATCH: Code = Code::new("E0401", "value of the wrong type");
pub const UNITS: Code = Code::new("E0402", "incompatible units");
pub const OPTIONAL: Code = Code::new("E0403", "value may be none");
pub const ARGUMENTS: Code = Code::new("E0404", "wrong arguments");
pub const NOT_ASSIGNABLE: Code = Code::new("E0405", "not assignable");
pub const BAD_ITERATION: Code = Code::new("E0406", "unsupported iteration");
pub const BAD_STORAGE: Code = Code::new("E0407", "type cannot be stored or returned");
pub const MISSING_RETURN: Code = Code::new("E0408", "path without a return value");
pub const NOT_IN_LOOP: Code = Code::new("E0409", "`break` or `continue` outside of a loop");
pub const HIDDEN_EFFECT: Code = Code::new("E0410", "effect where the order of evaluation is unspecified");

pub const ILLEGAL_TRANSITION: Code = Code::new("E0501", "transition not allowed in this event");
pub const MISSING_TRANSITION: Code = Code::new("E0502", "path without the required transition");
pub const WRONG_THREAD: Code = Code::new("E0503", "transition of the wrong thread");
pub const WRONG_CORE: Code = Code::new("E0504", "transition to the wrong core");
pub const RESULT_AND_TRANSITION: Code =
    Code::new("E0505", "function with both a return value and a transition");
pub const ILLEGAL_STEAL: Code = Code::new("E0506", "steal not allowed in this event");
pub const NO_HANDLER: Code = Code::new("E0507", "event without a handler");

pub const RECURSION: Code = Code::new("E0601", "recursion");
pub const LOOP_SET_REPLACED: Code = Code::new("E0602", "loop over a set that its body replaces");
pub const NOT_CONSTANT: Code = Code::new("E0603", "not a constant");
pub const OUT_OF_RANGE: Code = Code::new("E0604", "value out of range");
pub const TOO_MUCH_STATE: Code = Code::new("E0605", "too much state for the runtime");
pub const TOO_MANY_CALLS: Code = Code::new("E0606", "too many calls");

pub const UNUSED_PARAM: Code = Code::new("W0601", "unused parameter");
pub const UNUSED_FUNCTION: Code = Code::new("W0602", "unreachable function");
pub const UNREACHABLE: Code = Code::new("W0603", "unreachable code");
pub const DIVISION_BY_ZERO: Code = Code::new("W0604", "division by zero");
pub const FORBIDDEN_CORE: Code = Code::new("W0605", "placement without an affinity test");

/// All codes in order, for the language reference.
pub const ALL: &[Code] = &[
    NO_SUCH_POLICY,
    CYCLE,
    WRONG_POLICY,
    DECLARED_TWICE,
    RESERVED_WORD,
    BAD_OVERRIDE,
    NO_BASE_VERSION,
    UNKNOWN_NAME,
    MISUSED_NAME,
    BAD_SIGNATURE,
    NO_SUCH_FEATURE,
    FEATURE_OR_POLICY,
    SLOT_USE,
    OUTSIDE_SLOT,
    MISMATCH,
    UNITS,
    OPTIONAL,
    ARGUMENTS,
    NOT_ASSIGNABLE,
    BAD_ITERATION,
    BAD_STORAGE,
    MISSING_RETURN,
    NOT_IN_LOOP,
    HIDDEN_EFFECT,
    ILLEGAL_TRANSITION,
    MISSING_TRANSITION,
    WRONG_THREAD,
    WRONG_CORE,
    RESULT_AND_TRANSITION,
    ILLEGAL_STEAL,
    NO_HANDLER,
    RECURSION,
    LOOP_SET_REPLACED,
    NOT_CONSTANT,
    OUT_OF_RANGE,
    TOO_MUCH_STATE,
    TOO_MANY_CALLS,
    UNUSED_PARAM,
    UNUSED_FUNCTION,
    UNREACHABLE,
    DIVISION_BY_ZERO,
    FORBIDDEN_CORE,
];
