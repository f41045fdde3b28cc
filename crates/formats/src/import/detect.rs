//! Detecting the format of a file by its first bytes.

use super::{perf_data, schedviz, tracing_data};
use crate::Error;

/// Formats that can be imported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImportFormat {
    /// ftrace, `trace-cmd report` or `perf script`.
    Text,
    TraceDat,
    PerfData,
    Perfetto,
    /// Trace events: scxsim's, or Chrome's with the kernel's text.
    Json,
    /// The archive of SchedViz.
    SchedViz,
}

impl ImportFormat {
    pub fn name(self) -> &'static str {
        match self {
            ImportFormat::Text => "ftrace text",
            ImportFormat::TraceDat => "trace.dat",
            ImportFormat::PerfData => "perf.data",
            ImportFormat::Perfetto => "Perfetto",
            ImportFormat::Json => "JSON trace events",
            ImportFormat::SchedViz => "SchedViz",
        }
    }
}

pub fn detect(beginning: &[u8]) -> Result<ImportFormat, Error> {
    let begins = |with: &[u8]| beginning.starts_with(with);
    if begins(tracing_data::MAGIC) {
        return Ok(ImportFormat::TraceDat);
    }
    if begins(perf_data::MAGIC) || begins(perf_data::MAGIC_BIG_ENDIAN) {
        return Ok(ImportFormat::PerfData);
    }
    if begins(b"HEARTHTR") {
        return Err(Error::Hearth);
    }
    // A packet with a field. Text may begin with a line feed, too, but does not continue like this.
    let first = beginning.first_chunk::<2>();
    if first.is_some_and(|[tag, length]| *tag == 0x0a && *length != 0) && !is_text(beginning) {
        return Ok(ImportFormat::Perfetto);
    }
    if schedviz::is_tar(beginning) {
        return Ok(ImportFormat::SchedViz);
    }
    if is_text(beginning) && matches!(beginning.trim_ascii_start(), [b'{' | b'[', ..]) {
        return Ok(ImportFormat::Json);
    }
    match is_text(beginning) && !beginning.is_empty() {
        true => Ok(ImportFormat::Text),
        false => Err(Error::Unknown),
    }
}

/// The format, unless the bytes may be any text.
pub fn certain(beginning: &[u8]) -> Option<ImportFormat> {
    const SIGNS: [&str; 5] = [" sched_", " sched:sched_", "# tracer:", "cpus=", "raceEvents"];
    let text = String::from_utf8_lossy(beginning);
    detect(beginning).ok().filter(|format| {
        !matches!(format, ImportFormat::Text | ImportFormat::Json)
            || SIGNS.iter().any(|sign| text.contains(sign))
    })
}

fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    !head.iter().any(|byte| *byte < b' ' && !matches!(byte, b'\n' | b'\t' | b'\r'))
}
