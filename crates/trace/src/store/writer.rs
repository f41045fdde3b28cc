//! Writing a trace in one pass.

use super::columns::Columns;
use super::folder::{self, Partial};
use super::meta::Meta;
use super::segment::{self, SegmentWriter};
use super::{Error, GROUP_EVENTS, SEGMENT_EVENTS, Store, tables};
use crate::event::{Event, Header, Sink, ThreadInfo};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Groups that may wait for the worker.
const AHEAD: usize = 2;

/// Writes events as they come. A worker thread encodes them, a group at a time; if it is slower
/// than the events, they wait.
///
/// A [`Sink`] cannot fail, so the first error is kept, everything after it is dropped, and
/// [`Writer::commit`] returns it. A writer that is dropped without it leaves `NAME.partial`, if
/// there is something in it to be read.
pub struct Writer {
    path: PathBuf,
    group: Vec<Event>,
    /// `None`: it has ended.
    worker: Option<Worker>,
}

struct Worker {
    jobs: SyncSender<Job>,
    /// Memory of groups that have been written.
    used: Receiver<Vec<Event>>,
    thread: JoinHandle<Result<(), Error>>,
}

enum Job {
    Thread(ThreadInfo),
    Group(Vec<Event>),
    Flush,
    /// With an index or without.
    Commit(Box<Header>, bool),
}

impl Writer {
    /// Starts a trace in the folder `path.partial`, which gets the name `path` when it is whole
    /// ([`Writer::commit`]). `header` is what is known so far: the source, the machine, the cores,
    /// perhaps threads; it is what the prefix of the trace is read with, should it end early.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Self, Error> {
        let path = path.as_ref();
        let partial = Partial::create(path)?;
        let (jobs, work) = sync_channel(AHEAD);
        let (give_back, used) = sync_channel(AHEAD + 1);
        let mut desk = Desk::new(partial, header)?;
        let work = move || {
            for job in work {
                match job {
                    Job::Thread(thread) => desk.thread(thread),
                    Job::Group(events) => {
                        desk.group(&events)?;
                        let _ = give_back.try_send(events); // it may have enough
                    }
                    Job::Flush => desk.close_segment()?,
                    Job::Commit(header, index) => return desk.commit(&header, index),
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

    /// An error if a trace of this name cannot be written: found before long work is done for it.
    pub fn check(path: impl AsRef<Path>) -> Result<(), Error> {
        folder::check_replaceable(path.as_ref())
    }

    /// Closes the segment at hand: whatever happens later, all events so far can be read.
    pub fn flush(&mut self) {
        self.send_group();
        self.send(Job::Flush);
    }

    /// Writes what is left and the final header, and gives the trace its name.
    pub fn commit(self, header: &Header) -> Result<(), Error> {
        self.commit_as(header, true)
    }

    /// The same for a trace that nobody will look at in the viewer: it gets no index.
    pub fn commit_without_index(self, header: &Header) -> Result<(), Error> {
        self.commit_as(header, false)
    }

    fn commit_as(mut self, header: &Header, index: bool) -> Result<(), Error> {
        self.send_group();
        self.send(Job::Commit(Box::new(header.clone()), index));
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
            // A worker that has failed takes nothing more; `commit` tells its error.
            let _ = worker.jobs.send(job);
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(worker) = self.worker.take() else { return Ok(()) };
        drop(worker.jobs);
        worker.thread.join().unwrap_or_else(|_| {
            let source = std::io::Error::other("its thread has ended unexpectedly");
            Err(Error::File { action: "write", path: self.path.clone(), source })
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.worker.is_some() {
            self.flush();
            let _ = self.end(); // nobody is left to be told
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

/// What the worker works at.
struct Desk {
    partial: Partial,
    header: Header,
    meta: Meta,
    segment: Option<SegmentWriter>,
    columns: Columns,
    /// Threads were added since the tables were written.
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

    fn thread(&mut self, thread: ThreadInfo) {
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

    /// While the trace is not complete, nobody relies on the sums: the tables are replaced one by one.
    fn write_tables(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.tables_are_old) {
            tables::write(self.partial.folder(), &self.header, &mut self.meta)?;
            self.meta.tables.clear();
        }
        Ok(())
    }

    fn commit(mut self, header: &Header, index: bool) -> Result<(), Error> {
        self.close_segment()?;
        let mut meta = Meta::new(header, true);
        (meta.events, meta.segments) = (self.meta.events, self.meta.segments);
        tables::write(self.partial.folder(), header, &mut meta)?;
        meta.write(self.partial.folder())?;
        // The index is not made while events pass: a recording is not to be disturbed by it, and
        // what is worth storing is known at the end. A trace without one is whole all the same: it
        // is built when the trace is looked at.
        if index {
            let _ = Store::open(self.partial.folder()).map(|store| crate::tiles::Index::write(&store));
        }
        self.partial.commit()
    }
}
