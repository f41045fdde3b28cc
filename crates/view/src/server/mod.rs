//! The web server of the viewer.
//!
//! It listens on 127.0.0.1 and requires the random token in the URL. The `Host` header must name
//! 127.0.0.1 or localhost, which prevents DNS rebinding. It reads the given traces and files that are
//! part of the binary. The path of a request never becomes a path on the disk.
//!
//! Pages that do something, such as the playground, use POST ([`Server::of_pages`]). A POST must also come from a page of
//! this server: its `Origin` is this server's, and its body is JSON, which another site cannot send without being asked.

mod api;
mod browser;
mod cache;
mod error;
mod find;
mod listen;
mod local;
mod look;
mod page;
mod programs;
mod raw;
mod slices;
mod sql;
mod tiles;
mod usage;
mod viewed;
mod views;
mod why;
mod work;

pub use browser::BrowserPage;
pub use error::Refusal;
pub use local::{Answer, Local};
pub use page::file;
pub use sql::Sql;
pub use viewed::Viewed;
pub use views::{Error as ViewError, View};
pub use work::WorkPool;

use api::Shared;
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use listen::Limits;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use tower::ServiceExt;
use tower::util::MapRequest;

/// The content security policy, without who may show the page in a frame.
macro_rules! policy {
    () => {
        "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; form-action 'none'; base-uri 'none';"
    };
}

/// A server that listens. [`Server::run`] answers requests.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: String,
    pages: Router,
    acts: bool,
    limits: Limits,
}

impl Server {
    /// Serves the viewer of these traces on `port` of 127.0.0.1; 0 means any free port. It only reads.
    pub fn bind(traces: Vec<Viewed>, views: Vec<View>, port: u16) -> io::Result<Server> {
        Ok(Server { acts: false, ..Server::of_pages(viewer(traces, views), port)? })
    }

    /// Serves other pages, which may answer POST and show each other in frames. Their paths begin with `/`.
    pub fn of_pages(pages: Router, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Server { listener, port, token: token()?, pages, acts: true, limits: Limits::default() })
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
            let app = router(self.pages, &self.token, Guard { port: self.port, acts: self.acts });
            tokio::select! {
                () = listen::serve(listener, app, self.limits) => Ok(()),
                interrupted = tokio::signal::ctrl_c() => interrupted,
            }
        });
        // No connection waits for the answers that are still being computed.
        runtime.shutdown_background();
        result
    }
}

/// The viewer's page and its API, for a [`Server`].
pub fn viewer(traces: Vec<Viewed>, views: Vec<View>) -> Router {
    let shared = Shared::new(traces, views);
    Router::new()
        .route("/", get(async || page::file("index.html")))
        .route("/{file}", get(async |Path(name): Path<String>| page::file(&name)))
        .nest("/api", api::routes())
        .fallback(nothing)
        .with_state(Arc::new(shared))
}

async fn nothing() -> Refusal {
    Refusal::not_found("there is nothing here", "open the address that hearth printed")
}

fn router(pages: Router, token: &str, guarded: Guard) -> Router {
    // The page's relative addresses need the slash at the end.
    let slash = axum::response::Redirect::permanent(&format!("/{token}/"));
    let pages = Router::new()
        .route(&format!("/{token}"), get(async move || slash))
        // `nest` would not match the slash.
        .route_service(&format!("/{token}/"), strip(token, pages.clone()))
        .route_service(&format!("/{token}/{{*path}}"), strip(token, pages));
    pages.fallback(nothing).layer(middleware::from_fn_with_state(guarded, guard))
}

/// The service without the token in its paths.
fn strip(token: &str, pages: Router) -> MapRequest<Router, impl FnMut(Request) -> Request + Clone + use<>> {
    let prefix = token.len() + 1;
    pages.map_request(move |request: Request| below(request, prefix))
}

/// The request to a service that knows nothing of the first `prefix` bytes of the path. It is a new one: the parameters in
/// these bytes are not the service's.
pub fn below(request: Request, prefix: usize) -> Request {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().and_then(|path| path.as_str().get(prefix..));
    let mut request = Request::new(body);
    *request.uri_mut() = path.and_then(|path| path.parse().ok()).unwrap_or_default();
    *request.method_mut() = parts.method;
    *request.headers_mut() = parts.headers;
    request
}

/// What the server knows of itself when it looks at a request.
#[derive(Clone, Copy)]
struct Guard {
    port: u16,
    /// Whether there are pages that answer POST.
    acts: bool,
}

/// Rejects requests that no page of this server and no user of its address sends, and adds the security headers.
async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let (frame, policy) = match guard.acts {
        true => ("SAMEORIGIN", concat!(policy!(), " frame-ancestors 'self'")),
        false => ("DENY", concat!(policy!(), " frame-ancestors 'none'")),
    };
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, frame),
        (header::CONTENT_SECURITY_POLICY, policy),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

impl Guard {
    fn check(self, request: &Request) -> Result<(), Refusal> {
        let named = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let host = named(header::HOST);
        if !self.is_own(host) {
            let help = "open the address that hearth printed, with 127.0.0.1 or localhost in it";
            return Err(Refusal::new(StatusCode::FORBIDDEN, format!("this server is not '{host}'"), help));
        }
        match *request.method() {
            Method::GET | Method::HEAD => Ok(()),
            Method::POST if self.acts => {
                let (origin, site) =
                    (named(header::ORIGIN), named(HeaderName::from_static("sec-fetch-site")));
                // A browser that sends no `sec-fetch-site` still sends the origin.
                if origin.strip_prefix("http://") != Some(host) || !matches!(site, "" | "same-origin") {
                    let error = format!("a request from '{origin}' is not a request of this page");
                    return Err(Refusal::new(
                        StatusCode::FORBIDDEN,
                        error,
                        "use the page that this server shows",
                    ));
                }
                // Another site's form cannot send JSON, and its script has to ask first.
                if named(header::CONTENT_TYPE) != "application/json" {
                    let error = "the body must be application/json";
                    return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error, "send JSON"));
                }
                Ok(())
            }
            _ => {
                let error = if self.acts {
                    "only GET, HEAD and POST are allowed"
                } else {
                    "only GET and HEAD are allowed"
                };
                Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error, "use GET"))
            }
        }
    }

    /// Whether a `Host` is this server.
    fn is_own(self, host: &str) -> bool {
        ["127.0.0.1", "localhost"].iter().any(|name| {
            host.strip_prefix(name)
                .is_some_and(|rest| rest == format!(":{}", self.port) || (rest.is_empty() && self.port == 80))
        })
    }
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
