//! `trace.json`: metadata of a trace except its tables, and the location of its events.

use super::folder::NEW;
use super::{Error, FORMAT, OLDEST, VERSION};
use crate::event::{Header, Time};
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

pub const FILE: &str = "trace.json";
/// Maximum size of `trace.json`. A recording of an hour with a flush every second needs less.
const MAX_BYTES: u64 = 256 << 20;
const CHECKSUM: &str = ",\"checksum\":\"";

/// Content of `trace.json`, except for its last member: the checksum of everything before it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Meta {
    pub format: String,
    pub version: u32,
    /// False while the trace is being written, and if its writer was interrupted.
    pub complete: bool,
    pub events: u64,
    pub duration: Time,
    pub source: Source,
    pub machine: String,
    pub names: Vec<String>,
    pub reasons: Vec<String>,
    pub sets: Vec<String>,
    pub idle_states: Vec<String>,
    pub assumed_khz: u32,
    pub khz_range: (u32, u32),
    pub lost: Vec<u64>,
    pub energy_uj: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub energy_by_time: Vec<(Time, u64)>,
    #[serde(default)]
    pub sync: bool,
    /// Length and checksum of each table of a complete trace.
    #[serde(default)]
    pub tables: BTreeMap<String, Sum>,
    pub segments: Vec<Segment>,
}

/// Length of a file and its XXH3-64 checksum.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    pub bytes: u64,
    pub checksum: Checksum,
}

/// File of events: consecutive groups, then the Parquet footer.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    pub groups: Vec<GroupInfo>,
    pub footer: Sum,
}

/// Row group. `begin` and `end` are the times of its first and last event. Its bytes start where
/// the previous group ends; those of the first group start at the beginning of the file.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupInfo {
    pub events: u32,
    pub begin: Time,
    pub end: Time,
    pub bytes: u64,
    pub checksum: Checksum,
}

/// XXH3-64 checksum, written in JSON as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Checksum(pub u64);

impl Checksum {
    pub fn of(bytes: &[u8]) -> Self {
        Checksum(xxh3_64(bytes))
    }
}

impl From<Checksum> for String {
    fn from(checksum: Checksum) -> String {
        format!("{:016x}", checksum.0)
    }
}

impl TryFrom<String> for Checksum {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let number = u64::from_str_radix(&text, 16).ok().map(Checksum);
        number.filter(|it| String::from(*it) == text).ok_or("a checksum must have 16 hexadecimal digits")
    }
}

impl Meta {
    pub fn new(header: &Header, complete: bool) -> Self {
        Meta {
            format: FORMAT.into(),
            version: VERSION,
            complete,
            events: 0,
            duration: header.duration,
            source: header.source.clone(),
            machine: header.machine.clone(),
            names: header.names.clone(),
            reasons: header.reasons.clone(),
            sets: header.sets.clone(),
            idle_states: header.idle_states.clone(),
            assumed_khz: header.assumed_khz,
            khz_range: header.khz_range,
            lost: header.lost.clone(),
            energy_uj: header.energy_uj,
            energy_by_time: header.energy_by_time.clone(),
            sync: header.sync,
            tables: BTreeMap::new(),
            segments: Vec::new(),
        }
    }

    /// Header without its tables, which are in separate files.
    pub fn header(&self) -> Header {
        Header {
            source: self.source.clone(),
            machine: self.machine.clone(),
            cores: Vec::new(),
            duration: self.duration,
            threads: Vec::new(),
            processes: Vec::new(),
            names: self.names.clone(),
            reasons: self.reasons.clone(),
            sets: self.sets.clone(),
            idle_states: self.idle_states.clone(),
            assumed_khz: self.assumed_khz,
            khz_range: self.khz_range,
            lost: self.lost.clone(),
            energy_uj: self.energy_uj,
            energy_by_time: self.energy_by_time.clone(),
            sync: self.sync,
        }
    }

