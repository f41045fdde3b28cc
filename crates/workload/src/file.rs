//! The workload file: JSON, one thread per line.
//!
//! `docs/src/workloads.md` describes the format for its users. It is [`Workload`] itself with a
//! version in front; the layout (one line per thread) is only for readers and for `diff`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use hearth_base::file::AtomicFile;
use serde::{Deserialize, Serialize};

use crate::{Error, FORMAT_VERSION, Thread, Workload};

/// What is read first: is this a workload, and of which version?
#[derive(Deserialize)]
struct Head {
    hearth_workload: Option<u64>,
    /// An rt-app document has `tasks`.
    tasks: Option<serde::de::IgnoredAny>,
}

/// The file as it is read. `Workload` cannot be flattened into it: that loses line numbers.
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
    barriers: Vec<u32>,
    #[serde(default)]
    barrier_spin: u64,
    threads: Vec<Thread>,
}

impl Workload {
    /// Reads a workload file and checks it.
    pub fn load(path: impl AsRef<Path>) -> Result<Workload, Error> {
        let path = path.as_ref();
        Workload::parse(&read(path)?, &path.display().to_string())
    }

    /// Reads a workload from the text of a file and checks it. `origin` names the text in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Workload, Error> {
        let head: Head = serde_json::from_str(text).map_err(|e| syntax(origin, &e))?;
        match head.hearth_workload {
            Some(version) if version == u64::from(FORMAT_VERSION) => {}
            Some(found) => return Err(Error::Version { origin: origin.to_string(), found }),
            None => {
                let hint = match head.tasks {
                    Some(_) => "; this looks like an rt-app document, which is imported instead of loaded",
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
            barriers: file.barriers,
            barrier_spin: file.barrier_spin,
        };
        workload.check(origin)?;
        Ok(workload)
    }

    /// Writes a workload file. A reader sees the old file or the new one, never a part.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let write = || {
            let mut file = AtomicFile::create(path)?;
            self.write(&mut file)?;
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
        writeln!(out, " \"barriers\": {},", json(&self.barriers)?)?;
        if self.barrier_spin > 0 {
            writeln!(out, " \"barrier_spin\": {},", self.barrier_spin)?;
        }
        write!(out, " \"threads\": [")?;
        for (index, thread) in self.threads.iter().enumerate() {
            write!(out, "{}\n  {}", if index > 0 { "," } else { "" }, json(thread)?)?;
        }
        writeln!(out, "\n]}}")
    }
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })
}

fn json(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// The error with its place; serde_json repeats the place in its message, which is cut off.
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
