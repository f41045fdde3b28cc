//! The thread that makes a trace of the rounds, while the command runs. It has a low priority, so that it uses cores
//! that nobody else wants; if it falls far behind, it gets the usual one.

use crate::Error;
use crate::round::{Decode, Round};
use crate::spool::Spool;
use hearth_ftrace::{Assembler, Item};
use hearth_trace::Sink;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// `nice` of a thread that is not to disturb.
const LOW: i32 = 19;
/// From so many bytes that wait on, it may disturb.
const FAR_BEHIND: usize = 256 << 20;
/// How often the sink is flushed.
const FLUSH: Duration = Duration::from_secs(2);

/// A sink whose threads have a low priority too.
pub struct Quiet<S> {
    pub sink: S,
    threads: Vec<i32>,
}

impl<S: Send> Quiet<S> {
    /// Makes the sink by a thread of low priority: those that it starts inherit that.
    pub fn new(make: impl FnOnce() -> S + Send) -> Self {
        let before = threads();
        std::thread::scope(|scope| {
            let make = move || {
                let own = own_number();
                set_nice(own, LOW);
                let sink = make();
                let threads =
                    threads().into_iter().filter(|thread| *thread != own && !before.contains(thread));
                Quiet { sink, threads: threads.collect() }
            };
            match scope.spawn(make).join() {
                Ok(quiet) => quiet,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

impl<S, E> Quiet<Result<S, E>> {
    /// The sink, if it could be made.
    pub fn transpose(self) -> Result<Quiet<S>, E> {
        let threads = self.threads;
        self.sink.map(|sink| Quiet { sink, threads })
    }
}

/// The numbers of this process's threads.
fn threads() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn own_number() -> i32 {
    // SAFETY: no pointers.
    unsafe { libc::gettid() }
}

/// Without the right to raise it, the priority stays low.
fn set_nice(thread: i32, nice: i32) {
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread as u32, nice) };
}

pub struct Converter<'a> {
    spool: &'a Spool,
    /// Number of the thread (0: it does not run yet), and its `nice`.
    thread: AtomicI32,
    nice: AtomicI32,
    /// The sink's threads.
    others: Vec<i32>,
}

impl<'a> Converter<'a> {
    /// `quiet`: where the events will go.
    pub fn new<S>(spool: &'a Spool, quiet: &Quiet<S>) -> Self {
        let others = quiet.threads.clone();
        Converter { spool, thread: AtomicI32::new(0), nice: AtomicI32::new(LOW), others }
    }

    /// A round for the converter.
    pub fn take(&self, round: Round) -> Result<(), Error> {
        let failed =
            |source| Error::System { action: "keep events in a file (`-o` says in which folder)", source };
        let waiting = self.spool.push(round).map_err(failed)?;
        self.set_nice(if waiting > FAR_BEHIND { 0 } else { LOW });
        Ok(())
    }

    /// Nobody is disturbed any more.
    pub fn hurry(&self) {
        self.set_nice(0);
    }

    fn set_nice(&self, nice: i32) {
        if self.nice.swap(nice, Ordering::SeqCst) != nice {
            self.apply();
        }
    }

    fn apply(&self) {
        let thread = self.thread.load(Ordering::SeqCst);
        if thread != 0 {
            let nice = self.nice.load(Ordering::SeqCst);
            self.others.iter().chain([&thread]).for_each(|thread| set_nice(*thread, nice));
        }
    }

    /// Converts until the spool is closed and empty. Returns the assembler, and the number of the kernel's events.
    pub fn run<S: Sink>(
        &self,
        mut decode: Box<dyn Decode>,
        mut assembler: Assembler<S>,
        mut flush: impl FnMut(&mut S),
    ) -> Result<(Assembler<S>, u64), Error> {
        self.thread.store(own_number(), Ordering::SeqCst);
        self.apply();
        let mut events = 0;
        let mut flushed = Instant::now();
        let failed = |source| Error::System { action: "read back events from a file", source };
        while let Some(round) = self.spool.pop().map_err(failed)? {
            let mut take = |item: Item<'_>| match item {
                Item::Lost { cpu, count } => assembler.lost(cpu, count),
                Item::Event(event) => {
                    events += 1;
                    assembler.event(&event);
                }
            };
            decode.round(round, &mut take)?;
            if flushed.elapsed() >= FLUSH {
                flush(assembler.sink());
                flushed = Instant::now();
            }
        }
        Ok((assembler, events))
    }
}
