//! The web server of the viewer.
//!
//! It listens on 127.0.0.1 and requires the random token in the URL. The `Host` header must name
//! 127.0.0.1 or localhost, which prevents DNS rebinding. It reads the given traces and files that are
//! part of the binary. The path of a request never becomes a path on the disk.

mod api;
mod browser;
mod cache;
mod error;
mod find;
mod local;
mod look;
mod page;
mod slices;
mod tiles;
mod usage;
mod viewed;
mod views;
mod why;
mod work;

pub use browser::BrowserPage;
pub use local::{Answer, Local};
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
use work::Turns;

/// A server that listens. [`Server::run`] answers requests.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: String,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens on `port` of 127.0.0.1; 0 means any free port.
    pub fn bind(traces: Vec<Viewed>, views: Vec<View>, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let traces = traces.into_iter().map(Arc::new).collect();
        let shared = Shared { traces, views, tiles: Arc::default(), turns: Turns::default() };
        let port = listener.local_addr()?.port();
        Ok(Server { listener, port, token: token()?, shared: Arc::new(shared) })
    }

    /// Replaces the random token. Whoever knows the token can read the traces.
    pub fn with_token(self, token: &str) -> Server {
        Server { token: token.into(), ..self }
    }

    /// The URL of the page. It contains the token: keep it secret.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers requests until it is interrupted (Ctrl-C).
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
        // No connection waits for the answers that are still being computed.
        runtime.shutdown_background();
        result
    }
}

fn router(shared: Arc<Shared>, token: &str, port: u16) -> Router {
    let guard = middleware::from_fn_with_state(port, guard);
    let fallback =
        async || Refusal::not_found("there is nothing here", "open the address that hearth printed");
    // The page's relative addresses need the slash at the end.
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

/// Rejects foreign `Host` names and methods other than GET, and adds the security headers.
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
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed", "use GET")
            .into_response()
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
mod reference;
#[cfg(test)]
mod tests;
