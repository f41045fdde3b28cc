//! Origin of a trace: recorded, simulated or unknown.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result as Formatted};

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Source {
    /// A live kernel.
    Recorded(Recording),
    /// The simulator. `params` holds the policy parameters that differ from their defaults.
    Simulated { policy: String, params: Vec<(String, String)>, workload: String, governor: String, seed: u64 },
    #[default]
    Unknown,
}

/// Clock of an emulated machine whose CPUs take turns, a nanosecond for each instruction of any of them. So *n* busy cores
/// execute an *n*-th of an instruction each in a nanosecond.
pub const INSTRUCTIONS: &str = "instructions";

/// How a trace was recorded. Only `method`, `command` and `kernel` are in traces of older versions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    #[serde(flatten)]
    pub method: Method,
    /// Command that ran while the trace was recorded; may be empty.
    pub command: Vec<String>,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// When the recording began, in seconds since 1970 (UTC); 0: unknown.
    #[serde(default)]
    pub begin_s: u64,
    /// Name of the host.
    #[serde(default)]
    pub host: String,
    /// Version of Hearth that recorded.
    #[serde(default)]
    pub version: String,
    /// Measured energy; `None`: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Box<Energy>>,
    /// Clock of the times, as the kernel's `trace_clock` calls it; [`INSTRUCTIONS`]; or empty: unknown.
    #[serde(default)]
    pub clock: String,
    #[serde(default)]
    pub filter: Filter,
    /// Policy that was running, if its decisions are in the trace.
    #[serde(default)]
    pub policy: Option<RecordedPolicy>,
    /// Number of switches and migrations that the kernel did not report, and that were inserted. They are counted in
    /// [`Header::lost`](crate::Header::lost), too.
    #[serde(default)]
    pub inferred: u64,
    /// Set if the frequencies are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laid_over: Option<LaidOver>,
    #[serde(default, skip_serializing_if = "Unrecorded::is_empty")]
    pub unrecorded: Unrecorded,
}

/// Events that a recording lacks because they were not asked for. What they would tell is unknown, not zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unrecorded {
    /// Wake-ups.
    pub wakeups: bool,
    /// Events of some threads: the recording is not system-wide. When a thread was switched in is unknown.
    pub threads: bool,
}

impl Unrecorded {
    pub fn is_empty(&self) -> bool {
        *self == Unrecorded::default()
    }

    /// What is unknown, for users.
    pub fn notes(&self) -> Vec<&'static str> {
        let wakeups =
            "the recording has no wake-ups: wake-up latency, waiting, underload and overload are unknown";
        let threads = "the recording is not system-wide: CPU time is a lower bound of the recorded threads; wake-up \
                       latency, waiting, underload and overload are unknown";
        [(self.wakeups, wakeups), (self.threads, threads)]
            .into_iter()
            .filter_map(|(missing, note)| missing.then_some(note))
            .collect()
    }

    /// How to record what is missing; `None`: nothing is.
    pub fn remedy(&self) -> Option<&'static str> {
        match (self.threads, self.wakeups) {
            (true, _) => {
                Some("record all threads and their wake-ups: perf sched record -a, or hearth record")
            }
            (_, true) => Some(
                "record sched_waking, too: trace-cmd record -e sched, perf sched record, or hearth record",
            ),
            _ => None,
        }
    }
}

impl Source {
    /// What the recording lacks; nothing if it is simulated.
    pub fn unrecorded(&self) -> Unrecorded {
        match self {
            Source::Recorded(recording) => recording.unrecorded,
            _ => Unrecorded::default(),
        }
    }

    /// True if busy cores share the time ([`INSTRUCTIONS`]).
    pub fn counts_instructions(&self) -> bool {
        matches!(self, Source::Recorded(recording) if recording.clock == INSTRUCTIONS)
    }

    /// Set if the frequencies of the trace are not recorded.
    pub fn laid_over(&self) -> Option<&LaidOver> {
        match self {
            Source::Recorded(recording) => recording.laid_over.as_ref(),
            _ => None,
        }
    }
}

/// Energy that the hardware counted (RAPL) during a recording, in microjoules, of the whole machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Energy {
    /// Of all sockets, including their cores.
    pub package_uj: u64,
    /// Of the cores; `None`: not counted.
    #[serde(default)]
    pub cores_uj: Option<u64>,
    /// Of the memory, which is not part of the packages; `None`: not counted.
    #[serde(default)]
    pub dram_uj: Option<u64>,
}

impl Energy {
    /// Packages and memory.
    pub fn total_uj(&self) -> u64 {
        self.package_uj.saturating_add(self.dram_uj.unwrap_or(0))
    }
}

/// The machine and governor whose frequencies a recorded schedule was given (`hearth overlay`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaidOver {
    pub machine: String,
    pub governor: String,
}

/// Which threads are `traced`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    #[default]
    Unknown,
    /// The command and its descendants.
    Command,
    /// All threads of the system.
    System,
}

/// A policy that ran during a recording. `params` holds the parameters that differ from their defaults.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RecordedPolicy {
    pub name: String,
    pub params: Vec<(String, String)>,
}

/// A policy whose decisions are to be recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningPolicy {
    pub policy: RecordedPolicy,
    /// Names by the numbers that decisions have.
    pub reasons: Vec<String>,
    pub sets: Vec<String>,
    /// Present members of each set, as kernel CPU numbers.
    pub members: Vec<Vec<u32>>,
}

/// New frequency of a core, from a model in place of the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrequencyChange {
    /// CLOCK_MONOTONIC in ns.
    pub time: u64,
    /// The kernel's CPU number.
    pub cpu: u32,
    pub khz: u32,
}

