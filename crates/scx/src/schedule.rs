//! Scheduling classes of threads.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Linux's SCHED_EXT.
const SCHED_EXT: i32 = 7;

/// Moves a thread (0: the calling one) to class SCHED_EXT, which its children inherit.
///
/// # Errors
/// Those of `sched_setscheduler`.
pub fn to_policy(tid: i32) -> io::Result<()> {
    set(tid, SCHED_EXT)
}

/// Moves a thread (0: the calling one) to the kernel's own scheduler.
///
/// # Errors
/// Those of `sched_setscheduler`.
pub fn to_kernel(tid: i32) -> io::Result<()> {
    set(tid, libc::SCHED_OTHER)
}

fn set(tid: i32, class: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: `param` is valid for the call.
    match unsafe { libc::sched_setscheduler(tid, class, &param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives this thread real-time priority until dropped, if the user may.
///
/// The thread that attaches a policy needs it. The kernel moves threads to the policy one by one, including this one,
/// and threads that it has not moved yet run first. If they are busy, the switch never completes, and threads that
/// were already moved starve: observed on 6.16, where RCU and then the whole system stalled. Later kernels switch from
/// a real-time thread of their own (`scx_enable_helper`).
#[derive(Debug)]
pub struct RealTime {
    before: Option<(i32, libc::sched_param)>,
}

impl RealTime {
    pub fn begin() -> RealTime {
        let mut param = libc::sched_param { sched_priority: 0 };
        // SAFETY: no pointers.
        let class = unsafe { libc::sched_getscheduler(0) };
        // SAFETY: `param` is valid for the call.
        let known = class >= 0 && unsafe { libc::sched_getparam(0, &mut param) } == 0;
        let first = libc::sched_param { sched_priority: 1 };
        // SAFETY: `first` is valid for the call.
        let begun = known && unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &first) } == 0;
        RealTime { before: begun.then_some((class, param)) }
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        if let Some((class, param)) = self.before {
            // SAFETY: `param` is valid for the call.
            unsafe { libc::sched_setscheduler(0, class, &param) };
        }
    }
}

/// Gives this thread more weight until dropped, if the user may: nine times that of a thread of nice 0.
///
/// For work that others wait for. With real-time priority, the threads of its core would have to wait for its end: 168 ms
/// for a verification.
#[derive(Debug)]
pub struct Boost {
    before: Option<i32>,
}

impl Boost {
    const NICE: i32 = -10;

    pub fn begin() -> Boost {
        // SAFETY: no pointers. It cannot fail for the calling thread.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        // SAFETY: no pointers.
        let begun =
            before > Self::NICE && unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, Self::NICE) } == 0;
        Boost { before: begun.then_some(before) }
    }
}

impl Drop for Boost {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: no pointers.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before) };
        }
    }
}

/// Scheduler of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The kernel's own scheduler for ordinary threads.
    Ordinary,
    /// A policy.
    Policy,
    /// Real-time class, or the thread has exited.
    Other,
}

pub(crate) fn class(tid: i32) -> Class {
    // SAFETY: no pointers.
    match unsafe { libc::sched_getscheduler(tid) } & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => Class::Ordinary,
        SCHED_EXT => Class::Policy,
        _ => Class::Other,
    }
}

/// Starts the command's process in class SCHED_EXT.
pub fn with_policy(command: &mut Command) -> &mut Command {
    // SAFETY: the closure makes one system call, which is async-signal-safe.
    unsafe { command.pre_exec(|| to_policy(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_lasts_as_long_as_it_is_held() {
        // SAFETY: no pointers.
        let class = || unsafe { libc::sched_getscheduler(0) };
        let before = class();
        let first = RealTime::begin();
        // Without the privilege the class stays.
        assert_eq!(class(), if first.before.is_some() { libc::SCHED_FIFO } else { before });
        drop(first);
        assert_eq!(class(), before);
    }

    #[test]
    fn more_weight_lasts_as_long_as_it_is_held() {
        // SAFETY: no pointers.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = nice();
        let boost = Boost::begin();
        // Without the privilege the nice value stays.
        assert_eq!(nice(), boost.before.map_or(before, |_| Boost::NICE));
        drop(boost);
        assert_eq!(nice(), before);
    }
}
