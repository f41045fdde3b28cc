//! Reads small files of sysfs and procfs, below a root that tests can choose.

use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, Read};
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
        self.read(path).ok().filter(|text| !text.is_empty())
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let path = self.path(path);
        // Opening a pipe would block until its other end is opened.
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
        // Some kernels end a list with a zero byte.
        Ok(String::from_utf8_lossy(&bytes).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    /// What a file says, in the form that `parse` reads. `what` names it in the error.
    pub(crate) fn required<T>(
        &self,
        path: &str,
        what: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Error> {
        let read = self.read(path).map_err(|error| error.to_string());
        let value = read
            .and_then(|text| parse(&text).ok_or_else(|| format!("unexpected content `{}`", excerpt(&text))));
        value.map_err(|reason| Error::Unreadable { what, path: self.path(path), reason })
    }

    /// The numbers N of the folders `NAMEN` in `folder`, ascending.
    pub(crate) fn numbered(&self, folder: &str, name: &str) -> Vec<u32> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(name)?.parse().ok();
        let mut numbers: Vec<u32> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
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

/// Parses a list as [`cpu_list`] does; `None` if a part of it is not readable, or if it is empty.
pub(crate) fn whole_list(list: &str) -> Option<Vec<u32>> {
    let readable = list.split(',').all(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.trim().parse::<u32>(), last.trim().parse::<u32>()), (Ok(first), Ok(last)) if first <= last)
    });
    readable.then(|| cpu_list(list)).filter(|cores| !cores.is_empty())
}

/// Parses a mask of cores in words of 32 bits, such as `00000001,80000003`, the form of kernels before 2.6.26.
pub(crate) fn cpu_mask(mask: &str) -> Option<Vec<u32>> {
    let words: Vec<&str> = mask.trim().split(',').collect();
    if words.len() > MOST_CORES as usize / 32 {
        return None;
    }
    let mut cores = Vec::new();
    for (word, first) in words.iter().rev().zip((0..).step_by(32)) {
        let bits = u32::from_str_radix(word, 16).ok()?;
        cores.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(cores).filter(|cores| !cores.is_empty())
}

/// The start of a file's text, on one line.
fn excerpt(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(40).collect()
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

    #[test]
    fn a_list_is_read_as_a_whole_or_not_at_all() {
        assert_eq!(whole_list("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        for list in ["", "x", "0-3,x", "3-1", "0,,1", "-1"] {
            assert_eq!(whole_list(list), None, "{list}");
        }
    }

    #[test]
    fn masks_have_the_highest_word_first() {
        assert_eq!(cpu_mask("00000001,80000003\n"), Some(vec![0, 1, 31, 32]));
        assert_eq!(cpu_mask("f"), Some(vec![0, 1, 2, 3]));
        for mask in ["", "0", "1,g", "100000000"] {
            assert_eq!(cpu_mask(mask), None, "{mask}");
        }
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
