//! The viewer's API without a connection.

use super::api::{self, Shared};
use super::viewed::Viewed;
use super::views::View;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use std::io;
use std::sync::Arc;
use tower::ServiceExt;

/// Answers the requests that the page sends to a [`Server`](super::Server).
pub struct Local {
    router: Router,
    runtime: tokio::runtime::Runtime,
}

pub struct Answer {
    pub status: u16,
    /// JSON; otherwise bytes.
    pub is_json: bool,
    pub body: Vec<u8>,
}

impl Local {
    pub fn new(traces: Vec<Viewed>, views: Vec<View>) -> io::Result<Local> {
        let shared = Arc::new(Shared::new(traces, views));
        let router = Router::new().nest("/api", api::routes()).with_state(shared);
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        Ok(Local { router, runtime })
    }

    /// Answers a request to a path such as `api/traces`.
    pub fn get(&self, path: &str) -> Result<Answer, String> {
        let request = Request::get(format!("/{path}")).body(Body::empty()).map_err(|e| e.to_string())?;
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
            let status = response.status();
            let kind = response.headers().get(header::CONTENT_TYPE);
            let is_json = status != StatusCode::OK || kind.is_some_and(|kind| kind == "application/json");
            let body = to_bytes(response.into_body(), usize::MAX).await.map_err(|e| e.to_string())?;
            Ok(Answer { status: status.as_u16(), is_json, body: body.into() })
        })
    }
}
