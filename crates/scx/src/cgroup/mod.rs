//! A cgroup whose threads a policy schedules, including those that enter it later.

mod moves;

use crate::error::Error;
use crate::schedule::{self, Class};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub use moves::{Move, Moves};

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
    /// Real-time threads keep their class. Threads that come or go meanwhile are left to [`Cgroup::moved`].
    pub fn update(&mut self) {
        let mut threads = BTreeSet::new();
        collect(&self.path, &mut threads, 0);
        for &tid in &threads {
            if schedule::class(tid) == Class::Ordinary {
                self.settle(tid);
            }
        }
        for &gone in self.scheduled.difference(&threads) {
            self.settle(gone);
        }
        self.scheduled = threads;
    }

    /// Handles a thread that may have entered or left the cgroup, or a process.
    pub fn moved(&mut self, Move { tid, process }: Move) {
        if !process {
            return self.settle(tid);
        }
        let threads = fs::read_dir(format!("/proc/{tid}/task")).into_iter().flatten().flatten();
        let threads = threads.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        threads.for_each(|tid| self.settle(tid));
    }

    /// Changes the class of a thread until it agrees with its cgroup. The thread may move meanwhile, or exit, and another one
    /// may get its number: so the cgroup is read again after each change.
    fn settle(&self, tid: i32) {
        // A thread that moves all the time comes again.
        for _ in 0..3 {
            let changed = match (self.contains(tid), schedule::class(tid)) {
                (Some(true), Class::Ordinary) => schedule::to_policy(tid),
                (Some(false), Class::Policy) => schedule::to_kernel(tid),
                _ => return,
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Whether a thread is in the cgroup or a descendant. `None`: it has exited.
    fn contains(&self, tid: i32) -> Option<bool> {
        let text = fs::read_to_string(format!("/proc/{tid}/cgroup")).ok()?;
        let own = self.path.strip_prefix(MOUNT).unwrap_or(&self.path);
        Some(is_below(own, &text))
    }

    /// Moves all threads back to the kernel's scheduler.
    pub fn release(&mut self) {
        let mut threads = std::mem::take(&mut self.scheduled);
        collect(&self.path, &mut threads, 0);
        threads.into_iter().for_each(take_back);
    }
}

/// Whether a thread's `/proc/TID/cgroup` names `cgroup` or a descendant.
fn is_below(cgroup: &Path, text: &str) -> bool {
    let unified = text.lines().find_map(|line| line.strip_prefix("0::/"));
    unified.is_some_and(|path| Path::new(path).starts_with(cgroup))
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
    fn a_thread_is_in_its_cgroup_and_those_above() {
        let text = "12:cpu:/house\n0::/house/attic\n";
        let below = |cgroup: &str| is_below(Path::new(cgroup), text);
        assert_eq!(["", "house", "house/attic"].map(below), [true; 3]);
        assert_eq!(["hous", "house/att", "house/attic/box", "cpu"].map(below), [false; 4]);
        assert!(!is_below(Path::new("house"), "12:cpu:/house\n"));
    }

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
