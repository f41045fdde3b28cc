//! System calls that the standard library lacks.

use std::io;
use std::mem;
use std::time::{Duration, Instant};

/// CLOCK_MONOTONIC in ns: the clock of the kernel's events and of policies.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The cores on which this thread may run, ascending.
pub fn allowed_cores() -> Vec<u32> {
    // SAFETY: an all-zero set is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `set` is valid for writes of its size.
    if unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: the number is below the set's size.
    (0..libc::CPU_SETSIZE as u32).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu as usize, &set) }).collect()
}

/// Pins this thread to one core.
pub fn pin(core: u32) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as u32 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: an all-zero set is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the number is below the set's size.
    unsafe { libc::CPU_SET(core as usize, &mut set) };
    // SAFETY: `set` is valid for reads of its size.
    match unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set), &set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Requests SCHED_FIFO for this thread, at the lowest real-time priority; returns whether the kernel granted it.
/// Also sets the minimal timer slack, which makes sleeps precise without SCHED_FIFO.
pub fn real_time() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: `lowest` is valid for reads; the other call has no pointers.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &lowest) == 0
    }
}

/// Number of involuntary context switches of this thread.
pub fn involuntary_switches() -> u64 {
    // SAFETY: all-zero is a valid value, and `usage` is valid for writes.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

/// Length of a tick of /proc/stat.
pub fn clock_tick() -> Duration {
    // SAFETY: no pointers.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Duration::from_secs(1) / u32::try_from(per_second).unwrap_or(100).max(1)
}

/// Sleeps until `when`; returns at once if that has passed.
pub fn sleep_until(when: Instant) {
    let left = when.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}

/// A counter of the `msr` events of perf, for this thread on any core.
pub fn open_perf_counter(kind: u32, config: u64) -> io::Result<std::fs::File> {
    use std::os::fd::FromRawFd;
    /// perf_event_attr, version 0: what every kernel with perf takes.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        unused: [u64; 6],
    }
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    let size = mem::size_of::<Attributes>() as u32;
    let attributes = Attributes { kind, size, config, ..Attributes::default() };
    // SAFETY: `attributes` is valid for reads of the size that it says.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &attributes, 0 as libc::pid_t, -1, -1, CLOSE_ON_EXEC)
    };
    let fd = i32::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else has it.
    Ok(unsafe { std::fs::File::from_raw_fd(fd) })
}
