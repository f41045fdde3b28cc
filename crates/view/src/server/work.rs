//! Computing answers away from the threads that serve connections.

use super::error::Refusal;
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Limits how many answers are computed at a time; the others wait.
pub struct WorkPool(Arc<Semaphore>);

impl Default for WorkPool {
    /// One for each CPU.
    fn default() -> Self {
        WorkPool::of(std::thread::available_parallelism().map_or(1, |n| n.get()))
    }
}

impl WorkPool {
    fn of(turns: usize) -> Self {
        WorkPool(Arc::new(Semaphore::new(turns)))
    }

    /// Runs `work` on a blocking thread when its turn comes. The turn ends with the work, also when nobody waits for the
    /// answer any more.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let failed = || {
            let help = "please report this with hearth's version and the view that you opened";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "hearth has a bug: a request panicked", help)
        };
        let turn = Arc::clone(&self.0).acquire_owned().await.map_err(|_| failed())?;
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| failed())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::task::Poll;

    #[test]
    fn work_of_a_client_that_gave_up_keeps_its_turn() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pool = WorkPool::of(1);
            let (end, ended) = channel::<()>();
            let (begin, begun) = channel();
            let request = pool.run(move || {
                begin.send(()).unwrap();
                ended.recv().map_err(|_| Refusal::bad("", ""))
            });
            // The first poll starts the work. The client gives up when `request` is dropped.
            let mut request = Box::pin(request);
            let poll =
                std::future::poll_fn(|context| Poll::Ready(request.as_mut().poll(context).is_pending()));
            assert!(poll.await);
            drop(request);
            begun.recv().unwrap();
            assert_eq!(pool.0.available_permits(), 0);
            end.send(()).unwrap();
            pool.run(|| Ok(())).await.map_err(|_| "no turn").unwrap();
        });
    }
}
