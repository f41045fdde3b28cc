//! The converter: a thread that assembles the trace from rounds while the command runs.
//!
//! It has a low priority, so that it uses cores that are idle otherwise. If it falls far behind, it gets the normal
//! priority.

use crate::Error;
use crate::frequency::ModelFrequencies;
use crate::round::{Decode, Round};
use crate::spool::Spool;
use hearth_trace::Sink;
use hearth_trace::ftrace::{Assembler, EventKind, Item, KernelEvent};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Nice value of threads of low priority.
const LOW: i32 = 19;
/// Number of waiting bytes from which on the converter has the normal priority.
const FAR_BEHIND: usize = 256 << 20;
/// Interval between flushes of the sink.
const FLUSH: Duration = Duration::from_secs(2);

/// A sink whose threads have a low priority.
pub struct LowPriority<S> {
    pub sink: S,
    threads: Vec<i32>,
}

impl<S: Send> LowPriority<S> {
    /// Makes the sink on a thread of low priority, from which the sink's threads inherit theirs.
    pub fn new(make: impl FnOnce() -> S + Send) -> Self {
        let before = threads();
        std::thread::scope(|scope| {
            let make = move || {
                let own = thread_id();
                set_nice(own, LOW);
                let sink = make();
                let threads =
                    threads().into_iter().filter(|thread| *thread != own && !before.contains(thread));
                LowPriority { sink, threads: threads.collect() }
            };
            match scope.spawn(make).join() {
                Ok(made) => made,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

impl<S, E> LowPriority<Result<S, E>> {
    /// Returns the error if the sink could not be made.
    pub fn transpose(self) -> Result<LowPriority<S>, E> {
        let threads = self.threads;
        self.sink.map(|sink| LowPriority { sink, threads })
    }
}

/// The threads of this process.
fn threads() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn thread_id() -> i32 {
    // SAFETY: no pointers.
    unsafe { libc::gettid() }
}

/// Fails silently: without the right to raise it, the priority stays low.
fn set_nice(thread: i32, nice: i32) {
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread as u32, nice) };
}

pub struct Converter<'a> {
    spool: &'a Spool,
    /// Thread of the converter; 0 before it runs.
    thread: AtomicI32,
    nice: AtomicI32,
    /// Threads of the sink.
    sink_threads: Vec<i32>,
}

impl<'a> Converter<'a> {
    pub fn new<S>(spool: &'a Spool, sink: &LowPriority<S>) -> Self {
        let sink_threads = sink.threads.clone();
        Converter { spool, thread: AtomicI32::new(0), nice: AtomicI32::new(LOW), sink_threads }
    }

    /// Queues a round.
    pub fn push(&self, round: Round) -> Result<(), Error> {
        let failed =
            |source| Error::System { action: "keep events in a file beside the trace (`-o`)", source };
        let waiting = self.spool.push(round).map_err(failed)?;
        self.set_nice(if waiting > FAR_BEHIND { 0 } else { LOW });
        Ok(())
    }

    /// Gives the threads the normal priority: the command has ended.
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
            self.sink_threads.iter().chain([&thread]).for_each(|thread| set_nice(*thread, nice));
        }
    }

    /// Converts rounds until the spool is closed and empty. Returns the assembler and the number of kernel events.
    pub fn run<S: Sink>(
        &self,
        mut decode: Box<dyn Decode>,
        mut assembler: Assembler<S>,
        mut model: Option<ModelFrequencies>,
        mut flush: impl FnMut(&mut S),
    ) -> Result<(Assembler<S>, u64), Error> {
        self.thread.store(thread_id(), Ordering::SeqCst);
        self.apply();
        let mut events = 0;
        let mut flushed = Instant::now();
        let failed = |source| Error::System { action: "read back events from a file", source };
        while let Some(round) = self.spool.pop().map_err(failed)? {
            let mut take = |item: Item<'_>| match item {
                Item::Lost { cpu, count } => assembler.lost(cpu, count),
                Item::Event(event) => {
                    events += 1;
                    match &mut model {
                        Some(model) => with_model(&mut assembler, model, event),
                        None => assembler.event(&event),
                    }
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

/// Passes an event with the frequencies of the model in place of the hardware's.
fn with_model<S: Sink>(assembler: &mut Assembler<S>, model: &mut ModelFrequencies, event: KernelEvent<'_>) {
    model.until(event.time, |change| assembler.frequency(change.time, change.cpu, change.khz));
    let kind = match event.kind {
        EventKind::Frequency { .. } => EventKind::Running,
        EventKind::Tick { .. } => EventKind::Tick { khz: model.khz(event.cpu) },
        kind => kind,
    };
    assembler.event(&KernelEvent { kind, ..event });
}
