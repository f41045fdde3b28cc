//! CPU time to cycles: how fast did this core run then?

use hearth_trace::{CoreId, Event, Header, Kind, Time};

/// Where a core's frequency comes from, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Source {
    /// The header's assumption.
    Assumed,
    /// What the kernel saw at its ticks.
    Ticks,
    Events,
}

/// Frequency of each core as the trace goes on.
pub(super) struct Clock {
    cores: Vec<(Source, u32)>,
    assumed: u32,
}

impl Clock {
    /// Every core at the header's assumption.
    pub fn new(header: &Header) -> Self {
        let assumed = match header.assumed_khz {
            0 => crate::generate::NOMINAL_KHZ,
            khz => khz,
        };
        Clock { cores: vec![(Source::Assumed, assumed); header.cores.len()], assumed }
    }

    /// Takes an event of the survey: what a core uses until its first frequency is known is that
    /// first frequency, of the best source that the whole trace has for this core.
    pub fn survey(&mut self, event: &Event) {
        if let Some((source, khz)) = frequency(event).filter(|&(_, khz)| khz > 0) {
            let core = self.core(event.core);
            if core.0 < source {
                *core = (source, khz);
            }
        }
    }

    fn core(&mut self, core: CoreId) -> &mut (Source, u32) {
        let index = usize::from(core);
        if index >= self.cores.len() {
            self.cores.resize(index + 1, (Source::Assumed, self.assumed));
        }
        &mut self.cores[index]
    }

    /// The frequency of `core` now, in kHz.
    pub fn khz(&mut self, core: CoreId) -> u32 {
        self.core(core).1
    }

    /// Whether the trace knows the frequency of `core`.
    pub fn known(&mut self, core: CoreId) -> bool {
        self.core(core).0 > Source::Assumed
    }

    /// The frequency used where none is known, in kHz.
    pub fn assumed(&self) -> u32 {
        self.assumed
    }

    /// The core's new frequency, if `event` changes it.
    pub fn change(&mut self, event: &Event) -> Option<u32> {
        let (source, khz) = frequency(event)?;
        let khz = if khz == 0 { self.assumed } else { khz };
        let core = self.core(event.core);
        (core.0 == source && core.1 != khz).then_some(khz)
    }

    pub fn set(&mut self, core: CoreId, khz: u32) {
        self.core(core).1 = khz;
    }
}

fn frequency(event: &Event) -> Option<(Source, u32)> {
    match event.kind {
        Kind::Frequency { khz } => Some((Source::Events, khz)),
        Kind::Tick { khz } if khz > 0 => Some((Source::Ticks, khz)),
        _ => None,
    }
}

/// The clock of a machine whose busy cores take turns ([`hearth_trace::INSTRUCTIONS`]).
#[derive(Default)]
pub(super) struct TurnClock {
    /// Nanoseconds of a core that was busy all the time, times `UNIT`.
    worked: u128,
}

impl TurnClock {
    const UNIT: u128 = 1 << 32;

    /// For `time`, this many cores were busy.
    pub fn advance(&mut self, time: Time, busy: usize) {
        self.worked += u128::from(time) * Self::UNIT / busy.max(1) as u128;
    }

    pub fn worked(&self) -> Time {
        (self.worked / Self::UNIT) as Time
    }
}

/// Work in units of kHz times nanoseconds, a millionth of a cycle: exact where frequencies change.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Work(u128);

impl Work {
    pub fn add(&mut self, from: Time, to: Time, khz: u32) {
        self.0 += u128::from(to.saturating_sub(from)) * u128::from(khz);
    }

    /// Takes the whole cycles out and keeps the rest.
    pub fn take_cycles(&mut self) -> u64 {
        const UNIT: u128 = 1_000_000;
        let cycles = u64::try_from(self.0 / UNIT).unwrap_or(u64::MAX);
        self.0 %= UNIT;
        cycles
    }
}
