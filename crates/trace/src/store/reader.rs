//! Reading a trace: by group in any order, or event by event.

use super::meta::Meta;
use super::segment::Memory;
use super::{Error, folder, segment, tables};
use crate::Trace;
use crate::event::{Event, Header, Time};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Number of groups decoded ahead.
const AHEAD: usize = 2;

/// Trace with random access. Opening it reads only the header, in time independent of the number of
/// events.
pub struct Store {
    path: PathBuf,
    meta: Meta,
    header: Header,
    groups: Vec<Group>,
    /// Segment of each group, and index within the segment.
    places: Vec<(usize, usize)>,
    /// Buffers for decoding, reused.
    spare: Mutex<Vec<Memory>>,
}

/// Events that are read together, at most about 130,000.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Index of its first event in the trace.
    pub first_event: u64,
    pub events: u32,
    /// Time of its first event.
    pub begin: Time,
    /// Time of its last event.
    pub end: Time,
}

impl Store {
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let meta = Meta::read(path)?;
        let mut header = meta.header();
        tables::read(path, &meta, &mut header)?;
        let (mut groups, mut places) = (Vec::new(), Vec::new());
        let mut first_event = 0;
        for (number, segment) in meta.segments.iter().enumerate() {
            for (index, group) in segment.groups.iter().enumerate() {
                groups.push(Group { first_event, events: group.events, begin: group.begin, end: group.end });
                places.push((number, index));
                first_event += u64::from(group.events);
            }
        }
        Ok(Store { path: path.into(), meta, header, groups, places, spare: Mutex::default() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// False if the writer was interrupted; the store then holds a prefix of the trace.
    pub fn complete(&self) -> bool {
        self.meta.complete
    }

    pub fn events(&self) -> u64 {
        self.meta.events
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Reads the events of group `index`.
    ///
    /// # Panics
    ///
    /// If there is no such group.
    pub fn read_group(&self, index: usize) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        self.read_group_into(index, &mut events)?;
        Ok(events)
    }

    /// Like [`Store::read_group`], into an existing buffer: allocating one costs half as much as
    /// the decoding.
    pub fn read_group_into(&self, index: usize, events: &mut Vec<Event>) -> Result<(), Error> {
        let (number, group) = self.places[index];
        let path = self.path.join(folder::EVENTS).join(segment::file_name(number));
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = spare().pop().unwrap_or_default();
        let read = segment::read_group(&path, &self.meta.segments[number], group, &mut memory, events);
        spare().push(memory);
        read
    }
}

/// Iterator over the events of a trace. A background thread decodes a few groups ahead.
///
/// Ends after the first error.
pub struct Reader {
    store: Arc<Store>,
    groups: Receiver<Result<Vec<Event>, Error>>,
    /// Returns buffers of consumed groups to the decoding thread.
    used: SyncSender<Vec<Event>>,
    group: Vec<Event>,
    /// Index of the next event in the group.
    next: usize,
}

impl Reader {
    /// Reads and checks the header, and starts decoding.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Reader::of(Arc::new(Store::open(path)?))
    }

    /// Reads an open trace.
    pub fn of(store: Arc<Store>) -> Result<Self, Error> {
        let (send, groups) = sync_channel(AHEAD);
        let (used, empty) = sync_channel(AHEAD + 2);
        let source = store.clone();
        let work = move || {
            for index in 0..source.groups.len() {
                let mut events = empty.try_recv().unwrap_or_default();
                let read = source.read_group_into(index, &mut events).map(|()| events);
                let failed = read.is_err();
                // The reader may have been dropped.
                if send.send(read).is_err() || failed {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("trace reader".into()).spawn(work);
        thread.map_err(Error::io("read", &store.path))?;
        Ok(Reader { store, groups, used, group: Vec::new(), next: 0 })
    }

    pub fn header(&self) -> &Header {
        &self.store.header
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Collects all remaining events.
    pub fn into_trace(mut self) -> Result<Trace, Error> {
        let mut events = Vec::new();
        while let Some(group) = self.next_group() {
            events.extend_from_slice(group?);
        }
        Ok(Trace { header: self.store.header.clone(), events })
    }

    /// Remaining events of the current group, or the next group.
    pub fn next_group(&mut self) -> Option<Result<&[Event], Error>> {
        if self.next == self.group.len()
            && let Err(error) = self.advance()?
        {
            return Some(Err(error));
        }
        let rest = &self.group[self.next..];
        self.next = self.group.len();
        Some(Ok(rest))
    }

    /// Advances to the next group.
    fn advance(&mut self) -> Option<Result<(), Error>> {
        match self.groups.recv().ok()? {
            Ok(events) => {
                let _ = self.used.try_send(std::mem::replace(&mut self.group, events)); // fails if the queue is full
                self.next = 0;
                Some(Ok(()))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Event, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.group.get(self.next) {
                self.next += 1;
                return Some(Ok(*event));
            }
            if let Err(error) = self.advance()? {
                return Some(Err(error));
            }
        }
    }
}
