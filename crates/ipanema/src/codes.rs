//! Codes of the diagnostics of the passes behind the parser.

use crate::diagnostic::Code;

pub const NO_SUCH_POLICY: Code = Code::new("E0301", "unknown policy");
pub const CYCLE: Code = Code::new("E0302", "policies that extend each other");
pub const WRONG_POLICY: Code = Code::new("E0303", "a file that declares another policy");
pub const DECLARED_TWICE: Code = Code::new("E0304", "declared twice");
pub const RESERVED_WORD: Code = Code::new("E0305", "a word of the library declared anew");
pub const BAD_OVERRIDE: Code = Code::new("E0306", "replaces something of another kind or signature");
pub const NOTHING_ABOVE: Code = Code::new("E0307", "`super` without something to go back to");
pub const UNKNOWN_NAME: Code = Code::new("E0308", "unknown name");
pub const MISUSED_NAME: Code = Code::new("E0309", "a name used as what it is not");
pub const BAD_SIGNATURE: Code = Code::new("E0310", "wrong parameters of a handler or phase");

pub const MISMATCH: Code = Code::new("E0401", "value of the wrong type");
pub const UNITS: Code = Code::new("E0402", "units that do not go together");
pub const OPTIONAL: Code = Code::new("E0403", "a value that may be none");
pub const ARGUMENTS: Code = Code::new("E0404", "wrong arguments");
pub const NOT_ASSIGNABLE: Code = Code::new("E0405", "cannot be assigned");
pub const BAD_ITERATION: Code = Code::new("E0406", "cannot be iterated so");
pub const BAD_STORAGE: Code = Code::new("E0407", "type that cannot be kept or returned");
pub const MISSING_RETURN: Code = Code::new("E0408", "path without a result");
pub const NOT_IN_LOOP: Code = Code::new("E0409", "`break` or `continue` outside of a loop");
pub const HIDDEN_EFFECT: Code = Code::new("E0410", "effect where the order of evaluation is open");

pub const ILLEGAL_TRANSITION: Code = Code::new("E0501", "transition that this event does not allow");
pub const MISSING_TRANSITION: Code = Code::new("E0502", "path without the transition that is due");
pub const WRONG_THREAD: Code = Code::new("E0503", "transition of a thread that is not the event's");
pub const WRONG_CORE: Code = Code::new("E0504", "transition on a core that is not the thread's");
pub const MOVING_VALUE: Code = Code::new("E0505", "a function that both returns and moves");
pub const ILLEGAL_STEAL: Code = Code::new("E0506", "steal in an event that does not allow it");
pub const NO_HANDLER: Code = Code::new("E0507", "event without a handler");

pub const RECURSION: Code = Code::new("E0601", "recursion");
pub const MOVING_GROUND: Code = Code::new("E0602", "a loop over what its body replaces");
pub const NOT_CONSTANT: Code = Code::new("E0603", "not a constant");
pub const OUT_OF_RANGE: Code = Code::new("E0604", "value outside of its range");
pub const TOO_MANY_PLACES: Code = Code::new("E0605", "more state than the runtime has room for");

pub const UNUSED_PARAM: Code = Code::new("W0601", "parameter that nothing uses");
pub const UNUSED_FUNCTION: Code = Code::new("W0602", "function that nothing calls");
pub const UNREACHABLE: Code = Code::new("W0603", "code that is never reached");
pub const DIVISION_BY_ZERO: Code = Code::new("W0604", "division by zero");
pub const FORBIDDEN_CORE: Code = Code::new("W0605", "placement without a look at the thread's affinity");

/// All of them, in order, for the manual.
pub const ALL: &[Code] = &[
    NO_SUCH_POLICY,
    CYCLE,
    WRONG_POLICY,
    DECLARED_TWICE,
    RESERVED_WORD,
    BAD_OVERRIDE,
    NOTHING_ABOVE,
    UNKNOWN_NAME,
    MISUSED_NAME,
    BAD_SIGNATURE,
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
    MOVING_VALUE,
    ILLEGAL_STEAL,
    NO_HANDLER,
    RECURSION,
    MOVING_GROUND,
    NOT_CONSTANT,
    OUT_OF_RANGE,
    TOO_MANY_PLACES,
    UNUSED_PARAM,
    UNUSED_FUNCTION,
    UNREACHABLE,
    DIVISION_BY_ZERO,
    FORBIDDEN_CORE,
];
