//! Creation of threads on preallocated stacks.
//!
//! The standard library maps a stack and a signal stack for each thread and unmaps them at its exit. With
//! thousands of short threads, these calls contend for the address space's lock and sleep on it. That causes
//! wake-ups that are not in the graph. This module maps all stacks before the play and reuses them.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of live threads. Each takes two mappings; the kernel's default limit is 65 530 per process.
pub const MOST: u32 = 16_384;

/// Size of a stack, unless the C library requires more, as on arm64.
const STACK: usize = 64 * 1024;

pub type Entry = extern "C" fn(*mut c_void) -> *mut c_void;

pub struct Stacks {
    base: *mut u8,
    /// Size of a stack in bytes. `guard` is the size of the guard page below it, which catches an overflow.
    size: usize,
    guard: usize,
    count: u32,
    pool: Mutex<Pool>,
}

// SAFETY: `base` is the start of the mapping, which only `Drop` unmaps. `pool` gives each stack to one thread at a
// time.
unsafe impl Send for Stacks {}
// SAFETY: as above.
unsafe impl Sync for Stacks {}

struct Pool {
    /// Number of the first stack that was never used.
    fresh: u32,
    /// Unused stacks: their thread was joined or could not be created.
    returned: Vec<u32>,
    /// Retired threads and their stacks, oldest first; the threads may still execute on their stacks.
    ended: VecDeque<(libc::pthread_t, u32)>,
}

impl Stacks {
    /// Maps stacks for `count` threads, at most [`MOST`]. The kernel allocates memory only when a thread touches it.
    pub fn new(count: u32) -> io::Result<Self> {
        let count = count.clamp(1, MOST);
        // SAFETY: sysconf has no preconditions.
        let limit = |name, default| usize::try_from(unsafe { libc::sysconf(name) }).unwrap_or(default);
        let page = limit(libc::_SC_PAGESIZE, 4096);
        let least = limit(libc::_SC_THREAD_STACK_MIN, STACK).next_multiple_of(page);
        let (size, guard) = (STACK.max(2 * page).max(least), page);
        let length = (size + guard) * count as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a new anonymous mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let room = count as usize;
        let pool =
            Pool { fresh: 0, returned: Vec::with_capacity(room), ended: VecDeque::with_capacity(room) };
        let stacks = Stacks { base: base.cast(), size, guard, count, pool: Mutex::new(pool) };
        for stack in 0..count {
            // SAFETY: the stack is inside the mapping, and no thread uses it yet.
            let result =
                unsafe { libc::mprotect(stacks.bottom(stack), size, libc::PROT_READ | libc::PROT_WRITE) };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(stacks)
    }

    /// Starts a thread that calls `entry(arg)`, after storing the number of its stack in `seat`. The `entry` must
    /// [retire](Self::retire) the stack as one of its last actions. Fails with `EAGAIN` if no stack is free.
    ///
    /// # Safety
    ///
    /// `arg` must point to what `entry` expects, and must be valid until the thread has been joined.
    pub unsafe fn spawn(&self, seat: &AtomicU32, entry: Entry, arg: *mut c_void) -> io::Result<()> {
        let stack = self.take().ok_or(io::Error::from_raw_os_error(libc::EAGAIN))?;
        seat.store(stack, Relaxed);
        // SAFETY: the attributes are initialised before use and destroyed after it. The stack is `size` writable
        // bytes of the mapping, no other thread uses it (the pool gave it), and it outlives the thread (`Drop`).
        let error = unsafe {
            let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
            let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
            match libc::pthread_attr_init(attributes.as_mut_ptr()) {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
            let mut error =
                libc::pthread_attr_setstack(attributes.as_mut_ptr(), self.bottom(stack), self.size);
            if error == 0 {
                error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), entry, arg);
            }
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            error
        };
        if error == 0 {
            return Ok(());
        }
        self.lock().returned.push(stack);
        Err(io::Error::from_raw_os_error(error))
    }

    /// Queues the calling thread for joining. The thread executes on `stack` and is about to return from its entry.
    pub fn retire(&self, stack: u32) {
        // SAFETY: no preconditions.
        let thread = unsafe { libc::pthread_self() };
        self.lock().ended.push_back((thread, stack));
    }

