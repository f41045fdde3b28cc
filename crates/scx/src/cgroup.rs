//! A cgroup whose threads a policy schedules, including those that enter it later.

use crate::error::Error;
use crate::schedule::{self, Class};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Mount point of cgroup v2.
pub(crate) const MOUNT: &str = "/sys/fs/cgroup";

/// A cgroup and its descendants.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    /// Threads that the policy schedules since the last [`Cgroup::update`].
    scheduled: BTreeSet<i32>,
}

impl Cgroup {
    /// Opens a cgroup; `name` is a path, or relative to the mount point.
    ///
    /// # Errors
    /// It does not exist, or has no `cgroup.threads`.
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
        Ok(Cgroup { path, scheduled: BTreeSet::new() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves new threads of the cgroup to the policy, and threads that left it back to the kernel's scheduler.
    /// Real-time threads keep their class. Threads that come or go meanwhile are handled by the next update.
    pub fn update(&mut self) {
        let mut threads = BTreeSet::new();
        collect(&self.path, &mut threads, 0);
        for &tid in &threads {
            if schedule::class(tid) == Class::Ordinary {
                // The thread may have exited.
                let _ = schedule::to_policy(tid);
            }
        }
        for &gone in self.scheduled.difference(&threads) {
            take_back(gone);
        }
        self.scheduled = threads;
    }

    /// Moves all threads back to the kernel's scheduler.
    pub fn release(&mut self) {
        let mut threads = std::mem::take(&mut self.scheduled);
        collect(&self.path, &mut threads, 0);
        threads.into_iter().for_each(take_back);
    }
}

fn take_back(tid: i32) {
    if schedule::class(tid) == Class::Policy {
        let _ = schedule::to_kernel(tid);
    }
}

/// Most levels of cgroups below the given one that are searched.
const MAX_DEPTH: u32 = 64;

fn collect(folder: &Path, threads: &mut BTreeSet<i32>, depth: u32) {
    let text = fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
    threads.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if depth < MAX_DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
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
