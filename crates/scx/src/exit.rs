//! Why the kernel ended a policy.

use crate::limits::{self, Limit};
use std::fmt;

/// `enum scx_exit_kind`: kinds from here on are errors of the policy.
const ERROR: i32 = 1024;
const STALL: i32 = 1026;
const UNREG: i32 = 64;
const SYSRQ: i32 = 67;
/// `enum scx_exit_code`: the loader should start the scheduler again.
const RESTART: i64 = 1 << 48;

/// The kernel's account of the end of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitInfo {
    pub policy: String,
    /// The kernel's `scx_exit_kind`.
    pub kind: i32,
    pub code: i64,
    pub reason: String,
    pub message: String,
    /// The state of all queues and cores at that time, after an error.
    pub dump: String,
}

/// Lines of the dump that are shown; the first ones contain the cause.
const SHOWN: usize = 40;

impl ExitInfo {
    /// Decodes `struct user_exit_info`: kind, core, code, reason, message.
    pub(crate) fn parse(policy: &str, bytes: &[u8], dump: &[u8]) -> Option<ExitInfo> {
        let kind = i32::from_ne_bytes(bytes.get(0..4)?.try_into().ok()?);
        let code = i64::from_ne_bytes(bytes.get(8..16)?.try_into().ok()?);
        Some(ExitInfo {
            policy: policy.to_owned(),
            kind,
            code,
            reason: text(bytes.get(16..144)?),
            message: text(bytes.get(144..)?),
            dump: text(dump),
        })
    }

    /// The policy has not ended: the kernel has written nothing.
    pub(crate) fn none(&self) -> bool {
        self.kind == 0
    }

    /// A core came on line or went off line: the policy must be started again.
    pub fn restart(&self) -> bool {
        (UNREG..ERROR).contains(&self.kind) && self.code & RESTART != 0
    }

    /// The kernel found an error of the policy, other than a thread that waited too long.
    pub(crate) fn is_error(&self) -> bool {
        self.kind >= ERROR && self.kind != STALL
    }

    /// What the user can do.
    pub fn help(&self) -> Option<String> {
        let what = match self.kind {
            SYSRQ => "SysRq-S ended the policy; start it again once the cause is found",
            STALL if self.core_is_taken() => {
                "a real-time or deadline thread kept the core of this one, which cannot run elsewhere; Linux 6.18 and older give sched_ext no share beside such threads"
            }
            STALL if let Some(limit) = self.quota() => {
                return Some(format!(
                    "its cgroup has a quota ({limit}), which lets a ready thread wait longer than the watchdog allows; give \
                     a longer --watchdog, or a larger quota"
                ));
            }
            STALL => {
                "a ready thread waited longer than the watchdog allows: the policy lost it, or the machine is overloaded (--watchdog)"
            }
            kind if kind >= ERROR => {
                "the kernel's own scheduler has taken over, and no thread is lost; please report these lines"
            }
            _ => return None,
        };
        Some(what.into())
    }
}

impl ExitInfo {
    /// The quota of the thread that did not run: `NAME[PID] failed to run`.
    fn quota(&self) -> Option<Limit> {
        let (thread, _) = self.message.split_once("] failed to run")?;
        limits::quota_of(thread.rsplit_once('[')?.1.parse().ok()?)
    }

    /// The line of the dump that shows the thread that did not run: `R name[pid]`.
    fn victim(&self, lines: &[&str]) -> Option<usize> {
        let (thread, _) = self.message.split_once(" failed to run")?;
        lines.iter().position(|line| line.contains(&format!("R {thread} ")))
    }

    /// Whether a thread of a class above sched_ext runs on the core of the thread that did not.
    fn core_is_taken(&self) -> bool {
        let lines: Vec<&str> = self.dump.lines().collect();
        let above = self.victim(&lines).map_or(&[][..], |victim| &lines[..victim]);
        let class = above.iter().rev().find_map(|line| line.split_once("class=")).map(|(_, class)| class);
        class.is_some_and(|class| ["rt_", "dl_"].iter().any(|above| class.starts_with(above)))
    }
}