    /// Replaces the file atomically.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let (new, path) = (folder.join(format!("{FILE}{NEW}")), folder.join(FILE));
        let mut text =
            serde_json::to_string(self).map_err(|error| Error::io("write", &path)(error.into()))?;
        text.pop();
        let checksum = Checksum::of(text.as_bytes());
        text.push_str(CHECKSUM);
        text.push_str(&String::from(checksum));
        text.push_str("\"}\n");
        if text.len() as u64 > MAX_BYTES {
            return Err(Error::TooLarge {
                path,
                what: format!("its trace.json would have {} bytes", text.len()),
            });
        }
        let write = || {
            File::create(&new)?.write_all(text.as_bytes())?;
            fs::rename(&new, &path)
        };
        write().map_err(Error::io("write", &path))
    }

    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let text = read_text(folder, &path)?;
        #[derive(Deserialize)]
        struct Probe {
            format: String,
            version: u32,
        }
        let misunderstood = |error: serde_json::Error| Error::corrupt(&path, error.to_string());
        let body = checked(&text)
            .ok_or_else(|| Error::corrupt(&path, "its checksum is missing or does not match"))?;
        let probe: Probe = serde_json::from_str(&body).map_err(misunderstood)?;
        if probe.format != FORMAT {
            return Err(Error::NotATrace { path: folder.into() });
        }
        if !(OLDEST..=VERSION).contains(&probe.version) {
            return Err(Error::Version { path: folder.into(), found: probe.version, supported: VERSION });
        }
        let meta: Meta = serde_json::from_str(&body).map_err(misunderstood)?;
        let groups = || meta.segments.iter().flat_map(|segment| &segment.groups);
        let events: u64 = groups().map(|group| u64::from(group.events)).sum();
        if events != meta.events {
            let what = format!("it claims {} events, but its groups have {events}", meta.events);
            return Err(Error::corrupt(&path, what));
        }
        Ok(meta)
    }
}

/// True if the folder contains a trace, even a damaged one.
pub fn is_trace(folder: &Path) -> bool {
    #[derive(Deserialize)]
    struct Probe {
        format: String,
    }
    let text = read_text(folder, &folder.join(FILE)).ok();
    let probe = text.and_then(|text| serde_json::from_str::<Probe>(&text).ok());
    probe.is_some_and(|probe| probe.format == FORMAT)
}

fn read_text(folder: &Path, path: &Path) -> Result<String, Error> {
    let file = hearth_base::file::open(path).map_err(|error| match fs::metadata(folder) {
        Ok(meta) if meta.is_dir() && error.kind() == std::io::ErrorKind::NotFound => {
            Error::NotATrace { path: folder.into() }
        }
        Ok(meta) if !meta.is_dir() => not_a_folder(folder),
        Ok(_) => Error::io("open", path)(error),
        Err(error) => Error::io("open", folder)(error),
    })?;
    let bytes = read_all(file, path, MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|_| Error::corrupt(path, "it is not UTF-8"))
}

/// Reads a file of at most `most` bytes.
pub fn read_all(file: File, path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if bytes.len() as u64 > most {
        return Err(Error::corrupt(path, format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

/// Error for a path that is not a folder. Up to version 1, a trace was a single file.
fn not_a_folder(path: &Path) -> Error {
    let mut start = [0; 8];
    let read = hearth_base::file::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_ok() && &start == b"HEARTHTR" {
        return Error::Version { path: path.into(), found: 1, supported: VERSION };
    }
    Error::NotATrace { path: path.into() }
}

/// The text without its checksum, if the checksum matches.
fn checked(text: &str) -> Option<String> {
    let (body, rest) = text.rsplit_once(CHECKSUM)?;
    let checksum = rest.strip_suffix("\"}\n")?;
    (checksum == String::from(Checksum::of(body.as_bytes()))).then(|| format!("{body}}}"))
}
