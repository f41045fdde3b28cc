//! Records a running policy: every event and decision, as a trace.
//!
//! The policy's runtime writes records into a ring buffer; a thread empties it now and then, converts them
//! ([`convert`]) and writes the trace as it goes, so that memory does not grow with the length of the run
//! (except by what the trace's header has of each thread).

pub mod convert;

use crate::error::Error;
use crate::layout::Record;
use convert::{Converted, Converter, Names};
use hearth_trace::{Header, Writer};
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Bytes of the ring buffer: half a million records.
pub const RING_BYTES: u32 = 32 << 20;
/// How often it is emptied. It is polled: a reader that is woken by what it records records itself.
const POLL: Duration = Duration::from_millis(20);
/// How often what has been recorded is made readable, should all end suddenly.
const FLUSH: Duration = Duration::from_secs(5);

/// The model gave a core another frequency.
#[derive(Clone, Copy, Debug)]
pub struct NewFrequency {
    /// CLOCK_MONOTONIC in ns.
    pub time: u64,
    pub cpu: u32,
    pub khz: u32,
}

/// A trace that is being written.
pub struct Recording {
    path: PathBuf,
    writer: Arc<Mutex<Option<Converter<Writer>>>>,
    frequencies: Sender<NewFrequency>,
    ending: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

/// What became of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub path: PathBuf,
    pub events: u64,
    pub threads: usize,
    pub lost: u64,
}

/// Where a recording goes: looked at before the policy is attached, so that a wrong path is found early.
pub struct Prepared {
    path: PathBuf,
}

impl Prepared {
    /// # Errors
    /// A trace cannot be written there.
    pub fn new(path: &Path) -> Result<Prepared, Error> {
        Writer::check(path)?;
        Ok(Prepared { path: path.into() })
    }

    /// Starts to empty the ring buffer `map`. `start` is CLOCK_MONOTONIC of time 0; threads up to number
    /// `existing` were there before the policy. `header` is what is known before anything has happened.
    ///
    /// # Errors
    /// The ring buffer cannot be mapped, or the trace cannot be made.
    pub fn start(
        self,
        map: &dyn MapCore,
        names: Names,
        start: u64,
        existing: u32,
        header: &Header,
    ) -> Result<Recording, Error> {
        let converter = Converter::new(Writer::create(&self.path, header)?, names, start, existing);
        let writer = Arc::new(Mutex::new(Some(converter)));
        let (frequencies, changes) = channel();
        let waiting = Arc::new(Mutex::new(VecDeque::<NewFrequency>::new()));
        let ring = {
            let (writer, waiting) = (writer.clone(), waiting.clone());
            let take = move |bytes: &[u8]| {
                if let Some(record) = parse(bytes)
                    && let Some(converter) = &mut *writer.lock().unwrap_or_else(PoisonError::into_inner)
                {
                    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    while waiting.front().is_some_and(|change| change.time <= record.time) {
                        let Some(change) = waiting.pop_front() else { break };
                        converter.frequency(change.time, change.cpu, change.khz);
                    }
                    converter.record(&record);
                }
                0
            };
            let mut builder = RingBufferBuilder::new();
            let built = builder.add(map, take).map(|_| ()).and_then(|()| builder.build());
            built.map_err(|error| Error::Object(format!("the records cannot be read: {error}")))?
        };
        let ending = Arc::new(AtomicBool::new(false));
        let (stop, flushed) = (ending.clone(), writer.clone());
        let reader = thread::spawn(move || drain(&ring, &changes, &waiting, &flushed, &stop));
        Ok(Recording { path: self.path, writer, frequencies, ending, reader })
    }
}

fn drain(
    ring: &RingBuffer,
    changes: &Receiver<NewFrequency>,
    waiting: &Mutex<VecDeque<NewFrequency>>,
    writer: &Mutex<Option<Converter<Writer>>>,
    ending: &AtomicBool,
) {
    let mut flushed = Instant::now();
    loop {
        let last = ending.load(Ordering::Acquire);
        waiting.lock().unwrap_or_else(PoisonError::into_inner).extend(changes.try_iter());
        // Only the callback can fail, and it does not.
        let _ = ring.consume();
        if last {
            return;
        }
        if flushed.elapsed() >= FLUSH {
            flushed = Instant::now();
            if let Some(converter) = &mut *writer.lock().unwrap_or_else(PoisonError::into_inner) {
                converter.sink().flush();
            }
        }
        thread::sleep(POLL);
    }
}

impl Recording {
    /// Where the model tells of new frequencies.
    pub fn frequencies(&self) -> Sender<NewFrequency> {
        self.frequencies.clone()
    }

    /// Writes the rest: the policy has been detached. `header` needs no threads, names or duration.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self, header: Header) -> Result<Recorded, Error> {
        self.ending.store(true, Ordering::Release);
        let _ = self.reader.join();
        let converter = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(converter) = converter else { return Err(Error::Object("the recording is lost".into())) };
        let (writer, Converted { threads, names, duration, events, .. }) = converter.finish();
        let recorded =
            Recorded { path: self.path, events, threads: threads.len(), lost: header.lost.iter().sum() };
        writer.commit(&Header { threads, names, duration, ..header })?;
        Ok(recorded)
    }
}

/// A record from the bytes of the ring buffer.
fn parse(bytes: &[u8]) -> Option<Record> {
    if bytes.len() < size_of::<Record>() {
        return None;
    }
    // SAFETY: there are enough bytes, and any bytes are a record.
    Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}
