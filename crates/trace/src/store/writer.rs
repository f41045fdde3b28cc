//! Writing a trace in one pass.

use super::columns::Columns;
use super::folder::{self, Access, Partial};
use super::meta::Meta;
use super::segment::{self, SegmentWriter};
use super::{Error, GROUP_EVENTS, SEGMENT_EVENTS, Store, tables};
use crate::event::{Event, Header, Sink, ThreadInfo};
use crate::source::Source;
use hearth_base::environment;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Number of groups that may wait for the worker.
const AHEAD: usize = 2;

/// Writer of a trace. A worker thread encodes the events in groups; if it falls behind, the caller
/// blocks.
///
/// A [`Sink`] cannot fail, so the writer keeps the first error, drops all later events, and
/// [`Writer::commit`] returns the error. A writer dropped without `commit` leaves `NAME.partial` if
/// that contains readable events.
pub struct Writer {
    path: PathBuf,
    group: Vec<Event>,
    /// `None` after the worker has ended.
    worker: Option<Worker>,
}

struct Worker {
    jobs: SyncSender<Job>,
    /// Returns buffers of written groups.
    used: Receiver<Vec<Event>>,
    thread: JoinHandle<Result<(), Error>>,
}

enum Job {
    Thread(ThreadInfo),
    Group(Vec<Event>),
    Flush,
    /// With an index or without; keeping the trace that it replaces or not.
    Commit(Box<Header>, bool, bool),
}

