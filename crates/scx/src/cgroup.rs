//! A control group whose threads a policy schedules: those that are in it, and those that enter it later.

use crate::error::Error;
use crate::schedule::{self, Class};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where cgroups of version 2 are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// A cgroup and all below it.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    /// Threads that were given to the policy.
    given: BTreeSet<i32>,
}

impl Cgroup {
    /// `name` is a path, or relative to where cgroups are mounted.
    ///
    /// # Errors
    /// It does not exist, or is no cgroup of version 2 (the root has all threads: switch the whole system
    /// instead).
    pub fn open(name: &Path) -> Result<Cgroup, Error> {
        let path = if name.starts_with(MOUNT) {
            name.to_owned()
        } else {
            Path::new(MOUNT).join(name.strip_prefix("/").unwrap_or(name))
        };
        Cgroup::at(path)
    }

    fn at(path: PathBuf) -> Result<Cgroup, Error> {
        fs::metadata(&path).map_err(Error::file("open the cgroup", &path))?;
        if !path.join("cgroup.threads").is_file() {
            return Err(Error::NoCgroup { path });
        }
        Ok(Cgroup { path, given: BTreeSet::new() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives those threads to the policy that it does not have yet, and takes those back that have left. Threads
    /// of real-time classes stay what they are. What comes and goes meanwhile is seen the next time.
    pub fn update(&mut self) {
        let mut threads = BTreeSet::new();
        collect(&self.path, &mut threads, 0);
        for &tid in &threads {
            if schedule::class(tid) == Class::Ordinary {
                // It may have ended.
                let _ = schedule::to_policy(tid);
            }
        }
        for &gone in self.given.difference(&threads) {
            take_back(gone);
        }
        self.given = threads;
    }

    /// Gives all threads back to the kernel's own scheduler.
    pub fn release(&mut self) {
        let mut threads = std::mem::take(&mut self.given);
        collect(&self.path, &mut threads, 0);
        threads.into_iter().for_each(take_back);
    }
}

fn take_back(tid: i32) {
    if schedule::class(tid) == Class::Policy {
        let _ = schedule::to_kernel(tid);
    }
}

/// cgroups may not be nested deeper than that by default anyway.
const DEPTH: u32 = 64;

fn collect(folder: &Path, threads: &mut BTreeSet<i32>, depth: u32) {
    let text = fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
    threads.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if depth < DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), threads, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_whole_tree() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::write(root.path().join("cgroup.threads"), "1\n2\n").unwrap();
        fs::write(root.path().join("a/cgroup.threads"), "3\n").unwrap();
        fs::write(root.path().join("a/b/cgroup.threads"), "2\n77\n").unwrap();
        let mut threads = BTreeSet::new();
        collect(root.path(), &mut threads, 0);
        assert_eq!(threads.into_iter().collect::<Vec<_>>(), [1, 2, 3, 77]);
        assert!(Cgroup::at(root.path().into()).is_ok());
        assert!(matches!(Cgroup::at(root.path().join("none")), Err(Error::File { .. })));
        fs::create_dir(root.path().join("plain")).unwrap();
        assert!(matches!(Cgroup::at(root.path().join("plain")), Err(Error::NoCgroup { .. })));
    }
}
