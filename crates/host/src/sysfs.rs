//! Reads small files of sysfs and procfs, below a root that tests can choose.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Length at which files are truncated: /proc/cpuinfo of the largest machines has a few megabytes.
const LONGEST: u64 = 16 << 20;
/// Highest plausible number of a core.
pub(crate) const MOST_CORES: u32 = 65_536;

/// Files of a machine.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// This machine's, where `root` is `/`.
    pub fn under(root: &Path) -> Files {
        Files { root: root.to_owned() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Contents of a file without surrounding whitespace; `None` if the file is missing or empty.
    pub fn text(&self, path: &str) -> Option<String> {
        let path = self.path(path);
        // Opening a pipe would block until its other end is opened.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    pub fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    pub fn cores(&self, path: &str) -> Option<Vec<u32>> {
        Some(cpu_list(&self.text(path)?)).filter(|cores| !cores.is_empty())
    }
}

/// Parses a list such as `0-3,8,10-11`; omits unreadable parts.
pub fn cpu_list(list: &str) -> Vec<u32> {
    let mut cores = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cores.extend(first..=last.min(MOST_CORES - 1));
        }
        // Overlapping ranges must not make the list grow without bound.
        if cores.len() > MOST_CORES as usize {
            cores.sort_unstable();
            cores.dedup();
        }
    }
    cores.sort_unstable();
    cores.dedup();
    cores
}

/// Formats a list of cores as the kernel does.
pub fn show_list(cores: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &core in cores {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(core) => *last = core,
            _ => ranges.push((core, core)),
        }
    }
    let shown = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(shown).collect::<Vec<_>>().join(",")
}

/// The values of all lines `name : value`.
pub fn fields<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_of_cores() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list("nonsense,5,4-2"), [5]);
        assert_eq!(cpu_list(&"0-4294967295,".repeat(9)).len(), MOST_CORES as usize);
    }

    proptest! {
        #[test]
        fn lists_are_read_as_they_are_written(mut cores in proptest::collection::vec(0u32..3000, 0..200)) {
            cores.sort_unstable();
            cores.dedup();
            prop_assert_eq!(cpu_list(&show_list(&cores)), cores);
        }

        #[test]
        fn any_text_is_a_list(text in ".{0,40}") {
            cpu_list(&text);
        }
    }
}
