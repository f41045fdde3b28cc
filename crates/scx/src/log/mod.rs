//! The conformance log: input, effects and a hash of the policy's state for every handler of a running policy. Another
//! build of the policy can replay and compare it.
//!
//! The object must be compiled for it ([`crate::object::Purpose::Log`]); handlers then run one at a time. Records arrive
//! in order through the ring buffer. The number of a record that does not fit is missing.

mod format;

pub use crate::layout::event::NAMES as EVENTS;
pub use format::{Core, Ending, Error, Header, Reader, Record, Writer, event, kind};

use crate::error;
use hearth_policy::Policy;
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

/// Size of the ring buffer in bytes: room for nearly two million records.
pub const RING_BYTES: u32 = 128 << 20;
/// Interval at which it is emptied.
const POLL: Duration = Duration::from_millis(5);

/// Hash of a policy's C.
pub fn hash(c: &str) -> String {
    format!("{:032x}", xxh3_128(c.as_bytes()))
}

impl Header {
    /// A header without command, cores and domains.
    pub fn new(policy: &Policy, params: &[i64], kernel: &str) -> Header {
        Header {
            policy: policy.name().to_owned(),
            c: hash(&policy.c()),
            params: params.to_vec(),
            kernel: kernel.into(),
            ..Header::default()
        }
    }
}

type Output = Writer<BufWriter<File>>;

/// A log that is being written.
pub struct Logging {
    path: PathBuf,
    writer: Arc<Mutex<io::Result<Output>>>,
    ending: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

/// Summary of a written log.
#[derive(Clone, Debug)]
pub struct Logged {
    pub path: PathBuf,
    pub records: u64,
    pub lost: u64,
    /// Times that a handler did not get the lock and ran anyway. If not 0, the log is invalid.
    pub torn: u64,
}

impl Logging {
    /// Creates the file, and starts to copy records from the ring buffer `map` to it.
    ///
    /// # Errors
    /// The file cannot be written, or the ring buffer cannot be mapped.
    pub fn start(path: &Path, header: &Header, map: &dyn MapCore) -> Result<Logging, error::Error> {
        let file = File::create(path).map_err(error::Error::file("write", path))?;
        let writer = Writer::new(BufWriter::with_capacity(1 << 20, file), header);
        let writer = Arc::new(Mutex::new(Ok(writer.map_err(error::Error::file("write", path))?)));
        let ring = {
            let writer = writer.clone();
            let take = move |bytes: &[u8]| {
                if let Some(bytes) = bytes.first_chunk() {
                    put(&writer, Record::from_bytes(bytes));
                }
                0
            };
            let mut builder = RingBufferBuilder::new();
            let built = builder.add(map, take).map(|_| ()).and_then(|()| builder.build());
            built.map_err(|error| error::Error::Object(format!("the log cannot be read: {error}")))?
        };
        let ending = Arc::new(AtomicBool::new(false));
        let stop = ending.clone();
        let reader = thread::spawn(move || drain(&ring, &stop));
        Ok(Logging { path: path.into(), writer, ending, reader })
    }

    /// Writes the rest, after the policy was detached. The policy has made `logged` records.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self, logged: u64, torn: u64) -> Result<Logged, error::Error> {
        self.ending.store(true, Ordering::Release);
        let _ = self.reader.join();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = std::mem::replace(&mut *writer, Err(io::Error::other("it is finished")));
        let finish = |writer: Output| {
            let records = writer.written();
            writer.finish(logged, torn).map(|_| records)
        };
        let records = writer.and_then(finish).map_err(error::Error::file("write", &self.path))?;
        Ok(Logged { path: self.path, records, lost: logged.saturating_sub(records), torn })
    }
}

/// Writes a record. Keeps the first error for [`Logging::finish`].
fn put(writer: &Mutex<io::Result<Output>>, record: Record) {
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    if let Ok(to) = &mut *writer
        && let Err(error) = to.record(record)
    {
        *writer = Err(error);
    }
}

fn drain(ring: &RingBuffer, ending: &AtomicBool) {
    loop {
        let last = ending.load(Ordering::Acquire);
        // Fails only if the callback fails, which it never does.
        let _ = ring.consume();
        if last {
            return;
        }
        thread::sleep(POLL);
    }
}
