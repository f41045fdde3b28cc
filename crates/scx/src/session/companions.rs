//! Threads that accompany a policy while it schedules.

use super::Session;
use super::events::Event;
use super::service::Shared;
use crate::cgroup::Moves;
use crate::error::Error;
use crate::frequency::{self, Driver};
use hearth_host::now;
use hearth_trace::FrequencyChange;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

/// The frequency model and the watch on the cgroup. Dropped, they end.
#[derive(Default)]
pub struct Companions {
    _model: Option<ModelThread>,
    _moves: Option<Moves>,
}

impl Session {
    /// After the policy was attached.
    pub(super) fn start_companions(
        &mut self,
        driver: Option<Driver>,
        frequencies: Option<Sender<FrequencyChange>>,
    ) -> Result<(), Error> {
        let model = driver.map(|driver| ModelThread::start(driver, self.shared.clone(), frequencies));
        self.companions = Companions { _model: model, _moves: watch_moves(&self.shared)? };
        self.look();
        Ok(())
    }
}

/// Learns of each thread that moves between cgroups. `None` if the policy schedules no cgroup.
fn watch_moves(shared: &Shared) -> Result<Option<Moves>, Error> {
    let sender = shared.events.clone();
    let take = move |moved| {
        // The session may be about to end.
        let _ = sender.send(Event::Moved(moved));
    };
    let watch = shared.slot.change(|running| match running.loaded.moves()? {
        Some(ring) => Moves::watch(&ring, take).map(Some),
        None => Ok(None),
    });
    watch.unwrap_or(Ok(None))
}

/// A thread that drives a frequency model.
struct ModelThread {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ModelThread {
    fn start(
        mut driver: Driver,
        shared: Arc<Shared>,
        frequencies: Option<Sender<FrequencyChange>>,
    ) -> ModelThread {
        let ending = Arc::new(AtomicBool::new(false));
        let stop = ending.clone();
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                shared.slot.read(|running| {
                    let time = now();
                    driver.step(&running.loaded.arena, time, |cpu, khz| {
                        if let Some(frequencies) = &frequencies {
                            // The recording may have ended.
                            let _ = frequencies.send(FrequencyChange { time, cpu, khz });
                        }
                    });
                });
                thread::sleep(frequency::STEP);
            }
        });
        ModelThread { ending, thread: Some(thread) }
    }
}

impl Drop for ModelThread {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
