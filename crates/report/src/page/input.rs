//! The input of a report: plain data without types of other crates.

use serde::{Deserialize, Deserializer, Serialize};

/// A report.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    pub title: String,
    /// The command, the host, and when.
    pub subtitle: String,
    /// Facts about the workload: names and values.
    pub workload: Vec<(String, String)>,
    /// One for each machine.
    pub findings: Vec<Finding>,
    /// How far to trust the findings, in a line; may be empty.
    pub accuracy: String,
    pub rows: Vec<Row>,
    pub distributions: Vec<Distribution>,
    pub timelines: Vec<TimelinePanel>,
    pub notes: Vec<String>,
    /// Where the numbers come from and how to repeat them: names and values.
    pub provenance: Vec<(String, String)>,
}

/// The answer for a machine.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Empty: the answer is not about a machine.
    pub machine: String,
    pub sentence: String,
    /// Setting, time in seconds, gain and range.
    pub rows: Vec<[String; 4]>,
}

impl Finding {
    pub const TITLES: [&str; 4] = ["setting", "time, s", "gain", "range"];
}

/// A policy under a governor on a machine.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Setting {
    pub machine: String,
    pub governor: String,
    /// The policy's name, with its parameters where they differ from the default.
    pub policy: String,
}

/// A mean with its 95% confidence interval. A single run has no interval: `low` and `high` are NaN.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Estimate {
    #[serde(deserialize_with = "null_is_nan")]
    pub mean: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub low: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub high: f64,
}

/// The result of the runs of one setting. NaN means unknown.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    #[serde(flatten)]
    pub setting: Setting,
    /// The baseline of `speedup` and `energy_saving`. `None`: this row is a baseline.
    pub against: Option<Setting>,
    pub runs: u32,
    /// Mean time; `time_sd` is its standard deviation.
    #[serde(deserialize_with = "null_is_nan")]
    pub time_s: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub time_sd: f64,
    /// As in the papers: 0 is equal, 0.10 is 10% faster.
    pub speedup: Option<Estimate>,
    #[serde(deserialize_with = "null_is_nan")]
    pub energy_j: f64,
    /// 0 is equal, 0.10 is 10% less energy.
    pub energy_saving: Option<Estimate>,
    #[serde(deserialize_with = "null_is_nan")]
    pub underload_per_s: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub overload_core_ms: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub inversion_core_ms: f64,
    /// This and the following fields are means over the runs.
    #[serde(deserialize_with = "null_is_nan")]
    pub cores_used: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub sockets_used: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub migrations: f64,
    #[serde(deserialize_with = "null_is_nan")]
    pub busy_ghz_mean: f64,
    /// Mean wake-up latency, in microseconds.
    #[serde(deserialize_with = "null_is_nan")]
    pub wakeup_mean_us: f64,
}

impl Default for Row {
    /// Everything unknown.
    fn default() -> Self {
        Row {
            setting: Setting::default(),
            against: None,
            runs: 0,
            time_s: f64::NAN,
            time_sd: f64::NAN,
            speedup: None,
            energy_j: f64::NAN,
            energy_saving: None,
            underload_per_s: f64::NAN,
            overload_core_ms: f64::NAN,
            inversion_core_ms: f64::NAN,
            cores_used: f64::NAN,
            sockets_used: f64::NAN,
            migrations: f64::NAN,
            busy_ghz_mean: f64::NAN,
            wakeup_mean_us: f64::NAN,
        }
    }
}

/// Busy time at each frequency.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Distribution {
    #[serde(flatten)]
    pub setting: Setting,
    /// GHz (0: unknown) and milliseconds, unsorted.
    pub residency: Vec<(f64, f64)>,
}

/// One execution trace: cores × time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TimelinePanel {
    #[serde(flatten)]
    pub setting: Setting,
    pub duration_s: f64,
    /// Lowest and highest frequency of the machine in GHz ((0, 0): unknown).
    pub ghz_range: (f32, f32),
    /// The rows from top to bottom. Cores of a socket must be adjacent.
    pub cores: Vec<CoreRow>,
    /// Unsorted. Segments of one row must not overlap.
    pub segments: Vec<Segment>,
    /// Start in seconds and value. A value holds until the next start.
    pub underload: Vec<(f64, f64)>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CoreRow {
    pub label: String,
    pub socket: u32,
}

/// A time in which a core was busy, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Segment {
    /// Index in [`TimelinePanel::cores`].
    pub row: u32,
    pub t0: f64,
    pub t1: f64,
    /// 0: unknown.
    pub ghz: f32,
    /// Share of the time in which the core ran threads, 0 to 1.
    pub busy: f32,
}

/// Reads NaN, which serde_json writes as `null`.
fn null_is_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}
