//! Reading a trace: group by group in any order, or event by event.

use super::columns::Columns;
use super::meta::Meta;
use super::{Error, folder, segment, tables};
use crate::Trace;
use crate::event::{Event, Header, Time};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Groups that are decoded before they are asked for.
const AHEAD: usize = 2;

/// A trace of which any part can be read. Opening it reads the header, whatever its length.
pub struct Store {
    path: PathBuf,
    meta: Meta,
    header: Header,
    groups: Vec<Group>,
    /// Where each group is: its segment, and its number there.
    places: Vec<(usize, usize)>,
}

/// Events that are read together: some hundred thousand, at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Number of the first one in the trace.
    pub first_event: u64,
    pub events: u32,
    /// Time of the first one.
    pub begin: Time,
    /// Time of the last one.
    pub end: Time,
}

impl Store {
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let meta = Meta::read(path)?;
        let mut header = meta.header();
        (header.cores, header.threads) = tables::read(path, &meta)?;
        let (mut groups, mut places) = (Vec::new(), Vec::new());
        let mut first_event = 0;
        for (number, segment) in meta.segments.iter().enumerate() {
            for (index, group) in segment.groups.iter().enumerate() {
                groups.push(Group { first_event, events: group.events, begin: group.begin, end: group.end });
                places.push((number, index));
                first_event += u64::from(group.events);
            }
        }
        Ok(Store { path: path.into(), meta, header, groups, places })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn into_header(self) -> Header {
        self.header
    }

    /// False if whoever wrote it was interrupted: then this is the beginning of a trace.
    pub fn complete(&self) -> bool {
        self.meta.complete
    }

    pub fn events(&self) -> u64 {
        self.meta.events
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The events of group `index`, of which there must be one.
    pub fn read_group(&self, index: usize) -> Result<Vec<Event>, Error> {
        self.read_group_with(index, &mut Columns::default())
    }

    fn read_group_with(&self, index: usize, columns: &mut Columns) -> Result<Vec<Event>, Error> {
        let (number, group) = self.places[index];
        let path = self.path.join(folder::EVENTS).join(segment::file_name(number));
        segment::read_group(&path, &self.meta.segments[number], group, columns)
    }
}

/// An iterator over the events of a trace. A thread of its own decodes them, a few groups ahead.
///
/// It ends after the first error.
pub struct Reader {
    store: Arc<Store>,
    groups: Receiver<Result<Vec<Event>, Error>>,
    group: std::vec::IntoIter<Event>,
}

impl Reader {
    /// Reads and checks the header, and begins to decode.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Reader::of(Arc::new(Store::open(path)?))
    }

    /// Reads a trace that is open already.
    pub fn of(store: Arc<Store>) -> Result<Self, Error> {
        let (send, groups) = sync_channel(AHEAD);
        let source = store.clone();
        let work = move || {
            let mut columns = Columns::default();
            for index in 0..source.groups.len() {
                let group = source.read_group_with(index, &mut columns);
                let failed = group.is_err();
                // Nobody may want any more.
                if send.send(group).is_err() || failed {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("trace reader".into()).spawn(work);
        thread.map_err(Error::io("read", &store.path))?;
        Ok(Reader { store, groups, group: Vec::new().into_iter() })
    }

    pub fn header(&self) -> &Header {
        &self.store.header
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// All that is still to come.
    pub fn into_trace(mut self) -> Result<Trace, Error> {
        let mut events = Vec::new();
        while let Some(group) = self.next_group() {
            events.append(&mut group?);
        }
        Ok(Trace { header: self.store.header.clone(), events })
    }

    /// The rest of the group at hand, or the next one.
    pub fn next_group(&mut self) -> Option<Result<Vec<Event>, Error>> {
        if !self.group.as_slice().is_empty() {
            return Some(Ok(std::mem::take(&mut self.group).collect()));
        }
        self.groups.recv().ok()
    }
}

impl Iterator for Reader {
    type Item = Result<Event, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.group.next() {
                return Some(Ok(event));
            }
            match self.groups.recv().ok()? {
                Ok(events) => self.group = events.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
