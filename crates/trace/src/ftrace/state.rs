//! `prev_state` of `sched_switch`: why a thread stopped running.

use crate::Stop;

/// State bits of one kernel: one bit for each way of sleeping, some for dead threads. A bit above all of these means
/// "preempted while runnable" (printed as `R+`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States {
    named: u64,
    dead: u64,
}

impl States {
    /// Reads the pairs by which the kernel prints states: `S`, `D`, `T`, `t`, `X`, `Z`, `P`, `I`; before Linux 4.14
    /// also `x`, `K`, `W` and `N`.
    pub fn new(flags: &[(u64, String)]) -> Result<Self, String> {
        let bits = |names: &[&str]| {
            let named = flags.iter().filter(|(_, name)| names.is_empty() || names.contains(&name.as_str()));
            named.fold(0, |bits, (bit, _)| bits | bit)
        };
        match bits(&["X", "Z", "x"]) {
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

/// Meaning of the numbers of `prev_state` where no table is beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateBits {
    /// Linux 4.13 and earlier.
    Before414,
    Since414,
}

/// `TASK_NOLOAD`, which only occurs together with `D`; the mark of preemption before Linux 4.4.
const NOLOAD: u64 = 0x400;

impl StateBits {
    /// `release` is what `uname -r` prints; `None`: it is no number.
    pub fn of_release(release: &str) -> Option<Self> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>());
        let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some(if version < (4, 14) { StateBits::Before414 } else { StateBits::Since414 })
    }

    pub fn stop(self, state: u64) -> Stop {
        match self {
            StateBits::Before414 if state == NOLOAD => Stop::Preempted,
            StateBits::Before414 => States { named: 0x7ff, dead: 0x70 }.stop(state),
            StateBits::Since414 => States { named: 0xff, dead: 0x30 }.stop(state),
        }
    }
}

/// What the states of a recording tell about its kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateEvidence {
    before: bool,
    since: bool,
    /// Dead before Linux 4.14, parked since.
    dead_or_parked: bool,
}

impl StateEvidence {
    pub fn see(&mut self, state: u64) {
        self.before |= state > 0x1ff;
        // R+, I, X and Z.
        self.since |= state == 0x100 || state == 0x80 || (1..0x40).contains(&state) && state & 0x30 != 0;
        self.dead_or_parked |= state == 0x40;
    }

    /// Threads exit in most recordings and are parked in few.
    pub fn bits(self) -> StateBits {
        match self.before || self.dead_or_parked && !self.since {
            true => StateBits::Before414,
            false => StateBits::Since414,
        }
    }

    /// True if the states have no sign of a kernel, and one of them has two meanings.
    pub fn is_ambiguous(self) -> bool {
        self.dead_or_parked && !self.before && !self.since
    }
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
    use crate::ftrace::format::{Format, Order};

    /// The table of Linux 4.14 to 6.18.
    const PRINT: &str = "print fmt: \"\", __print_flags(REC->prev_state & 0xff, \"|\", \
        { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, \
        { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\"";

    /// The tables of Linux 4.4 to 4.13. 3.10 has the same without `N`.
    const DECIMAL: &str = "print fmt: \"\", __print_flags(REC->prev_state & (2048-1), \"|\", \
        { 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, { 64, \"x\" }, \
        { 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, \"N\" }) : \"R\"";

    fn table(print: &str) -> States {
        let text = format!("field:int a; offset:0; size:4; signed:1;\n{print}");
        States::new(&Format::parse(&text, Order::Little).unwrap().flags().unwrap()).unwrap()
    }

    #[test]
    fn states_have_the_meaning_that_the_kernel_prints() {
        let expected = [
            (0x000, "R", Stop::Preempted),
            (0x100, "R+", Stop::Preempted),
            (0x001, "S", Stop::Blocked),
            (0x002, "D|K", Stop::Blocked),
            (0x080, "I", Stop::Blocked),
            (0x040, "P", Stop::Blocked),
            (0x010, "X", Stop::Exited),
            (0x020, "Z", Stop::Exited),
        ];
        for (bits, letters, stop) in expected {
            let read = (StateBits::Since414.stop(bits), table(PRINT).stop(bits), stop_of_letters(letters));
            assert_eq!(read, (stop, stop, Some(stop)), "{letters}");
        }
        assert!(States::new(&[]).is_err());
        assert_eq!((stop_of_letters(""), stop_of_letters("3")), (None, None));
    }

    #[test]
    fn states_before_4_14_have_other_bits() {
        let expected = [
            (0, "R", Stop::Preempted),
            (2048, "R+", Stop::Preempted),
            (2049, "S+", Stop::Preempted),
            (4096, "R+", Stop::Preempted),
            (1, "S", Stop::Blocked),
            (130, "D|K", Stop::Blocked),
            (1026, "D|N", Stop::Blocked),
            (256, "W", Stop::Blocked),
            (512, "P", Stop::Blocked),
            (16, "Z", Stop::Exited),
            (32, "X", Stop::Exited),
            (64, "x", Stop::Exited),
        ];
        for (bits, letters, stop) in expected {
            let read = (StateBits::Before414.stop(bits), table(DECIMAL).stop(bits), stop_of_letters(letters));
            assert_eq!(read, (stop, stop, Some(stop)), "{letters}");
        }
        let older = DECIMAL.replace(", { 1024, \"N\" }", "");
        assert_eq!(
            (table(&older).stop(1024), StateBits::Before414.stop(1024)),
            (Stop::Preempted, Stop::Preempted)
        );
    }

    #[test]
    fn the_kernel_is_known_by_its_release_or_its_states() {
        use StateBits::{Before414, Since414};
        let releases =
            [("4.4.302", Before414), ("4.13.0-generic", Before414), ("4.14", Since414), ("7.3.0", Since414)];
        for (release, bits) in releases {
            assert_eq!(StateBits::of_release(release), Some(bits), "{release}");
        }
        assert_eq!((StateBits::of_release(""), StateBits::of_release("6")), (None, None));
        let seen = |states: &[u64]| {
            let mut evidence = StateEvidence::default();
            states.iter().for_each(|state| evidence.see(*state));
            (evidence.bits(), evidence.is_ambiguous())
        };
        assert_eq!(seen(&[0, 1, 2]), (Since414, false));
        assert_eq!(seen(&[0, 1, 64]), (Before414, true));
        assert_eq!(seen(&[0, 2048, 64]), (Before414, false));
        assert_eq!(seen(&[1024, 1, 2]), (Before414, false));
        assert_eq!(seen(&[0x100, 64]), (Since414, false));
        assert_eq!(seen(&[0x20, 64]), (Since414, false));
        assert_eq!(seen(&[130, 1]), (Since414, false));
    }
}
