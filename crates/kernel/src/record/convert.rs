//! The thread that makes a trace of the rounds, while the command runs. It has a low priority, so that it uses cores
//! that nobody else wants; if it falls far behind, it gets the usual one.

use super::Error;
use super::assemble::Assembler;
use super::round::{Decode, Item, Round};
use super::spool::Spool;
use hearth_trace::Sink;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// `nice` of a thread that is not to disturb.
const LOW: i32 = 19;
/// From so many bytes that wait on, it may disturb.
const FAR_BEHIND: usize = 256 << 20;
/// How often the sink is flushed.
const FLUSH: Duration = Duration::from_secs(2);

pub struct Converter<'a> {
    spool: &'a Spool,
    /// Number of the thread (0: it does not run yet), and its `nice`.
    thread: AtomicI32,
    nice: AtomicI32,
}

impl<'a> Converter<'a> {
    pub fn new(spool: &'a Spool) -> Self {
        Converter { spool, thread: AtomicI32::new(0), nice: AtomicI32::new(LOW) }
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
            // SAFETY: no pointers. Without the right to raise it, the priority stays low.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, thread as u32, self.nice.load(Ordering::SeqCst)) };
        }
    }

    /// Converts until the spool is closed and empty. Returns the assembler, and the number of the kernel's events.
    pub fn run<S: Sink>(
        &self,
        mut decode: Box<dyn Decode>,
        mut assembler: Assembler<S>,
        mut flush: impl FnMut(&mut S),
    ) -> Result<(Assembler<S>, u64), Error> {
        // SAFETY: no pointers.
        self.thread.store(unsafe { libc::gettid() }, Ordering::SeqCst);
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
            decode.round(round, &mut take).map_err(|(cpu, why)| Error::Page { cpu, why })?;
            if flushed.elapsed() >= FLUSH {
                flush(assembler.sink());
                flushed = Instant::now();
            }
        }
        Ok((assembler, events))
    }
}
