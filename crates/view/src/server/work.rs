//! Computing answers away from the threads that serve connections.

use super::error::Refusal;
use axum::http::StatusCode;
use tokio::sync::Semaphore;

/// Limits how many answers are computed at a time; the others wait.
pub struct WorkPool(Semaphore);

impl Default for WorkPool {
    /// One for each CPU.
    fn default() -> Self {
        WorkPool(Semaphore::new(std::thread::available_parallelism().map_or(1, |n| n.get())))
    }
}

impl WorkPool {
    /// Runs `work` on a blocking thread when its turn comes.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let failed = || {
            let help = "please report this with hearth's version and the view that you opened";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "hearth has a bug: a request panicked", help)
        };
        let _turn = self.0.acquire().await.map_err(|_| failed())?;
        tokio::task::spawn_blocking(work).await.map_err(|_| failed())?
    }
}
