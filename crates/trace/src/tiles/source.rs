//! Source of events in groups, for building an index and computing tiles.

use super::plan::Span;
use super::tile::LAST_TIME;
use crate::event::{Event, Header, Time};
use crate::{Error, Trace};
use std::sync::Arc;

/// Trace whose events are read in groups.
pub trait Groups: Send + Sync {
    fn header(&self) -> &Header;

    /// Period and number of events of each group, preferably without reading them. Inaccurate times
    /// make tiles slower, not wrong.
    fn spans(&self) -> Vec<Span>;

    /// Reads the events of a group. `group` must be less than the number of spans.
    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error>;

    /// Last instant of the trace.
    fn end(&self) -> Time {
        let last = self.spans().last().map_or(0, |span| span.end);
        last.max(self.header().duration.min(LAST_TIME))
    }
}

const GROUP_EVENTS: usize = 1 << 17;

/// Groups of a trace in memory are slices of its events.
impl Groups for Trace {
    fn header(&self) -> &Header {
        &self.header
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for group in self.events.chunks(GROUP_EVENTS) {
            let latest = group.iter().map(|event| event.time).max().unwrap_or(0);
            spans.push(Span::new(group[0].time, latest, group.len() as u64, spans.last()));
        }
        spans
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        let events = self.events.chunks(GROUP_EVENTS).nth(group).unwrap_or_default();
        Ok(Arc::new(events.to_vec()))
    }
}

impl<G: Groups + ?Sized> Groups for Arc<G> {
    fn header(&self) -> &Header {
        (**self).header()
    }

    fn spans(&self) -> Vec<Span> {
        (**self).spans()
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        (**self).read(group)
    }
}

impl<G: Groups + ?Sized> Groups for Box<G> {
    fn header(&self) -> &Header {
        (**self).header()
    }

    fn spans(&self) -> Vec<Span> {
        (**self).spans()
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        (**self).read(group)
    }
}
