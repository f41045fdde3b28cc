//! The viewer's page.

use crate::page;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A file of the page by its name. It never reads the disk.
pub fn file(name: &str) -> Response {
    match page::file(name) {
        Some(text) => ([(header::CONTENT_TYPE, content_type(name))], text).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}
