//! Connections: how many there are at a time, and how long one may wait with its request.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Limits for all clients together. A client needs no token to connect.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Most connections at a time; more wait. Below the usual limit of open files, 1024.
    pub connections: usize,
    /// Time from the connection, or from the last answer, to the end of the next request's header.
    pub header: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 256, header: Duration::from_secs(5) }
    }
}

/// Serves connections until it is dropped.
pub async fn serve(listener: TcpListener, app: Router, limits: Limits) {
    let places = Arc::new(Semaphore::new(limits.connections));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Probably out of file descriptors: wait until some are closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limits.header);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app.clone()));
        tokio::spawn(async move {
            // A client that has disconnected needs no answer.
            let _ = connection.await;
            drop(place);
        });
    }
}
