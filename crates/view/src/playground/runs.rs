//! The traces of recent simulations, each pair with the viewer's API.

use axum::Router;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Events of all kept traces together. Each takes 24 bytes, and its index a few more.
const MOST_EVENTS: u64 = 8_000_000;
/// The pictures of several pages stay.
const MOST_RUNS: usize = 16;

pub struct Run {
    pub id: String,
    pub viewer: Router,
    /// The JSON that the page gets.
    pub answer: String,
    pub events: u64,
}

/// Recently used runs, the least recently used first.
#[derive(Default)]
pub struct Runs(Mutex<VecDeque<Arc<Run>>>);

impl Runs {
    pub fn get(&self, id: &str) -> Option<Arc<Run>> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = runs.iter().position(|run| run.id == id)?;
        let found = runs.remove(at)?;
        runs.push_back(Arc::clone(&found));
        Some(found)
    }

    /// Keeps a run, and forgets old ones. The newest stays, whatever its size.
    pub fn put(&self, run: Arc<Run>) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|other| other.id != run.id);
        runs.push_back(run);
        let events = |runs: &VecDeque<Arc<Run>>| runs.iter().map(|run| run.events).sum::<u64>();
        while runs.len() > 1 && (runs.len() > MOST_RUNS || events(&runs) > MOST_EVENTS) {
            runs.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_old_runs_are_forgotten() {
        let runs = Runs::default();
        let put = |id: &str, events| {
            runs.put(Arc::new(Run { id: id.into(), viewer: Router::new(), answer: String::new(), events }));
        };
        put("a", 1);
        put("b", MOST_EVENTS - 1);
        assert!(runs.get("a").is_some() && runs.get("b").is_some());
        runs.get("a");
        put("c", 1);
        assert!(runs.get("a").is_some() && runs.get("b").is_none(), "b was used before a");
        put("d", MOST_EVENTS + 1);
        assert!(runs.get("a").is_none() && runs.get("d").is_some());
    }
}
