//! Work for the pages: the newest request of a page and kind counts, an older one stops.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Simulate,
    Verdict,
    Prove,
}

/// The newest request of each page, by the name that the page gives itself.
type Newest = HashMap<(String, Kind), Arc<AtomicBool>>;

#[derive(Default)]
pub struct Jobs(Mutex<Newest>);

/// A job under way. It is told to stop when this is dropped: the request is answered, or its connection is closed.
pub struct Started<'j> {
    jobs: &'j Jobs,
    key: (String, Kind),
    pub stop: Arc<AtomicBool>,
}

impl Jobs {
    /// Starts a job and stops its predecessor.
    pub fn start(&self, page: &str, kind: Kind) -> Started<'_> {
        let (key, stop) = ((page.to_owned(), kind), Arc::<AtomicBool>::default());
        let older = self.newest(|newest| newest.insert(key.clone(), Arc::clone(&stop)));
        if let Some(older) = older {
            older.store(true, Ordering::Relaxed);
        }
        Started { jobs: self, key, stop }
    }

    /// Number of jobs under way.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.newest(|newest| newest.len())
    }

    fn newest<T>(&self, work: impl FnOnce(&mut Newest) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.jobs.newest(|newest| {
            if newest.get(&self.key).is_some_and(|stop| Arc::ptr_eq(stop, &self.stop)) {
                newest.remove(&self.key);
            }
        });
    }
}

/// Tells a job to stop when its time is over.
pub struct Deadline {
    pub limit: Duration,
    over: Arc<AtomicBool>,
    _ended: Sender<()>,
}

impl Deadline {
    pub fn new(limit: Duration, stop: &Arc<AtomicBool>) -> Deadline {
        let (ended, wait) = channel();
        let (over, stop) = (Arc::<AtomicBool>::default(), Arc::clone(stop));
        let watched = Arc::clone(&over);
        std::thread::spawn(move || {
            if wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                watched.store(true, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            }
        });
        Deadline { limit, over, _ended: ended }
    }

    /// Whether the time is over.
    pub fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_job_of_a_page_and_kind_goes_on() {
        let jobs = Jobs::default();
        let stopped = |job: &Started| job.stop.load(Ordering::Relaxed);
        let first = jobs.start("a", Kind::Simulate);
        let other = [jobs.start("b", Kind::Simulate), jobs.start("a", Kind::Verdict)];
        assert!(!stopped(&first));
        let second = jobs.start("a", Kind::Simulate);
        assert!(stopped(&first) && !stopped(&second) && !other.iter().any(stopped));
        // The end of the first does not make the page forget the second.
        drop(first);
        let stop = Arc::clone(&second.stop);
        let third = jobs.start("a", Kind::Simulate);
        assert!(stop.load(Ordering::Relaxed));
        drop((second, third, other));
        assert_eq!(jobs.count(), 0);
    }

    #[test]
    fn a_deadline_stops_the_job() {
        let stop = Arc::<AtomicBool>::default();
        let deadline = Deadline::new(Duration::from_millis(1), &stop);
        while !stop.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        assert!(deadline.over());
        let calm = Arc::<AtomicBool>::default();
        drop(Deadline::new(Duration::from_secs(600), &calm));
        assert!(!calm.load(Ordering::Relaxed));
    }
}
