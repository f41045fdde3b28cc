//! The counters APERF and MPERF. APERF counts the core's actual cycles, MPERF cycles at a fixed rate.

use crate::os;
use crate::sysfs::Files;
use crate::work::Chunk;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const MPERF: u64 = 0xe7;
const APERF: u64 = 0xe8;

/// Duration of the counters' self-test.
const TRIAL: Duration = Duration::from_millis(5);
/// Plausible range of a core's clock.
const PLAUSIBLE_KHZ: std::ops::Range<f64> = 100_000.0..10_000_000.0;

/// One reading of both counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub aperf: u64,
    pub mperf: u64,
}

impl Reading {
    /// The mean clock since `before`, in units of MPERF's rate; `None` if the counters did not advance.
    pub fn ratio_since(&self, before: &Reading) -> Option<f64> {
        let ran = self.aperf.wrapping_sub(before.aperf);
        let fixed = self.mperf.wrapping_sub(before.mperf);
        // A difference this large means that a counter went backwards.
        let sound = |count: u64| count > 0 && count < 1 << 62;
        (sound(ran) && sound(fixed)).then(|| ran as f64 / fixed as f64)
    }
}

/// Source of the counters.
pub enum Counters {
    /// `/dev/cpu/N/msr`.
    Msr(File),
    /// perf's events `msr/aperf` and `msr/mperf`.
    Perf { aperf: File, mperf: File },
}

impl Counters {
    /// Opens the first readable source on `core`, on which this thread runs. Fails with the reason for each source.
    pub fn open(files: &Files, core: u32) -> Result<(Counters, f64), Vec<String>> {
        let mut why_not = Vec::new();
        for (name, opened) in [("msr device", Self::msr(files, core)), ("perf", Self::perf(files))] {
            match opened.and_then(|counters| counters.rate_khz().map(|khz| (counters, khz))) {
                Ok(found) => return Ok(found),
                Err(error) => why_not.push(format!("{name}: {error}")),
            }
        }
        Err(why_not)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Counters::Msr(_) => "msr",
            Counters::Perf { .. } => "perf",
        }
    }

    fn msr(files: &Files, core: u32) -> io::Result<Counters> {
        Ok(Counters::Msr(File::open(files.path(&format!("dev/cpu/{core}/msr")))?))
    }

    fn perf(files: &Files) -> io::Result<Counters> {
        let folder = "sys/bus/event_source/devices/msr";
        let missing = || io::Error::new(io::ErrorKind::NotFound, "this processor's perf has no such event");
        let kind = files.number(&format!("{folder}/type")).ok_or_else(missing)?;
        let open = |event: &str| {
            let config = files.text(&format!("{folder}/events/{event}")).and_then(|text| event_config(&text));
            os::open_perf_counter(kind, config.ok_or_else(missing)?)
        };
        Ok(Counters::Perf { aperf: open("aperf")?, mperf: open("mperf")? })
    }

    /// Reads both counters. The time between the two reads is an error of nanoseconds.
    pub fn read(&self) -> io::Result<Reading> {
        match self {
            Counters::Msr(file) => Ok(Reading { aperf: msr(file, APERF)?, mperf: msr(file, MPERF)? }),
            Counters::Perf { aperf, mperf } => Ok(Reading { aperf: counter(aperf)?, mperf: counter(mperf)? }),
        }
    }

    /// Measures MPERF's rate. Fails if the rate is implausible, for example if a hypervisor returns zeros.
    fn rate_khz(&self) -> io::Result<f64> {
        let chunk = Chunk::calibrate();
        let (begin, first) = (Instant::now(), self.read()?);
        while begin.elapsed() < TRIAL {
            chunk.run();
        }
        let (ms, last) = (begin.elapsed().as_secs_f64() * 1e3, self.read()?);
        let khz = last.mperf.wrapping_sub(first.mperf) as f64 / ms;
        let ran = last.ratio_since(&first).map(|ratio| ratio * khz);
        if PLAUSIBLE_KHZ.contains(&khz) && ran.is_some_and(|ran| PLAUSIBLE_KHZ.contains(&ran)) {
            return Ok(khz);
        }
        Err(io::Error::other("the counters do not advance at a plausible rate"))
    }
}

fn msr(file: &File, register: u64) -> io::Result<u64> {
    let mut value = [0; 8];
    file.read_exact_at(&mut value, register)?;
    Ok(u64::from_ne_bytes(value))
}

fn counter(mut file: &File) -> io::Result<u64> {
    let mut value = [0; 8];
    file.read_exact(&mut value)?;
    Ok(u64::from_ne_bytes(value))
}

/// `event=0x01`
fn event_config(text: &str) -> Option<u64> {
    let value = text.trim().strip_prefix("event=")?;
    match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => value.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_counters_that_count() {
        let before = Reading { aperf: 1000, mperf: 500 };
        assert_eq!(Reading { aperf: 4000, mperf: 2500 }.ratio_since(&before), Some(1.5));
        assert_eq!(Reading { aperf: 4000, mperf: 500 }.ratio_since(&before), None);
        assert_eq!(Reading { aperf: 999, mperf: 2500 }.ratio_since(&before), None);
        let wrapped = Reading { aperf: u64::MAX - 999, mperf: u64::MAX - 499 };
        assert_eq!(before.ratio_since(&wrapped), Some(2.0));
    }

    /// Tests perf's counters with `tsc`, which virtual machines have too.
    #[test]
    fn the_time_stamp_counter_counts_where_perf_has_it() {
        let files = Files::under(std::path::Path::new("/"));
        let folder = "sys/bus/event_source/devices/msr";
        let config = files.text(&format!("{folder}/events/tsc")).and_then(|text| event_config(&text));
        let opened = files.number(&format!("{folder}/type")).zip(config);
        let Some(Ok(file)) = opened.map(|(kind, config)| os::open_perf_counter(kind, config)) else { return };
        let (begin, first) = (Instant::now(), counter(&file).unwrap());
        while begin.elapsed() < TRIAL {}
        let (last, ms) = (counter(&file).unwrap(), begin.elapsed().as_secs_f64() * 1e3);
        // A thread's counter advances only while the thread runs, so preemption reduces the count.
        let khz = (last - first) as f64 / ms;
        assert!(khz > 0.0 && khz < PLAUSIBLE_KHZ.end, "{khz}");
    }

    #[test]
    fn events_as_sysfs_writes_them() {
        assert_eq!(event_config("event=0x02\n"), Some(2));
        assert_eq!(event_config("event=3"), Some(3));
        assert_eq!(event_config("nonsense"), None);
    }
}
