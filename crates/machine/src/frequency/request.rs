//! The kernel's requests: what each governor asks for, and what the request means to the hardware.

use super::counters::Reading;
use super::governor::Governor;
use super::pstate::{PState, PStates};
use super::sampler::{Sample, Sampler};
use super::schedutil::{self, Schedutil};
use super::spec::{Control, FrequencySpec, Performance, Powersave};

/// Range within which the hardware chooses the P-state of one physical core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Lowest P-state while busy.
    pub floor: PState,
    /// Highest P-state.
    pub ceiling: PState,
}

/// A governor with its state for each hardware thread.
enum Software {
    /// The request never changes.
    Fixed,
    Sampler(Sampler, Vec<Sample>),
    Schedutil(Schedutil, Vec<schedutil::State>),
}

/// Requests for all hardware threads of a machine.
pub(super) struct Requests {
    software: Software,
    /// Last request for each hardware thread.
    requests: Vec<PState>,
    /// P-states that the kernel can request, ascending; empty if all.
    possible: Vec<PState>,
    meaning: Meaning,
    top: PState,
}

/// What a request means to the hardware.
#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    /// Run this P-state.
    Exact,
    /// Run at least this P-state.
    Floor,
    /// Run this P-state, but boost above the highest possible one, if not all are possible.
    Boosted,
}

impl Requests {
    /// `maxima`: the highest frequency of each hardware thread, in kHz.
    pub fn new(spec: &FrequencySpec, pstates: &PStates, governor: Governor, maxima: &[u32]) -> Requests {
        let (top, threads) = (pstates.top(), maxima.len());
        let software = match (governor, spec.powersave) {
            _ if spec.control == Control::None => Software::Fixed,
            (Governor::Schedutil, _) => {
                // acpi-cpufreq's highest frequency is the highest ACPI P-state (until Linux 5.10).
                let highest = spec.requests_khz.last().copied().unwrap_or(u32::MAX);
                let state = |&max: &u32| schedutil::State::new(spec.min_khz, max.min(highest));
                Software::Schedutil(Schedutil::new(spec), maxima.iter().map(state).collect())
            }
            (Governor::Powersave, Powersave::Sampler) => {
                Software::Sampler(Sampler::new(spec), vec![Sample::default(); threads])
            }
            _ => Software::Fixed,
        };
        let first = match (governor, spec.performance) {
            _ if spec.control == Control::None => top,
            (Governor::Performance, Performance::Turbo) => top,
            (Governor::Performance, Performance::Nominal) => pstates.at_most(spec.nominal_khz),
            _ => PState::LOWEST,
        };
        let hardware = governor == Governor::Powersave && spec.powersave == Powersave::Hardware;
        let meaning = match (governor, spec.control) {
            (_, Control::None) => Meaning::Exact,
            _ if hardware => Meaning::Floor,
            // With one frequency as minimum and maximum, HWP has no choice.
            (Governor::Powersave, _) if spec.powersave == Powersave::Lowest => Meaning::Exact,
            (_, Control::SpeedShift) => Meaning::Floor,
            (_, Control::SpeedStep) => Meaning::Exact,
            (_, Control::PerCore) => Meaning::Boosted,
        };
        Requests {
            software,
            requests: vec![first; threads],
            possible: spec.requests_khz.iter().map(|&khz| pstates.at_most(khz)).collect(),
            meaning,
            top,
        }
    }

    /// Whether the governor reads APERF and MPERF.
    pub fn reads_counters(&self) -> bool {
        matches!(self.software, Software::Sampler(..))
    }

    /// The scheduler's call on the core itself (Linux `cpufreq_update_util`). Returns true if the
    /// request changed. `counters` and `util` are evaluated only if the governor needs them.
    pub fn call(
        &mut self,
        now: u64,
        thread: usize,
        pstates: &PStates,
        counters: impl FnOnce() -> Reading,
        util: impl FnOnce() -> u32,
    ) -> bool {
        let khz = match &mut self.software {
            Software::Fixed => None,
            Software::Sampler(sampler, samples) => {
                let sample = &mut samples[thread];
                if sampler.is_due(sample, now) { sampler.sample(sample, now, counters()) } else { None }
            }
            Software::Schedutil(governor, states) => {
                let state = &mut states[thread];
                if governor.is_due(state, now) { governor.update(state, now, util()) } else { None }
            }
        };
        let Some(khz) = khz else { return false };
        let pstate = self.round(khz, pstates);
        if let Software::Schedutil(_, states) = &mut self.software {
            states[thread].rounded(pstates.khz(pstate));
        }
        std::mem::replace(&mut self.requests[thread], pstate) != pstate
    }

    /// The tick of an idle hardware thread stops.
    pub fn idle(&mut self, thread: usize) {
        if let Software::Schedutil(_, states) = &mut self.software {
            states[thread].idle();
        }
    }

    /// Bounds of a physical core with the hardware threads `threads`: the highest request wins,
    /// also that of an idle thread.
    pub fn bounds(&self, threads: &[u16]) -> Bounds {
        let wanted = threads.iter().map(|&t| self.requests[usize::from(t)]).max();
        let request = wanted.unwrap_or(PState::LOWEST);
        let boosts = self.meaning == Meaning::Boosted && self.possible.last().is_some_and(|&p| request >= p);
        match self.meaning {
            _ if boosts => Bounds { floor: self.top, ceiling: self.top },
            Meaning::Floor => Bounds { floor: request, ceiling: self.top },
            Meaning::Exact | Meaning::Boosted => Bounds { floor: request, ceiling: request },
        }
    }

    /// Lowest P-state that satisfies a request (`CPUFREQ_RELATION_L`).
    fn round(&self, khz: u32, pstates: &PStates) -> PState {
        let pstate = pstates.at_least(khz);
        match self.possible.last() {
            Some(&last) => self.possible.iter().copied().find(|&p| p >= pstate).unwrap_or(last),
            None => pstate,
        }
    }
}
