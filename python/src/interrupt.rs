//! Long work without the GIL.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks at Python's signals.
const PERIOD: Duration = Duration::from_millis(50);

/// Does `work` in another thread, because only this one receives Python's signals. A signal whose handler raises, such as
/// Ctrl-C, sets `stop`; the work must then end soon.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (done, end) = channel::<()>();
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            // Dropped at the end of the work, and if it panics.
            let _done = done;
            work()
        });
        let mut signal = Ok(());
        // `Receiver` is not `Sync`, so it moves into the closure and back.
        let mut end = Some(end);
        while let Some(receiver) = end.take() {
            end = py.detach(move || match receiver.recv_timeout(PERIOD) {
                Err(RecvTimeoutError::Timeout) => Some(receiver),
                _ => None,
            });
            if signal.is_ok() {
                signal = py.check_signals();
                stop.fetch_or(signal.is_err(), Ordering::Relaxed);
            }
        }
        let result = py.detach(|| worker.join());
        signal.map(|()| result.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
