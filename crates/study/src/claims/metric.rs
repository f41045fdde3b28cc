//! The metrics of claims, and the part of a run that they look at.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The metric of a claim.
///
/// The first three compare with a baseline. Each other is a number of the subject alone, or, if the claim has a
/// baseline, the subject's divided by the baseline's.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Baseline's mean time / subject's − 1: the unit of Nest, section 5.1.
    Speedup,
    /// 1 − subject's mean time / baseline's: the unit of Fewer Cores, section 4.
    TimeSaved,
    /// 1 − subject's mean energy / baseline's.
    EnergySaving,
    /// Mean run time in seconds.
    Time,
    /// The longest run time over the seeds, in seconds.
    Slowest,
    /// Standard deviation of the run time over the seeds, divided by its mean.
    Deviation,
    /// Underload per second.
    Underload,
    /// Overload in core-milliseconds per second of the run.
    Overload,
    /// Share of the threads' CPU time in which their core was slower than an idle one.
    Inverted,
    /// Cores (hardware threads) on which a thread ran.
    Cores,
    /// Sockets on which a thread ran.
    Sockets,
    /// Share of the machine's core time in which threads ran.
    Utilisation,
    /// Mean frequency while threads ran, in GHz.
    Ghz,
    /// Share of the threads' CPU time at frequencies above this one, in GHz.
    AboveGhz(f64),
    /// 99.9th percentile of the wake-up latency, in microseconds. It measures queueing: nothing else is distributed in a
    /// simulation.
    LatencyP999,
    /// Placements with one of these reasons, as a share of all.
    Placed(Vec<String>),
    /// Placements with this reason per second of the run.
    PerSecond(String),
    /// Share of the threads' CPU time that the busiest socket has.
    BusiestSocket,
    /// Time from the start of a single thread until its core first runs at the highest frequency it reaches, in
    /// milliseconds.
    RiseMs,
    /// Time from a thread's end until its core is first at the lowest frequency, in milliseconds.
    FallMs,
    /// Time from a thread's end until its core stays at the lowest frequency, in milliseconds.
    SettleMs,
    /// Median time from a fork until the parent blocks, in microseconds.
    ForkToWaitUs,
}

impl Metric {
    /// Whether the metric is defined by a comparison with a baseline.
    pub fn compares(&self) -> bool {
        matches!(self, Metric::Speedup | Metric::TimeSaved | Metric::EnergySaving)
    }

    /// Whether the value is a share or a change, which is shown in percent.
    pub fn is_percent(&self) -> bool {
        use Metric::*;
        self.compares()
            || matches!(self, Deviation | Inverted | Utilisation | AboveGhz(_) | Placed(_) | BusiestSocket)
    }

    /// The unit of a value that is not in percent.
    pub fn unit(&self) -> &'static str {
        match self {
            Metric::Time | Metric::Slowest => "s",
            Metric::Underload | Metric::PerSecond(_) => "/s",
            Metric::Overload => "core·ms/s",
            Metric::Cores => "cores",
            Metric::Sockets => "sockets",
            Metric::Ghz => "GHz",
            Metric::LatencyP999 | Metric::ForkToWaitUs => "us",
            Metric::RiseMs | Metric::FallMs | Metric::SettleMs => "ms",
            _ => "",
        }
    }

    /// Whether the metric can be taken of a part of a run.
    pub fn of_parts(&self) -> bool {
        use Metric::*;
        !matches!(self, EnergySaving | RiseMs | FallMs | SettleMs | ForkToWaitUs | BusiestSocket)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Metric::Speedup => "speed-up",
            Metric::TimeSaved => "time saved",
            Metric::EnergySaving => "energy saved",
            Metric::Time => "time",
            Metric::Slowest => "slowest run",
            Metric::Deviation => "standard deviation",
            Metric::Underload => "underload",
            Metric::Overload => "overload",
            Metric::Inverted => "time on inverted cores",
            Metric::Cores => "cores used",
            Metric::Sockets => "sockets used",
            Metric::Utilisation => "utilisation",
            Metric::Ghz => "frequency",
            Metric::AboveGhz(ghz) => return write!(f, "time above {ghz} GHz"),
            Metric::LatencyP999 => "p99.9 wake-up latency",
            Metric::Placed(reasons) => return write!(f, "placements as {}", reasons.join(", ")),
            Metric::PerSecond(reason) => return write!(f, "placements as {reason}"),
            Metric::BusiestSocket => "share of the busiest socket",
            Metric::RiseMs => "time to the highest frequency",
            Metric::FallMs => "time to the lowest frequency",
            Metric::SettleMs => "time until the frequency settles",
            Metric::ForkToWaitUs => "time from fork to wait",
        };
        f.write_str(text)
    }
}

/// The end of the part of a run that a claim looks at. The part starts with the run.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// This many seconds after the start, or the end of the run if that is earlier.
    Seconds(f64),
    /// The first time that a thread executes this program.
    Exec(String),
    /// The exit of the first thread of this name.
    Exit(String),
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Until::Seconds(seconds) => write!(f, "in the first {seconds} s"),
            Until::Exec(name) => write!(f, "until `{name}` is executed"),
            Until::Exit(name) => write!(f, "until `{name}` exits"),
        }
    }
}