impl fmt::Display for ExitInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel ended policy {}: {}", self.policy, self.reason)?;
        if !self.message.is_empty() {
            write!(f, " ({})", self.message)?;
        }
        if !self.dump.trim().is_empty() {
            let lines: Vec<&str> = self.dump.trim_end().lines().collect();
            // A second part shows the thread that did not run: a line with `R name[pid]`.
            let victim = self.victim(&lines);
            let (first, second) = match victim {
                Some(line) if line >= SHOWN => (SHOWN / 2, line..lines.len().min(line + SHOWN / 2)),
                _ => (lines.len().min(SHOWN), SHOWN..SHOWN),
            };
            write!(f, "\n{}", lines[..first].join("\n"))?;
            if !second.is_empty() {
                gap(f, first, second.start)?;
                write!(f, "\n{}", lines[second.clone()].join("\n"))?;
            }
            gap(f, first.max(second.end), lines.len())?;
        }
        Ok(())
    }
}

/// Writes how many lines are left out.
fn gap(f: &mut fmt::Formatter<'_>, from: usize, to: usize) -> fmt::Result {
    if from < to { write!(f, "\n... {} more lines", to - from) } else { Ok(()) }
}

/// Text up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: i32, code: i64, reason: &str, message: &str) -> Vec<u8> {
        let mut bytes = vec![0; 16 + 128 + 1024];
        bytes[0..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[8..16].copy_from_slice(&code.to_ne_bytes());
        bytes[16..16 + reason.len()].copy_from_slice(reason.as_bytes());
        bytes[144..144 + message.len()].copy_from_slice(message.as_bytes());
        bytes
    }

    #[test]
    fn exits_are_read() {
        let exit = |kind, code| {
            ExitInfo::parse("nest", &bytes(kind, code, "runnable task stall", "sh[7] 30 s"), b"").unwrap()
        };
        let stall = exit(STALL, 0);
        assert!(!stall.none() && !stall.restart() && stall.help().is_some());
        assert_eq!(stall.to_string(), "the kernel ended policy nest: runnable task stall (sh[7] 30 s)");
        assert!(exit(0, 0).none());
        assert!(!exit(UNREG, 0).restart());
        assert!(exit(65, RESTART | 1 << 32).restart());
        assert!(!exit(STALL, RESTART).restart());
        assert_eq!(ExitInfo::parse("nest", &[0; 10], b""), None);
    }

    #[test]
    fn a_long_dump_is_cut() {
        let dump: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let exit = ExitInfo::parse("nest", &bytes(1024, 0, "error", ""), dump.as_bytes()).unwrap();
        let shown = exit.to_string();
        assert!(shown.contains("line 39") && !shown.contains("line 40") && shown.ends_with("60 more lines"));
    }

    #[test]
    fn a_taken_core_is_blamed() {
        let help = |class: &str| {
            let dump = format!(
                "CPU 0 : nr_run=0\n  curr=swapper/0[0] class=idle_sched_class\nCPU 1 : nr_run=1\n  curr=hog[9] class={class}\n  R kworker/1:1[59] -31000ms\nCPU 2 : nr_run=1\n  curr=other[8] class=rt_sched_class\n"
            );
            let message = "kworker/1:1[59] failed to run for 31.000s";
            ExitInfo::parse("nest", &bytes(STALL, 0, "stall", message), dump.as_bytes())
                .unwrap()
                .help()
                .unwrap()
        };
        assert!(help("rt_sched_class").contains("real-time"));
        assert!(!help("ext_sched_class").contains("real-time"));
    }

    #[test]
    fn the_thread_that_did_not_run_is_shown() {
        let thread = "R rcu_preempt[15] *root -44768ms\n";
        let dump: String =
            (0..100).map(|n| if n == 70 { thread.into() } else { format!("line {n}\n") }).collect();
        let message = "rcu_preempt[15] failed to run for 44.768s";
        let exit = ExitInfo::parse("nest", &bytes(STALL, 0, "stall", message), dump.as_bytes()).unwrap();
        let shown = exit.to_string();
        assert!(shown.contains("line 19\n... 50 more lines\nR rcu_preempt[15]"), "{shown}");
        assert!(shown.ends_with("line 89\n... 10 more lines"), "{shown}");
    }
}
