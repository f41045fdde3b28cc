//! The kinds of rows of a report: intervals, processes or threads.

use hearth_report::analysis::MOST_INTERVALS;
use std::str::FromStr;
use std::time::Duration;

/// The kind of rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Intervals of this length in nanoseconds.
    Interval(u64),
    Process,
    /// All threads of one name.
    Program,
    Thread,
}

impl By {
    /// The length of the intervals in nanoseconds.
    pub fn interval(self) -> Option<u64> {
        match self {
            By::Interval(ns) => Some(ns),
            _ => None,
        }
    }

    /// An error message if a trace of this duration, in nanoseconds, has too many such intervals.
    pub fn too_fine(self, duration: u64) -> Option<String> {
        let ns = self.interval()?;
        let rows = duration / ns;
        (rows > MOST_INTERVALS as u64).then(|| {
            let longer = Duration::from_millis((duration / MOST_INTERVALS as u64).div_ceil(1_000_000));
            format!(
                "{rows} intervals of {} are more than the limit of {MOST_INTERVALS}; use {} or longer",
                humantime::format_duration(Duration::from_nanos(ns)),
                humantime::format_duration(longer)
            )
        })
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "process" => return Ok(By::Process),
            "program" => return Ok(By::Program),
            "thread" => return Ok(By::Thread),
            "second" => return Ok(By::Interval(1_000_000_000)),
            _ => {}
        }
        let length = humantime::parse_duration(text).map_err(|_| {
            "expected `second`, `process`, `program`, `thread`, or a length such as `100ms`".to_owned()
        })?;
        match u64::try_from(length.as_nanos()) {
            Ok(ns @ 1_000..) => Ok(By::Interval(ns)),
            Ok(_) => Err("an interval must be at least 1us long".into()),
            Err(_) => Err("this interval is too long".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lengths_and_names() {
        let by = |text: &str| text.parse::<By>();
        assert_eq!(by("second"), Ok(By::Interval(1_000_000_000)));
        assert_eq!(by("100ms"), Ok(By::Interval(100_000_000)));
        assert_eq!((by("process"), by("thread")), (Ok(By::Process), Ok(By::Thread)));
        for wrong in ["", "0s", "core", "1ns", "-1s", "99999999years"] {
            assert!(by(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn number_of_rows_is_limited() {
        let ms = By::Interval(1_000_000);
        assert_eq!(ms.too_fine(100_000 * 1_000_000), None);
        let said = ms.too_fine(3_600_000_000_000).unwrap();
        assert!(said.contains("3600000 intervals of 1ms") && said.contains("36ms or longer"), "{said}");
        assert_eq!(By::Thread.too_fine(u64::MAX), None);
    }
}
