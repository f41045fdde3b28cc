//! Frequency transition latency of one core.

use crate::counters::Counters;
use crate::disturbance::{CoreTimes, Disturbance};
use crate::error::Error;
use crate::os;
use crate::report::{Phase, Report, Source, TimesMs, Unit};
use crate::rounds::{Meter, Round, Times};
use crate::sysfs::{Files, fields, show_list};
use crate::work::Chunk;
use std::path::Path;
use std::time::Duration;

/// Options of the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The kernel's number of the core. `None`: the last allowed core, because the first cores handle most interrupts.
    pub core: Option<u32>,
    pub rounds: u32,
    pub busy: Duration,
    /// Time during which the idle core is sampled.
    pub idle: Duration,
    /// Undisturbed idle time before the next loop.
    pub quiet: Duration,
    /// Sampling interval of the idle core.
    pub gap: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            core: None,
            rounds: 20,
            busy: Duration::from_millis(200),
            idle: Duration::from_millis(150),
            quiet: Duration::from_millis(100),
            gap: Duration::from_millis(1),
        }
    }
}

/// Resolution of the busy loop's curve.
pub const WINDOW: Duration = Duration::from_micros(100);
/// Duration of one sample of the idle core.
const PROBE: Duration = Duration::from_micros(50);
/// Allowed range of times.
const BUSY: std::ops::RangeInclusive<Duration> = Duration::from_millis(5)..=Duration::from_secs(10);
const IDLE: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);
/// Minimum number of samples of the idle core.
const LOOKS: u32 = 20;

impl Options {
    fn times(&self) -> Result<Times, Error> {
        let within = |name, value: Duration, range: &std::ops::RangeInclusive<Duration>| {
            let (low, high) = (*range.start(), *range.end());
            if range.contains(&value) { Ok(()) } else { Err(Error::Time { name, value, low, high }) }
        };
        within("busy", self.busy, &BUSY)?;
        within("idle", self.idle, &IDLE)?;
        within("quiet", self.quiet, &IDLE)?;
        within("gap", self.gap, &(PROBE * 4..=self.idle / LOOKS))?;
        if !(1..=10_000).contains(&self.rounds) {
            return Err(Error::Rounds(self.rounds));
        }
        Ok(Times {
            quiet: self.quiet,
            busy: self.busy,
            idle: self.idle,
            window: WINDOW,
            gap: self.gap,
            probe: PROBE,
        })
    }
}

/// Runs the measurement; calls `progress` after each round.
pub fn measure(options: &Options, progress: impl FnMut() + Send) -> Result<Report, Error> {
    let times = options.times()?;
    let allowed = os::allowed_cores();
    let core = match options.core {
        Some(core) if allowed.contains(&core) => core,
        Some(core) => return Err(Error::Core { core, allowed: show_list(&allowed) }),
        None => *allowed.last().ok_or(Error::NoCore)?,
    };
    // Use a separate thread so that the caller keeps its affinity and scheduling class.
    std::thread::scope(|scope| {
        let measuring = scope.spawn(move || on_core(core, &times, options.rounds, progress));
        measuring.join().unwrap_or(Err(Error::Thread))
    })
}

fn on_core(core: u32, times: &Times, count: u32, mut progress: impl FnMut()) -> Result<Report, Error> {
    let files = Files::under(Path::new("/"));
    os::pin(core).map_err(|source| Error::Pin { core, source })?;
    let real_time = os::real_time();
    let chunk = Chunk::calibrate();
    let (counters, why_not) = match Counters::open(&files, core) {
        Ok(found) => (Some(found), Vec::new()),
        Err(why_not) => (None, why_not),
    };
    let source = source(&files, &chunk, counters.as_ref(), why_not);
    let mut meter = Meter::new(chunk, counters, times.busy, times.window);
    // Discard the first round: the core's state before it is unknown.
    meter.round(times);
    let before = CoreTimes::read(&files, core);
    let rounds: Vec<Round> = (0..count)
        .map(|_| {
            let round = meter.round(times);
            progress();
            round
        })
        .collect();
    let after = CoreTimes::read(&files, core);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let busy_ms = ms(times.busy) * f64::from(count);
    let samples_ms = ms(times.idle) / ms(times.gap) * ms(times.probe) * f64::from(count);
    let lost_ms = rounds.iter().map(|round| ms(round.lost)).sum();
    let switches = rounds.iter().map(|round| round.switches).sum();
    let disturbance = Disturbance::new(switches, busy_ms, lost_ms, samples_ms, before.zip(after));
    let mut warnings = disturbance.warnings(core, busy_ms);
    if !real_time {
        warnings
            .push("SCHED_FIFO was refused: other threads may interrupt the loop (root may use it)".into());
    }
    Ok(Report {
        schema: "hearth.ftl/1",
        core,
        model: model(&files),
        source,
        real_time,
        governor: files.cpu(core, "cpufreq/scaling_governor"),
        times: TimesMs::from(times),
        up: Phase::up(&rounds, times),
        down: Phase::down(&rounds, times),
        disturbance,
        warnings,
    })
}

fn source(files: &Files, chunk: &Chunk, counters: Option<&(Counters, f64)>, why_not: Vec<String>) -> Source {
    let kind = counters.map_or("rate", |(counters, _)| counters.name());
    let absolute = counters.is_some() || chunk.cycles.is_some();
    Source {
        kind,
        unit: if absolute { Unit::Khz } else { Unit::Relative },
        cycles: chunk.cycles.filter(|_| counters.is_none()),
        virtual_machine: is_virtual(files),
        why_not,
    }
}

/// Whether a hypervisor reports its presence.
pub fn is_virtual(files: &Files) -> bool {
    let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
    let flag =
        fields(&cpuinfo, "flags").next().is_some_and(|f| f.split_whitespace().any(|f| f == "hypervisor"));
    flag || ["sys/hypervisor/type", "proc/device-tree/hypervisor/compatible"]
        .iter()
        .any(|file| files.text(file).is_some())
}

/// The processor's name.
pub fn model(files: &Files) -> String {
    let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
    let name = ["model name", "Model", "Hardware", "cpu model"].iter().find_map(|key| {
        let name = fields(&cpuinfo, key).find(|name| !name.is_empty())?;
        Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    name.or_else(|| files.text("proc/device-tree/model").map(|name| name.trim_matches('\0').to_owned()))
        .unwrap_or_else(|| format!("unknown {} processor", std::env::consts::ARCH))
}