    /// Joins all retired threads.
    pub fn join_retired(&self) {
        loop {
            let Some((thread, stack)) = self.lock().ended.pop_front() else { return };
            // SAFETY: the thread is joinable, and removing it from the list makes this the only join.
            unsafe { libc::pthread_join(thread, ptr::null_mut()) };
            self.lock().returned.push(stack);
        }
    }

    /// Takes a stack on which no thread executes.
    fn take(&self) -> Option<u32> {
        let mut pool = self.lock();
        if let Some(stack) = pool.returned.pop() {
            return Some(stack);
        }
        if let Some(&(thread, stack)) = pool.ended.front() {
            // If all stacks are in use, wait: the retired thread is about to leave its stack.
            let wait = pool.fresh == self.count;
            // SAFETY: the thread is joinable, and no other thread joins it while this one holds the lock.
            let gone = unsafe {
                match wait {
                    true => libc::pthread_join(thread, ptr::null_mut()) == 0,
                    false => libc::pthread_tryjoin_np(thread, ptr::null_mut()) == 0,
                }
            };
            if gone {
                pool.ended.pop_front();
                return Some(stack);
            }
        }
        let stack = pool.fresh;
        (stack < self.count).then(|| {
            pool.fresh += 1;
            stack
        })
    }

    /// The lowest address of a stack.
    fn bottom(&self, stack: u32) -> *mut c_void {
        let offset = (self.size + self.guard) * stack as usize + self.guard;
        // SAFETY: the stack is inside the mapping.
        unsafe { self.base.add(offset).cast() }
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stacks {
    /// All threads must have retired.
    fn drop(&mut self) {
        self.join_retired();
        // SAFETY: `self` owns the mapping, and no thread executes on it any more.
        unsafe { libc::munmap(self.base.cast(), (self.size + self.guard) * self.count as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    struct Job {
        stacks: *const Stacks,
        seat: AtomicU32,
        ran: AtomicU64,
    }

    extern "C" fn count(job: *mut c_void) -> *mut c_void {
        // SAFETY: the tests pass a valid job, and keep it until all threads are joined.
        let (job, stacks) = unsafe {
            let job = &*job.cast::<Job>();
            (job, &*job.stacks)
        };
        stacks.retire(job.seat.load(Relaxed));
        // A test that has seen it run can join it.
        job.ran.fetch_add(1, Relaxed);
        ptr::null_mut()
    }

    fn jobs(stacks: &Stacks, count: usize) -> Vec<Job> {
        let job = || Job { stacks, seat: AtomicU32::new(0), ran: AtomicU64::new(0) };
        (0..count).map(|_| job()).collect()
    }

    #[test]
    fn stacks_are_used_again() {
        let stacks = Stacks::new(8).unwrap();
        let jobs = jobs(&stacks, 100);
        for job in &jobs {
            // Fails only while all stacks are used by threads that have not ended: try again.
            // SAFETY: the job is valid until the threads are joined below.
            while unsafe { stacks.spawn(&job.seat, count, ptr::from_ref(job).cast_mut().cast()) }.is_err() {
                std::thread::yield_now();
            }
        }
        while jobs.iter().any(|job| job.ran.load(Relaxed) == 0) {
            std::thread::yield_now();
        }
        stacks.join_retired();
        assert!(jobs.iter().all(|job| job.ran.load(Relaxed) == 1 && job.seat.load(Relaxed) < 8));
    }

    #[test]
    fn too_many_at_a_time_is_an_error() {
        let stacks = Stacks::new(1).unwrap();
        let held = stacks.take().expect("one stack");
        let job = &jobs(&stacks, 1)[0];
        // SAFETY: the call fails, so no thread uses `arg`.
        let error = unsafe { stacks.spawn(&job.seat, count, ptr::from_ref(job).cast_mut().cast()) };
        assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EAGAIN));
        stacks.lock().returned.push(held);
        assert_eq!(stacks.take(), Some(held));
    }
}