impl Writer {
    /// Starts a trace in the folder `path.partial`; [`Writer::commit`] renames it to `path`.
    /// `header` holds what is known so far: source, machine, cores, perhaps threads. If the writer
    /// is interrupted, the partial trace is read with this header.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Self, Error> {
        Writer::create_for(environment::caller(), path, header)
    }

    /// The same; the user and group `owner` get the trace if it is a recording.
    pub fn create_for(
        owner: Option<(u32, u32)>,
        path: impl AsRef<Path>,
        header: &Header,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        let access = match header.source {
            Source::Recorded(_) => Access::Private(owner),
            _ => Access::Open,
        };
        let partial = Partial::create(path, access)?;
        let (jobs, work) = sync_channel(AHEAD);
        let (give_back, used) = sync_channel(AHEAD + 1);
        let mut desk = Desk::new(partial, header)?;
        let work = move || {
            for job in work {
                match job {
                    Job::Thread(thread) => desk.thread(thread),
                    Job::Group(events) => {
                        desk.group(&events)?;
                        let _ = give_back.try_send(events); // fails if the queue is full
                    }
                    Job::Flush => desk.close_segment()?,
                    Job::Commit(header, index, keep_old) => return desk.commit(&header, index, keep_old),
                }
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("trace writer".into()).spawn(work);
        let thread = thread.map_err(Error::io("write", path))?;
        Ok(Writer {
            path: path.into(),
            group: Vec::with_capacity(GROUP_EVENTS),
            worker: Some(Worker { jobs, used, thread }),
        })
    }

    /// Returns an error if a trace cannot be written to `path`. Call it before long work.
    pub fn check(path: impl AsRef<Path>) -> Result<(), Error> {
        folder::check_replaceable(path.as_ref())
    }

    /// Closes the current segment, so that all events so far stay readable whatever happens later.
    pub fn flush(&mut self) {
        self.send_group();
        self.send(Job::Flush);
    }

    /// Writes the remaining events and the final header, flushes the trace to the disk, and renames it to its final
    /// name.
    pub fn commit(self, header: &Header) -> Result<(), Error> {
        self.commit_as(header, true, false)
    }

    /// Like [`commit`](Self::commit); a trace of that name is kept as [`Writer::old_name`].
    pub fn commit_and_keep_old(self, header: &Header) -> Result<(), Error> {
        self.commit_as(header, true, true)
    }

    /// `NAME.old`
    pub fn old_name(path: impl AsRef<Path>) -> PathBuf {
        folder::old_name(path.as_ref())
    }

    /// Like [`commit`](Self::commit), without an index: for a trace that is not viewed.
    pub fn commit_without_index(self, header: &Header) -> Result<(), Error> {
        self.commit_as(header, false, false)
    }

    fn commit_as(mut self, header: &Header, index: bool, keep_old: bool) -> Result<(), Error> {
        self.send_group();
        self.send(Job::Commit(Box::new(header.clone()), index, keep_old));
        self.end()
    }

    fn send_group(&mut self) {
        if self.group.is_empty() {
            return;
        }
        let used = self.worker.as_ref().and_then(|worker| worker.used.try_recv().ok());
        let mut empty = used.unwrap_or_else(|| Vec::with_capacity(GROUP_EVENTS));
        empty.clear();
        let group = std::mem::replace(&mut self.group, empty);
        self.send(Job::Group(group));
    }

    fn send(&mut self, job: Job) {
        if let Some(worker) = &self.worker {
            // Sending fails after a worker error, which `commit` returns.
            let _ = worker.jobs.send(job);
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(worker) = self.worker.take() else { return Ok(()) };
        drop(worker.jobs);
        worker.thread.join().unwrap_or_else(|_| {
            let source = std::io::Error::other("the writer thread panicked");
            Err(Error::File { action: "write", path: self.path.clone(), source })
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.worker.is_some() {
            self.flush();
            let _ = self.end(); // `drop` cannot report errors
        }
    }
}

impl Sink for Writer {
    fn event(&mut self, event: &Event) {
        self.group.push(*event);
        if self.group.len() == GROUP_EVENTS {
            self.send_group();
        }
    }

    fn thread(&mut self, thread: &ThreadInfo) {
        self.send(Job::Thread(thread.clone()));
    }
}

/// State of the worker thread.
struct Desk {
    partial: Partial,
    header: Header,
    meta: Meta,
    segment: Option<SegmentWriter>,
    columns: Columns,
    /// True if threads were added since the tables were last written.
    tables_are_old: bool,
}

impl Desk {
    fn new(partial: Partial, header: &Header) -> Result<Self, Error> {
        let mut desk = Desk {
            partial,
            header: header.clone(),
            meta: Meta::new(header, false),
            segment: None,
            columns: Columns::default(),
            tables_are_old: true,
        };
        desk.write_tables()?;
        desk.meta.write(desk.partial.folder())?;
        Ok(desk)
    }

    fn thread(&mut self, mut thread: ThreadInfo) {
        // The final header has the processes.
        thread.process = thread.process.filter(|process| (*process as usize) < self.header.processes.len());
        self.header.threads.push(thread);
        self.tables_are_old = true;
    }

    fn group(&mut self, events: &[Event]) -> Result<(), Error> {
        let segment = match &mut self.segment {
            Some(segment) => segment,
            none => none.insert(SegmentWriter::create(&self.partial.folder().join(folder::OPEN_SEGMENT))?),
        };
        segment.group(events, &mut self.columns)?;
        if segment.events() + GROUP_EVENTS > SEGMENT_EVENTS {
            self.close_segment()?;
        }
        Ok(())
    }

    fn close_segment(&mut self) -> Result<(), Error> {
        let Some(segment) = self.segment.take() else { return Ok(()) };
        let folder = self.partial.folder();
        let name = segment::file_name(self.meta.segments.len());
        self.meta.events += segment.events() as u64;
        self.meta.segments.push(segment.close(&folder.join(folder::EVENTS).join(name))?);
        let last = self.meta.segments.iter().rev().find_map(|segment| segment.groups.last());
        self.meta.duration = self.meta.duration.max(last.map_or(0, |group| group.end));
        self.write_tables()?;
        self.meta.write(self.partial.folder())?;
        self.partial.keep();
        Ok(())
    }

    /// Replaces the tables one by one, without checksums: readers ignore those of an incomplete
    /// trace.
    fn write_tables(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.tables_are_old) {
            tables::write(self.partial.folder(), &self.header, &mut self.meta)?;
            self.meta.tables.clear();
        }
        Ok(())
    }

    fn commit(mut self, header: &Header, index: bool, keep_old: bool) -> Result<(), Error> {
        self.close_segment()?;
        let mut meta = Meta::new(header, true);
        (meta.events, meta.segments) = (self.meta.events, self.meta.segments);
        tables::write(self.partial.folder(), header, &mut meta)?;
        meta.write(self.partial.folder())?;
        // The index is built after all events: building it while recording would disturb the run,
        // and only at the end is it known which tiles are worth storing. A trace without an index
        // is complete; the index is then built when the trace is viewed.
        if index {
            let _ = Store::open(self.partial.folder()).map(|store| crate::tiles::Index::write(&store));
        }
        self.partial.commit(keep_old)
    }
}
