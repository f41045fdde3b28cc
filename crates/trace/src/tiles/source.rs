//! Events in groups, from any place: what an index is built from, and what finer tiles are
//! computed from.

use super::plan::Span;
use super::tile::LAST_TIME;
use crate::event::{Event, Header, Time};
use crate::{Error, Trace};
use std::sync::Arc;

/// A trace whose events are read group by group.
pub trait Groups: Send + Sync {
    fn header(&self) -> &Header;

    /// How long each group is, and how many events it has. Without reading them, if possible:
    /// a wrong time makes tiles slower, not wrong.
    fn spans(&self) -> Vec<Span>;

    /// The events of a group (below the number of spans).
    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error>;

    /// The last instant of the trace.
    fn end(&self) -> Time {
        let last = self.spans().last().map_or(0, |span| span.end);
        last.max(self.header().duration.min(LAST_TIME))
    }
}

const GROUP_EVENTS: usize = 1 << 17;

/// In memory, a group is a part of the events.
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
