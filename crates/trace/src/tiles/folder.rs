//! The index file in the folder of its trace: `tiles/index`.

use super::error::Error;
use super::index::{Index, Place};
use super::plan::Span;
use super::source::Groups;
use crate::event::{Event, Header};
use crate::{Error as TraceError, Store};
use hearth_base::file::AtomicFile;
use std::fs;
use std::sync::Arc;

const FOLDER: &str = "tiles";
const FILE: &str = "index";

impl Groups for Store {
    fn header(&self) -> &Header {
        Store::header(self)
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::with_capacity(self.groups().len());
        for group in self.groups() {
            spans.push(Span::new(group.begin, group.end, group.events.into(), spans.last()));
        }
        spans
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, TraceError> {
        self.read_group(group).map(Arc::new)
    }
}

impl Index {
    /// Opens the index of a stored trace. If there is no matching index (foreign trace, crashed
    /// recorder, other version), builds it, and stores it if possible.
    pub fn of(store: &Store) -> Result<Index, Error> {
        let path = store.path().join(FOLDER).join(FILE);
        match hearth_base::file::open(&path).map(|file| Index::open(Place::File(file), store)) {
            Ok(Ok(index)) => return Ok(index),
            Ok(Err(error @ Error::TooManyCores(_))) => return Err(error),
            _ => {}
        }
        // The index of a trace that is still being written would soon be out of date.
        if store.complete() && Index::write(store).is_ok() {
            let file =
                hearth_base::file::open(&path).map_err(|source| Error::Io { action: "open", source })?;
            return Index::open(Place::File(file), store);
        }
        Index::in_memory(store)
    }

    /// True if a stored trace has an index file, even an outdated one.
    pub fn is_there(store: &Store) -> bool {
        store.path().join(FOLDER).join(FILE).exists()
    }

    /// Builds the index of a stored trace and atomically places it in the trace's folder.
    pub fn write(store: &Store) -> Result<(), Error> {
        let folder = store.path().join(FOLDER);
        let failed = |source| Error::Io { action: "write", source };
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut file = AtomicFile::create(&folder.join(FILE)).map_err(failed)?;
        Index::build(store, &mut file)?;
        file.commit().map_err(failed)
    }
}
