//! A cache of groups of events: neighbouring requests read the same groups.

use hearth_trace::tiles::{Groups, Span};
use hearth_trace::{Error, Event, Header};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Each is at most 3 MiB.
const MOST_GROUPS: usize = 16;

type Groupful = (usize, Arc<Vec<Event>>);

pub struct Cached<G> {
    groups: G,
    spans: Vec<Span>,
    /// Least recently used first.
    recent: Mutex<VecDeque<Groupful>>,
}

impl<G: Groups> Cached<G> {
    pub fn new(groups: G) -> Self {
        Cached { spans: groups.spans(), groups, recent: Mutex::default() }
    }
}

impl<G: Groups> Groups for Cached<G> {
    fn header(&self) -> &Header {
        self.groups.header()
    }

    fn spans(&self) -> Vec<Span> {
        self.spans.clone()
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = recent.iter().position(|(number, _)| *number == group)
                && let Some(found) = recent.remove(at)
            {
                let events = found.1.clone();
                recent.push_back(found);
                return Ok(events);
            }
        }
        let events = self.groups.read(group)?;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MOST_GROUPS {
            recent.pop_front();
        }
        recent.push_back((group, events.clone()));
        Ok(events)
    }
}
