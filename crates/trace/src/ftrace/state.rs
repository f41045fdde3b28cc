//! `prev_state` of `sched_switch`: why a thread stopped running.

use crate::Stop;

/// State bits of one kernel: one bit for each way of sleeping, two for dead threads. A bit above all of these means
/// "preempted while runnable" (printed as `R+`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States {
    named: u64,
    dead: u64,
}

/// The bits of Linux 4.14 to 6.18.
const LINUX: States = States { named: 0xff, dead: 0x30 };

impl States {
    /// Reads the pairs by which the kernel prints states (`S`, `D`, `T`, `t`, `X`, `Z`, `P`, `I`).
    pub fn new(flags: &[(u64, String)]) -> Result<Self, String> {
        let bits = |names: &[&str]| {
            let named = flags.iter().filter(|(_, name)| names.is_empty() || names.contains(&name.as_str()));
            named.fold(0, |bits, (bit, _)| bits | bit)
        };
        match bits(&["X", "Z"]) {
            0 => Err("it does not name the states of dead threads".into()),
            dead => Ok(States { named: bits(&[]), dead }),
        }
    }

    /// A thread that called `sched_yield` has the same state (0) as one that was preempted on its way back to user
    /// space; both count as preempted.
    pub fn stop(&self, state: u64) -> Stop {
        match state {
            0 => Stop::Preempted,
            preempted if preempted & !self.named != 0 => Stop::Preempted,
            dead if dead & self.dead != 0 => Stop::Exited,
            _ => Stop::Blocked,
        }
    }
}

/// Decodes `prev_state` of Linux 4.14 and later.
pub fn stop_of_bits(state: u64) -> Stop {
    LINUX.stop(state)
}

/// Decodes a printed state: `R`, `R+`, `S`, `D|K`, … `None`: this is no state.
pub fn stop_of_letters(state: &str) -> Option<Stop> {
    let state = state.trim();
    match state {
        _ if state.ends_with('+') => Some(Stop::Preempted),
        "R" => Some(Stop::Preempted),
        _ if state.is_empty() || !state.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'|') => {
            None
        }
        _ if state.contains(['X', 'Z', 'x']) => Some(Stop::Exited),
        _ => Some(Stop::Blocked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftrace::format::Format;

    /// The table of Linux 4.14 to 6.18.
    const PRINT: &str = "print fmt: \"\", __print_flags(REC->prev_state & 0xff, \"|\", \
        { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, \
        { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\"";

    #[test]
    fn states_have_the_meaning_that_the_kernel_prints() {
        let format = Format::parse(&format!("field:int a; offset:0; size:4; signed:1;\n{PRINT}")).unwrap();
        assert_eq!(States::new(&format.flags()), Ok(LINUX));
        let expected = [
            (0x000, "R", Stop::Preempted),
            (0x100, "R+", Stop::Preempted),
            (0x001, "S", Stop::Blocked),
            (0x002, "D|K", Stop::Blocked),
            (0x080, "I", Stop::Blocked),
            (0x010, "X", Stop::Exited),
            (0x020, "Z", Stop::Exited),
        ];
        for (bits, letters, stop) in expected {
            assert_eq!((stop_of_bits(bits), stop_of_letters(letters)), (stop, Some(stop)), "{letters}");
        }
        assert!(States::new(&[]).is_err());
        assert_eq!((stop_of_letters(""), stop_of_letters("3")), (None, None));
    }
}
