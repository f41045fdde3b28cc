//! APERF and MPERF: the counters by which the kernel learns a hardware thread's frequency.

/// Counters of one hardware thread. Both advance while it executes, and wrap.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    as_of: u64,
    reading: Reading,
}

/// Values of the counters, or the difference of two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Time in C0, in nanoseconds.
    pub mperf_ns: u64,
    /// Clock cycles in C0, in millionths (kHz × ns).
    pub aperf: u64,
}

impl Counters {
    /// Advances the counters to `now`; the thread ran at `khz`, or not at all (`None`).
    pub fn pass(&mut self, now: u64, khz: Option<u32>) {
        let dt = now - self.as_of;
        self.as_of = now;
        if let Some(khz) = khz {
            self.reading.mperf_ns = self.reading.mperf_ns.wrapping_add(dt);
            self.reading.aperf = self.reading.aperf.wrapping_add(dt.wrapping_mul(u64::from(khz)));
        }
    }

    /// Values at the last [`Self::pass`].
    pub fn read(&self) -> Reading {
        self.reading
    }
}

impl Reading {
    /// Difference to an earlier reading.
    pub fn since(self, before: Reading) -> Reading {
        Reading {
            mperf_ns: self.mperf_ns.wrapping_sub(before.mperf_ns),
            aperf: self.aperf.wrapping_sub(before.aperf),
        }
    }

    /// Average frequency while executing, in kHz; `None` if nothing executed.
    pub fn khz(self) -> Option<u32> {
        self.aperf.checked_div(self.mperf_ns).map(|khz| khz as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_that_of_the_executing_time() {
        let mut counters = Counters::default();
        counters.pass(1_000, Some(1_000_000));
        let before = counters.read();
        counters.pass(3_000, Some(3_000_000));
        counters.pass(90_000, None);
        counters.pass(91_000, Some(1_500_000));
        let reading = counters.read().since(before);
        assert_eq!((reading.mperf_ns, reading.khz()), (3_000, Some(2_500_000)));
        assert_eq!(counters.read().since(counters.read()).khz(), None);
    }
}
