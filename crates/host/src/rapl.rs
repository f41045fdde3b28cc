//! Energy counters of the hardware (RAPL), through the kernel's powercap files.
//!
//! Intel and AMD processors count the energy of each socket (`package-0`), of its cores (`core`), and of its memory
//! (`dram`). The kernel shows them to root only.

use crate::os::now;
use hearth_trace::{Energy, EnergySampler, Time};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interval at which counters are read. They overflow after a minute at the earliest.
const INTERVAL: Duration = Duration::from_secs(10);

/// The counters of this machine, and the energy since they were opened.
#[derive(Debug)]
pub struct Meter {
    counters: Vec<Counter>,
    read: Instant,
}

/// A meter that keeps the energy over time, too.
#[derive(Debug)]
pub struct Log {
    meter: Meter,
    begin: Time,
    sampler: EnergySampler,
}

#[derive(Debug)]
struct Counter {
    domain: Domain,
    file: PathBuf,
    /// The value after which the counter is 0 again.
    range: u64,
    last: u64,
    sum: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Domain {
    Package,
    Cores,
    Dram,
}

/// Why the energy is unknown.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Absent {
    #[error(
        "this machine has no energy counters (RAPL in /sys/class/powercap); most virtual machines have none"
    )]
    None,
    #[error("the energy counters can be read by root only: {}", .0.display())]
    NotAllowed(PathBuf),
    #[error("the energy counter {} cannot be read", .0.display())]
    Unreadable(PathBuf),
}

impl Meter {
    /// Opens the counters of this machine.
    ///
    /// # Errors
    /// There are none, or they cannot be read.
    pub fn open() -> Result<Meter, Absent> {
        Meter::under(Path::new("/"))
    }

    /// The counters of the machine whose `sys` is in `root`.
    ///
    /// # Errors
    /// As for [`Meter::open`].
    pub fn under(root: &Path) -> Result<Meter, Absent> {
        let mut folders: Vec<PathBuf> = fs::read_dir(root.join("sys/class/powercap"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        folders.sort();
        let mut counters = Vec::new();
        for folder in folders {
            // `intel-rapl-mmio` repeats the counters of `intel-rapl`.
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if !name.starts_with("intel-rapl:") {
                continue;
            }
            let Some(domain) = text(&folder.join("name")).and_then(|name| Domain::of(&name)) else {
                continue;
            };
            let file = folder.join("energy_uj");
            let last = read(&file)?;
            let range = text(&folder.join("max_energy_range_uj")).and_then(|range| range.parse().ok());
            counters.push(Counter { domain, file, range: range.unwrap_or(u64::MAX), last, sum: 0 });
        }
        if counters.iter().any(|counter| counter.domain == Domain::Package) {
            Ok(Meter { counters, read: Instant::now() })
        } else {
            Err(Absent::None)
        }
    }

    /// Reads the counters if they might overflow before the next call.
    pub fn poll(&mut self) {
        if self.read.elapsed() >= INTERVAL {
            self.update();
        }
    }

    /// The energy since the counters were opened or reset.
    pub fn energy(&mut self) -> Energy {
        self.update();
        let sum = |domain| {
            let of = self.counters.iter().filter(|counter| counter.domain == domain);
            of.map(|counter| counter.sum).reduce(u64::saturating_add)
        };
        Energy {
            package_uj: sum(Domain::Package).unwrap_or(0),
            cores_uj: sum(Domain::Cores),
            dram_uj: sum(Domain::Dram),
        }
    }

    /// Counts from 0 again.
    pub fn reset(&mut self) {
        self.update();
        self.counters.iter_mut().for_each(|counter| counter.sum = 0);
    }

    fn update(&mut self) {
        self.read = Instant::now();
        for counter in &mut self.counters {
            // A counter that fails once keeps its value: the next reading has the energy of both times.
            let Ok(value) = read(&counter.file) else { continue };
            counter.sum = counter.sum.saturating_add(since(counter.last, value, counter.range));
            counter.last = value;
        }
    }
}

impl Log {
    /// Shortest time between two samples. Recorders poll less often.
    const SHORTEST: Time = 10_000_000;

    /// Counts from 0.
    pub fn begin(mut meter: Meter) -> Log {
        meter.reset();
        Log { meter, begin: now(), sampler: EnergySampler::new(Log::SHORTEST) }
    }

    /// To be called often: takes a sample if it is time.
    pub fn poll(&mut self) {
        // Samples of a long recording may be further apart than overflows.
        self.meter.poll();
        let since = now().saturating_sub(self.begin);
        if self.sampler.is_due(since) {
            self.sampler.take(since, self.meter.energy().total_uj());
        }
    }

    /// The energy, and the microjoules until each of some times of CLOCK_MONOTONIC.
    pub fn finish(mut self) -> (Energy, Vec<(Time, u64)>) {
        let energy = self.meter.energy();
        let mut samples = self.sampler.finish(now().saturating_sub(self.begin), energy.total_uj());
        samples.iter_mut().for_each(|(time, _)| *time += self.begin);
        (energy, samples)
    }
}

/// Samples on the clock of a trace that begins at `begin` and lasts `duration`.
pub fn in_trace(samples: Vec<(Time, u64)>, begin: Time, duration: Time) -> Vec<(Time, u64)> {
    let mut samples: Vec<(Time, u64)> = samples
        .into_iter()
        .map(|(time, uj)| (time.saturating_sub(begin).min(duration), uj))
        .filter(|(time, _)| *time > 0)
        .collect();
    // Of several at the end, the last one has all of the energy.
    samples.reverse();
    samples.dedup_by_key(|(time, _)| *time);
    samples.reverse();
    samples
}

impl Domain {
    fn of(name: &str) -> Option<Domain> {
        match name {
            "core" => Some(Domain::Cores),
            "dram" => Some(Domain::Dram),
            name if name.starts_with("package-") => Some(Domain::Package),
            // `uncore` is part of the package, `psys` includes it.
            _ => None,
        }
    }
}

/// The increase of a counter that is 0 again after `range`.
fn since(last: u64, value: u64, range: u64) -> u64 {
    value
        .checked_sub(last)
        .unwrap_or_else(|| range.saturating_sub(last).saturating_add(value).saturating_add(1))
}

fn read(file: &Path) -> Result<u64, Absent> {
    match fs::read_to_string(file) {
        Ok(text) => text.trim().parse().map_err(|_| Absent::Unreadable(file.into())),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Absent::NotAllowed(file.into())),
        Err(_) => Err(Absent::Unreadable(file.into())),
    }
}

fn text(file: &Path) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Made(tempfile::TempDir);

