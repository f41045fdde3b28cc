//! Properties of this machine that affect a play.

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;
use std::fs;
use std::path::Path;

/// The kernel, cores and scheduler of this machine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Host {
    /// The kernel's release string.
    pub kernel: String,
    /// Number of cores that this process may run on.
    pub cores: u32,
    /// Name of the loaded sched_ext scheduler; `None` under the kernel's own scheduler.
    pub sched_ext: Option<String>,
}

impl Host {
    /// Reads the current state.
    pub fn detect() -> Self {
        let enabled = text("/sys/kernel/sched_ext/state").is_some_and(|state| state == "enabled");
        Host {
            kernel: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
            cores: allowed_cores().count().max(1),
            sched_ext: enabled.then(|| text("/sys/kernel/sched_ext/root/ops").unwrap_or_default()),
        }
    }
}

/// The affinity of the calling thread; empty if the kernel does not report it.
pub fn allowed_cores() -> CpuSet {
    sched_getaffinity(None).unwrap_or_default()
}

/// Describes the limits on the number of threads, for messages.
pub fn thread_limits() -> String {
    let mut limits = vec![format!("{} at a time in one play", crate::stacks::MOST)];
    if let Some(user) = getrlimit(Resource::Nproc).current {
        limits.push(format!("{user} of this user, but not of root (ulimit -u)"));
    }
    for (path, what) in [("threads-max", "threads of the kernel"), ("pid_max", "process numbers")] {
        if let Some(limit) = text(Path::new("/proc/sys/kernel").join(path)) {
            limits.push(format!("{limit} {what} (kernel.{path})"));
        }
    }
    if let Some(limit) = cgroup_limit(&text("/proc/self/cgroup").unwrap_or_default()) {
        limits.push(format!("{limit} threads of the control group (pids.max)"));
    }
    limits.join("; ")
}

/// The lowest `pids.max` of this process's control group and its ancestors.
fn cgroup_limit(membership: &str) -> Option<u64> {
    let mut lowest: Option<u64> = None;
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':');
        let (_, Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            "pids" => "/sys/fs/cgroup/pids",
            _ => continue,
        };
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let limit =
                text(Path::new(root).join(group).join("pids.max")).and_then(|limit| limit.parse().ok());
            lowest = lowest.into_iter().chain(limit).min();
        }
    }
    lowest
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_host() {
        let host = Host::detect();
        assert!(host.cores >= 1 && !host.kernel.is_empty(), "{host:?}");
        assert!(thread_limits().contains("kernel.pid_max"), "{}", thread_limits());
    }

    #[test]
    fn nonsense_limits_nothing() {
        assert_eq!(cgroup_limit("nonsense\n1:cpu:/\n0::/there/is/no/such/group"), None);
    }
}
