//! What is built of the events while they are written, on the writer's worker thread.

use super::Error;
use crate::event::{Event, Header, ThreadInfo};
use std::path::Path;

/// The index of a trace: sees all of it once, in order.
pub struct Index;

impl Index {
    /// `header` is the provisional one; the trace is being written in `folder`.
    pub fn new(_folder: &Path, _header: &Header) -> Self {
        Index
    }

    /// Said before the group that has the thread's first event.
    pub fn thread(&mut self, _thread: &ThreadInfo) {}

    /// The next group of events.
    pub fn group(&mut self, _events: &[Event]) -> Result<(), Error> {
        Ok(())
    }

    /// There are no more. `header` is the final one.
    pub fn finish(self, _header: &Header) -> Result<(), Error> {
        Ok(())
    }
}