    impl Made {
        fn new() -> Made {
            Made(tempfile::tempdir().unwrap())
        }

        fn zone(&self, zone: &str, name: &str, energy_uj: u64) {
            let folder = self.0.path().join("sys/class/powercap").join(zone);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("name"), format!("{name}\n")).unwrap();
            fs::write(folder.join("energy_uj"), format!("{energy_uj}\n")).unwrap();
            fs::write(folder.join("max_energy_range_uj"), "999\n").unwrap();
        }

        fn two_sockets(&self, uj: u64) {
            for socket in 0..2 {
                self.zone(&format!("intel-rapl:{socket}"), &format!("package-{socket}"), uj);
                self.zone(&format!("intel-rapl:{socket}:0"), "core", uj / 2);
                self.zone(&format!("intel-rapl:{socket}:1"), "dram", uj / 10);
            }
            self.zone("intel-rapl:2", "psys", 5 * uj);
            self.zone("intel-rapl-mmio:0", "package-0", uj);
        }
    }

    #[test]
    fn the_domains_of_all_sockets_are_added() {
        let made = Made::new();
        made.two_sockets(100);
        let mut meter = Meter::under(made.0.path()).unwrap();
        made.two_sockets(400);
        let energy = meter.energy();
        assert_eq!(energy, Energy { package_uj: 600, cores_uj: Some(300), dram_uj: Some(60) });
        assert_eq!(energy.total_uj(), 660);
        meter.reset();
        assert_eq!(meter.energy().total_uj(), 0);
        made.two_sockets(500);
        assert_eq!(meter.energy().package_uj, 200);
    }

    #[test]
    fn counters_that_overflow_go_on() {
        let made = Made::new();
        made.zone("intel-rapl:0", "package-0", 990);
        let mut meter = Meter::under(made.0.path()).unwrap();
        made.zone("intel-rapl:0", "package-0", 10);
        // 990 to 999, to 0, to 10.
        assert_eq!(meter.energy(), Energy { package_uj: 20, cores_uj: None, dram_uj: None });
    }

    #[test]
    fn what_is_absent_is_said() {
        let made = Made::new();
        assert_eq!(Meter::under(made.0.path()).unwrap_err(), Absent::None);
        made.zone("intel-rapl:0:0", "core", 1);
        made.zone("dtpm", "package-0", 1);
        assert_eq!(Meter::under(made.0.path()).unwrap_err(), Absent::None);
        made.zone("intel-rapl:0", "package-0", 1);
        let file = made.0.path().join("sys/class/powercap/intel-rapl:0/energy_uj");
        fs::write(&file, "many\n").unwrap();
        assert_eq!(Meter::under(made.0.path()).unwrap_err(), Absent::Unreadable(file));
        assert!(Absent::None.to_string().contains("no energy counters"));
    }

    #[test]
    fn samples_follow_the_counter() {
        let made = Made::new();
        made.zone("intel-rapl:0", "package-0", 0);
        let mut log = Log::begin(Meter::under(made.0.path()).unwrap());
        for uj in [100, 300] {
            std::thread::sleep(Duration::from_millis(11));
            made.zone("intel-rapl:0", "package-0", uj);
            log.poll();
        }
        made.zone("intel-rapl:0", "package-0", 350);
        let begin = log.begin;
        let (energy, samples) = log.finish();
        assert_eq!(energy.package_uj, 350);
        let uj: Vec<u64> = samples.iter().map(|(_, uj)| *uj).collect();
        assert_eq!(uj, [100, 300, 350]);
        assert!(samples[0].0 >= begin + 11_000_000 && samples.is_sorted_by(|a, b| a.0 < b.0), "{samples:?}");
    }

    #[test]
    fn samples_lie_within_the_trace() {
        let samples = vec![(900, 1), (1_000, 2), (1_100, 3), (1_200, 4), (1_300, 5)];
        assert_eq!(in_trace(samples, 1_000, 150), [(100, 3), (150, 5)]);
        assert_eq!(in_trace(Vec::new(), 1_000, 150), []);
    }

    #[test]
    fn a_counter_that_vanishes_keeps_its_sum() {
        let made = Made::new();
        made.zone("intel-rapl:0", "package-0", 1);
        let mut meter = Meter::under(made.0.path()).unwrap();
        made.zone("intel-rapl:0", "package-0", 5);
        assert_eq!(meter.energy().package_uj, 4);
        fs::remove_file(made.0.path().join("sys/class/powercap/intel-rapl:0/energy_uj")).unwrap();
        assert_eq!(meter.energy().package_uj, 4);
    }
}
