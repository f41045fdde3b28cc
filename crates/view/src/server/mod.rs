//! The web server of the viewer.
//!
//! It serves this machine alone, and of it only who knows the address: it listens on 127.0.0.1,
//! every path begins with a random token, and the `Host` must be this machine's name, so that no
//! page from elsewhere can ask through a name that it controls (DNS rebinding). It reads traces
//! and files that are part of the binary; no path of a request ever becomes a path of the disk.

mod api;
mod browser;
mod cache;
mod error;
mod look;
mod page;
mod slices;
mod tiles;
mod viewed;
mod views;

pub use browser::BrowserPage;
pub use viewed::Viewed;
pub use views::{Error as ViewError, View};

use api::Shared;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use error::Refusal;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A server that listens, and does not answer yet.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: String,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens on `port` of 127.0.0.1; 0: on any that is free.
    pub fn bind(traces: Vec<Viewed>, views: Vec<View>, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
        let shared = Shared { traces, views, tiles: tiles::Tiles::default(), turns: Semaphore::new(workers) };
        let port = listener.local_addr()?.port();
        Ok(Server { listener, port, token: token()?, shared: Arc::new(shared) })
    }

    /// With this token instead of a random one. Whoever knows it can read the traces.
    pub fn with_token(self, token: &str) -> Server {
        Server { token: token.into(), ..self }
    }

    /// What to open in the browser. It holds the token: do not show it to others.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers until it is interrupted (Ctrl-C).
    pub fn run(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let result = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let app = router(self.shared, &self.token, self.port);
            tokio::select! {
                served = axum::serve(listener, app) => served,
                interrupted = tokio::signal::ctrl_c() => interrupted,
            }
        });
        // Nobody waits for the answers that are being worked out.
        runtime.shutdown_background();
        result
    }
}

fn router(shared: Arc<Shared>, token: &str, port: u16) -> Router {
    let guard = middleware::from_fn_with_state(port, guard);
    let fallback =
        async || Refusal::not_found("there is nothing here", "open the address that hearth printed");
    // Without the slash at the end, the page's own addresses would not lead here.
    let slash = axum::response::Redirect::permanent(&format!("/{token}/"));
    let index = async || page::file("index.html");
    let file = async |Path(name): Path<String>| page::file(&name);
    Router::new()
        .route(&format!("/{token}"), get(async move || slash))
        .route(&format!("/{token}/"), get(index))
        .route(&format!("/{token}/{{file}}"), get(file))
        .nest(&format!("/{token}/api"), api::routes())
        .fallback(fallback)
        .with_state(shared)
        .layer(guard)
}

/// Lets in who asks this machine by its own name, and says what the browser must not do.
async fn guard(State(port): State<u16>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    let ours = ["127.0.0.1", "localhost"].iter().any(|name| {
        host.strip_prefix(name)
            .is_some_and(|rest| rest == format!(":{port}") || (rest.is_empty() && port == 80))
    });
    let mut response = if !ours {
        let help = "open the address that hearth printed, with 127.0.0.1 or localhost in it";
        Refusal::new(StatusCode::FORBIDDEN, format!("this server is not '{host}'"), help).into_response()
    } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here", "use GET").into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// 128 random bits.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
