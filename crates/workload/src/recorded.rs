//! Recordings of real programs that are part of Hearth: `workloads/suite`.

use crate::{Error, Workload, file};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static FOLDER: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../workloads/suite");

/// A recorded program.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    /// Its name, as for `--workload`: `NAME-CPUS`.
    #[serde(skip)]
    pub name: String,
    /// One-line description.
    pub what: String,
    /// Number of CPUs of the machine that recorded it.
    pub cpus: u32,
}

static INDEX: LazyLock<Vec<Recorded>> = LazyLock::new(|| {
    let index = FOLDER.get_file("index.json").and_then(|file| file.contents_utf8()).unwrap_or("{}");
    let all: BTreeMap<String, Recorded> = serde_json::from_str(index).unwrap_or_default();
    all.into_iter().map(|(name, recorded)| Recorded { name, ..recorded }).collect()
});

/// All recorded programs, by name.
pub fn recorded() -> &'static [Recorded] {
    &INDEX
}

impl Recorded {
    /// Reads the workload, which takes the recording's name.
    pub fn load(&self) -> Result<Workload, Error> {
        let name = format!("{}.json.zst", self.name);
        let packed = FOLDER.get_file(&name).map(|file| file.contents()).unwrap_or_default();
        let text = file::unpack(packed).map_err(|source| Error::Read { path: name.into(), source })?;
        Ok(Workload { name: self.name.clone(), ..Workload::parse(&text, &self.name)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_a_line_in_the_index() {
        let mut files: Vec<String> = FOLDER
            .files()
            .filter_map(|file| file.path().to_str()?.strip_suffix(".json.zst").map(str::to_owned))
            .collect();
        files.sort();
        let names: Vec<&str> = recorded().iter().map(|recorded| recorded.name.as_str()).collect();
        assert_eq!(files, names);
    }

    #[test]
    fn each_recording_is_a_workload() {
        for recorded in recorded() {
            let workload = recorded.load().unwrap();
            assert_eq!(workload.name, recorded.name);
            assert!(workload.threads.len() > 1 && !recorded.what.is_empty(), "{}", recorded.name);
        }
    }
}
