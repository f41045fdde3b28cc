//! Where the numbers of a report come from, and how to repeat them.

use hearth_trace::{Header, Recording, Source};
use serde::Serialize;
use std::time::{Duration, UNIX_EPOCH};

/// Fields that are not known are left empty. The same input gives the same provenance: no time is that of the report.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Provenance {
    /// Version of Hearth that made the numbers.
    pub version: String,
    /// Command that gives the same numbers again.
    pub command: String,
    /// `SOURCE_DATE_EPOCH`, if it is set.
    pub date: Option<String>,
    pub seeds: Vec<u64>,
    /// Random variation of the work, as a fraction.
    pub noise: f64,
    pub world: String,
    pub recordings: Vec<RecordedFacts>,
}

/// A recording that the numbers are based on.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RecordedFacts {
    pub path: String,
    pub command: Vec<String>,
    /// When it began (RFC 3339, UTC); `None`: the trace does not say.
    pub date: Option<String>,
    pub host: String,
    pub kernel: String,
    pub machine: String,
    pub recorder: String,
    /// Version of Hearth that recorded it.
    pub version: String,
    pub recorded_s: f64,
}

impl Provenance {
    /// That of this version of Hearth.
    pub fn of_this_version() -> Provenance {
        let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.trim().parse().ok());
        Provenance {
            version: env!("CARGO_PKG_VERSION").into(),
            date: epoch.and_then(date),
            ..Provenance::default()
        }
    }

    /// Names and values for people.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts: Vec<(&str, String)> = Vec::new();
        for recording in &self.recordings {
            facts.push(("recorded", format!("{}: {recording}", recording.path)));
        }
        if let [first, .., last] = self.seeds[..] {
            facts.push(("seeds", format!("{first} to {last}")));
        } else if let [only] = self.seeds[..] {
            facts.push(("seed", only.to_string()));
        }
        let date = self.date.as_ref().map_or_else(String::new, |date| format!(", {date}"));
        facts.push(("made by", format!("hearth {}{date}", self.version)));
        if !self.command.is_empty() {
            facts.push(("repeat", self.command.clone()));
        }
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl RecordedFacts {
    /// The facts of a trace; `None` if it is not a recording.
    pub fn of(path: &str, header: &Header) -> Option<RecordedFacts> {
        let Source::Recorded(Recording { method, command, kernel, begin_s, host, version, .. }) =
            &header.source
        else {
            return None;
        };
        Some(RecordedFacts {
            path: path.into(),
            command: command.clone(),
            date: date(*begin_s).filter(|_| *begin_s > 0),
            host: host.clone(),
            kernel: kernel.clone(),
            machine: header.machine.clone(),
            recorder: method.name().into(),
            version: version.clone(),
            recorded_s: header.duration as f64 / 1e9,
        })
    }
}

/// `3.81 s on build7 (Intel Xeon …), Linux 6.12.0, 2026-11-24T19:34:01Z`
impl std::fmt::Display for RecordedFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:.2} s", self.recorded_s)?;
        match (&*self.host, &*self.machine) {
            ("", "") => {}
            ("", machine) => write!(f, " on {machine}")?,
            (host, "") => write!(f, " on {host}")?,
            (host, machine) => write!(f, " on {host} ({machine})")?,
        }
        if !self.kernel.is_empty() {
            write!(f, ", Linux {}", self.kernel)?;
        }
        if let Some(date) = &self.date {
            write!(f, ", {date}")?;
        }
        Ok(())
    }
}

/// Seconds since 1970 as RFC 3339; `None` beyond the year 9999.
pub fn date(seconds: u64) -> Option<String> {
    const END: u64 = 253_402_300_800;
    (seconds < END)
        .then(|| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_names_its_host_kernel_and_date() {
        let source = Source::Recorded(Recording {
            kernel: "6.12.0".into(),
            begin_s: 86_400,
            host: "build7".into(),
            ..Recording::default()
        });
        let header = Header { source, machine: "Xeon".into(), duration: 3_810_000_000, ..Header::default() };
        let facts = RecordedFacts::of("t.trace", &header).unwrap();
        assert_eq!(facts.to_string(), "3.81 s on build7 (Xeon), Linux 6.12.0, 1970-01-02T00:00:00Z");
        let old = Header { source: Source::Recorded(Recording::default()), ..header };
        let facts = RecordedFacts::of("old.trace", &old).unwrap();
        assert_eq!((facts.date.as_deref(), &*facts.to_string()), (None, "3.81 s on Xeon"));
        assert_eq!(RecordedFacts::of("x", &Header::default()), None);
        assert_eq!(date(u64::MAX), None);
    }

    #[test]
    fn facts_say_how_to_repeat() {
        let provenance = Provenance {
            version: "1.0".into(),
            command: "hearth sim -w configure".into(),
            seeds: vec![1, 2, 3],
            ..Provenance::default()
        };
        let facts = provenance.facts();
        let facts: Vec<(&str, &str)> = facts.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(
            facts,
            [("seeds", "1 to 3"), ("made by", "hearth 1.0"), ("repeat", "hearth sim -w configure")]
        );
    }
}
