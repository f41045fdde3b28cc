//! Scheduling classes of threads.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Linux's SCHED_EXT.
const SCHED_EXT: i32 = 7;

/// Makes a thread one that a partially switched policy schedules; its children inherit that. 0: this thread.
///
/// # Errors
/// Those of `sched_setscheduler`.
pub fn to_policy(tid: i32) -> io::Result<()> {
    set(tid, SCHED_EXT)
}

/// Gives a thread back to the kernel's own scheduler.
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

/// What schedules a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The kernel's own scheduler for ordinary threads.
    Ordinary,
    /// A policy.
    Policy,
    /// Real time, or the thread is gone.
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

/// Makes the command's process one that a partially switched policy schedules.
pub fn with_policy(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only a system call is made.
    unsafe { command.pre_exec(|| to_policy(0)) }
}