/// Mechanism of a recording. Its name is the field `method` of a [`Recording`]; its details are fields beside it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase", from = "StoredMethod")]
pub enum Method {
    /// BPF programs of Hearth.
    Bpf,
    /// The kernel's trace events.
    Tracefs {
        /// Set if BPF was tried first.
        why_not_bpf: Option<String>,
    },
    /// Converted from a file of another tool.
    Imported { format: String },
    /// Any other, as a text for people.
    Other { text: String },
}

/// Fields of a method, in all versions.
#[derive(Deserialize)]
struct StoredMethod {
    method: String,
    why_not_bpf: Option<String>,
    format: Option<String>,
    text: Option<String>,
}

impl From<StoredMethod> for Method {
    fn from(stored: StoredMethod) -> Self {
        let StoredMethod { method, why_not_bpf, format, text } = stored;
        match (method.as_str(), format, text) {
            ("bpf", ..) => Method::Bpf,
            ("tracefs", ..) => Method::Tracefs { why_not_bpf },
            ("imported", Some(format), _) => Method::Imported { format },
            ("other", _, Some(text)) => Method::Other { text },
            _ => Method::from_sentence(method),
        }
    }
}

impl Default for Method {
    fn default() -> Self {
        Method::Other { text: String::new() }
    }
}

impl Method {
    /// Name without details.
    pub fn name(&self) -> &str {
        match self {
            Method::Bpf => "bpf",
            Method::Tracefs { .. } => "tracefs",
            Method::Imported { format } => format,
            Method::Other { text } => text,
        }
    }

    /// Reads the sentence that traces had before methods were typed.
    fn from_sentence(text: String) -> Method {
        let why = text.strip_prefix("tracefs (not BPF: ").and_then(|why| why.strip_suffix(')'));
        match why {
            Some(why) => Method::Tracefs { why_not_bpf: Some(why.into()) },
            None => Method::Other { text },
        }
    }
}

impl Display for Method {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str(self.name())?;
        match self {
            Method::Tracefs { why_not_bpf: Some(why) } => write!(f, " (not BPF: {why})"),
            _ => Ok(()),
        }
    }
}

impl Display for RecordedPolicy {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str(&self.name)?;
        let params: Vec<String> = self.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if params.is_empty() { Ok(()) } else { write!(f, " ({})", params.join(", ")) }
    }
}

/// The workload and what it ran under.
impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        match self {
            Source::Recorded(Recording { command, policy, kernel, laid_over, .. }) => {
                let command = command.join(" ");
                f.write_str(if command.is_empty() { "the whole system" } else { &command })?;
                if let Some(policy) = policy {
                    write!(f, " under {policy}")?;
                }
                if !kernel.is_empty() {
                    write!(f, " on Linux {kernel}")?;
                }
                laid_over.as_ref().map_or(Ok(()), |over| write!(f, ", {over}"))
            }
            Source::Simulated { policy, workload, governor, seed, .. } => {
                write!(f, "{workload} under {policy}, {governor}, seed {seed}")
            }
            Source::Unknown => f.write_str("unknown origin"),
        }
    }
}

impl Display for LaidOver {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        write!(f, "laid over {}, {}", self.machine, self.governor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str) -> Recording {
        let text = format!(r#"{{"Recorded":{{"method":{method},"command":["make"],"kernel":"6.18.0"}}}}"#);
        match serde_json::from_str(&text).unwrap() {
            Source::Recorded(recording) => recording,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sentences_of_old_traces_are_read() {
        let why_not_bpf = Some("a reason (with another)".to_owned());
        let expected = [
            (r#""bpf""#, Method::Bpf),
            (r#""tracefs""#, Method::Tracefs { why_not_bpf: None }),
            (r#""tracefs (not BPF: a reason (with another))""#, Method::Tracefs { why_not_bpf }),
            (r#""perf.data""#, Method::Other { text: "perf.data".into() }),
        ];
        for (text, method) in expected {
            assert_eq!(
                read(text),
                Recording {
                    method,
                    command: vec!["make".into()],
                    kernel: "6.18.0".into(),
                    ..Recording::default()
                }
            );
        }
    }

    #[test]
    fn methods_of_newer_versions_are_read() {
        assert_eq!(read(r#""telepathy","distance":3"#).method, Method::Other { text: "telepathy".into() });
    }

    #[test]
    fn what_is_written_is_read() {
        let policy = RecordedPolicy { name: "nest".into(), params: vec![("r_max".into(), "3".into())] };
        for method in [
            Method::Bpf,
            Method::Tracefs { why_not_bpf: Some("no BTF".into()) },
            Method::Imported { format: "trace.dat".into() },
            Method::Other { text: "bpf".into() },
        ] {
            let recording = Recording {
                method,
                clock: "mono".into(),
                filter: Filter::Command,
                policy: Some(policy.clone()),
                inferred: 7,
                begin_s: 1,
                host: "h".into(),
                version: "1.0".into(),
                energy: Some(Box::new(Energy { package_uj: 5, cores_uj: None, dram_uj: Some(1) })),
                laid_over: Some(LaidOver { machine: "m".into(), governor: "schedutil".into() }),
                unrecorded: Unrecorded { wakeups: true, threads: false },
                ..Recording::default()
            };
            let source = Source::Recorded(recording);
            let text = serde_json::to_string(&source).unwrap();
            assert_eq!(serde_json::from_str::<Source>(&text).unwrap(), source, "{text}");
        }
    }

    #[test]
    fn sources_are_described() {
        let policy = RecordedPolicy { name: "nest".into(), params: vec![("r_max".into(), "3".into())] };
        let recording = Recording { policy: Some(policy), kernel: "6.18.0".into(), ..Recording::default() };
        let text = Source::Recorded(recording).to_string();
        assert_eq!(text, "the whole system under nest (r_max=3) on Linux 6.18.0");
    }
}
