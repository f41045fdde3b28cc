//! Workload files: JSON, one thread per line.
//!
//! `docs/src/workloads.md` documents the format. It is [`Workload`] itself preceded by a version.
//! The layout (one line per thread) only serves readers and `diff`. A file whose name ends in `.zst` is compressed with
//! Zstandard.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use hearth_base::file::AtomicFile;
use serde::{Deserialize, Serialize};

use crate::{Error, FORMAT_VERSION, SemIdx, Thread, Timer, Workload};

/// Fields read first, to identify the format and its version.
#[derive(Deserialize)]
struct Head {
    hearth_workload: Option<u64>,
    /// Present in rt-app documents.
    tasks: Option<serde::de::IgnoredAny>,
}

/// Contents of a file. `Workload` is not flattened into it, because that would lose line numbers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "hearth_workload")]
    _version: u32,
    #[serde(default)]
    name: String,
    #[serde(default)]
    origin: String,
    #[serde(default)]
    semaphores: Vec<u32>,
    #[serde(default)]
    sync: Vec<SemIdx>,
    #[serde(default)]
    barriers: Vec<u32>,
    #[serde(default)]
    timers: Vec<Timer>,
    #[serde(default)]
    barrier_spin: u64,
    #[serde(default)]
    wait_spin: u64,
    threads: Vec<Thread>,
}

impl Workload {
    /// Loads and checks a workload file.
    pub fn load(path: impl AsRef<Path>) -> Result<Workload, Error> {
        let path = path.as_ref();
        Workload::parse(&read(path)?, &path.display().to_string())
    }

    /// Parses and checks a workload. Errors name `origin` as the place.
    pub fn parse(text: &str, origin: &str) -> Result<Workload, Error> {
        let head: Head = serde_json::from_str(text).map_err(|e| syntax(origin, &e))?;
        match head.hearth_workload {
            Some(version) if version == u64::from(FORMAT_VERSION) => {}
            Some(found) => return Err(Error::Version { origin: origin.to_string(), found }),
            None => {
                let hint = match head.tasks {
                    Some(_) => "; this looks like an rt-app document, which must be imported",
                    None => "",
                };
                return Err(Error::NotAWorkload { origin: origin.to_string(), hint });
            }
        }
        let file: File = serde_json::from_str(text).map_err(|e| syntax(origin, &e))?;
        let workload = Workload {
            name: file.name,
            origin: file.origin,
            threads: file.threads,
            semaphores: file.semaphores,
            sync: file.sync,
            barriers: file.barriers,
            timers: file.timers,
            barrier_spin: file.barrier_spin,
            wait_spin: file.wait_spin,
        };
        workload.check(origin)?;
        Ok(workload)
    }

    /// Writes a workload file atomically, so that a reader sees either the old or the new file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let write = || {
            let mut file = AtomicFile::create(path)?;
            if is_compressed(path) {
                let mut packed = zstd::Encoder::new(&mut file, SMALL)?;
                self.write(&mut packed)?;
                packed.finish()?;
            } else {
                self.write(&mut file)?;
            }
            file.commit()
        };
        write().map_err(|source| Error::Write { path: path.to_path_buf(), source })
    }

    /// Writes the text of a workload file.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{{\"hearth_workload\": {FORMAT_VERSION},")?;
        writeln!(out, " \"name\": {},", json(&self.name)?)?;
        writeln!(out, " \"origin\": {},", json(&self.origin)?)?;
        writeln!(out, " \"semaphores\": {},", json(&self.semaphores)?)?;
        if !self.sync.is_empty() {
            writeln!(out, " \"sync\": {},", json(&self.sync)?)?;
        }
        writeln!(out, " \"barriers\": {},", json(&self.barriers)?)?;
        if !self.timers.is_empty() {
            writeln!(out, " \"timers\": {},", json(&self.timers)?)?;
        }
        if self.barrier_spin > 0 {
            writeln!(out, " \"barrier_spin\": {},", self.barrier_spin)?;
        }
        if self.wait_spin > 0 {
            writeln!(out, " \"wait_spin\": {},", self.wait_spin)?;
        }
        write!(out, " \"threads\": [")?;
        for (index, thread) in self.threads.iter().enumerate() {
            write!(out, "{}\n  {}", if index > 0 { "," } else { "" }, json(thread)?)?;
        }
        writeln!(out, "\n]}}")
    }
}

/// Zstandard's level for files that are written once.
const SMALL: i32 = 19;

/// Longest text of a compressed file. A damaged or hostile file does not exhaust memory.
const LONGEST: u64 = 1 << 30;

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// The text of a file, which may be compressed.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    let text = match is_compressed(path) {
        true => fs::File::open(path).and_then(unpack),
        false => fs::read_to_string(path),
    };
    text.map_err(|source| Error::Read { path: path.to_path_buf(), source })
}

/// The text that Zstandard has packed.
pub(crate) fn unpack(packed: impl Read) -> io::Result<String> {
    let mut text = String::new();
    zstd::Decoder::new(packed)?.take(LONGEST + 1).read_to_string(&mut text)?;
    match text.len() as u64 {
        0..=LONGEST => Ok(text),
        _ => Err(io::Error::other(format!("it has more than {LONGEST} bytes of text"))),
    }
}

fn json(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// Converts the error and removes the position from its message, which serde_json repeats there.
pub(crate) fn syntax(origin: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let message = match message.rfind(" at line ") {
        Some(end) => &message[..end],
        None => &message,
    };
    Error::Syntax {
        origin: origin.to_string(),
        line: error.line(),
        column: error.column(),
        message: message.to_string(),
    }
}
