//! The viewer's page.

use crate::page;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

const NOT_BUILT: &str = "<!doctype html><meta charset=utf-8><title>Hearth</title>\
<h1>The page has not been built</h1>\
<p>This <code>hearth</code> was built without its web pages. Run <code>make web</code>, \
then build <code>hearth</code> again. The server works: see <a href=api/traces>api/traces</a>.";

/// A file of the page by its name. It never reads the disk.
pub fn file(name: &str) -> Response {
    match page::file(name) {
        Some(bytes) => ([(header::CONTENT_TYPE, content_type(name))], bytes).into_response(),
        None if name == "index.html" => Html(NOT_BUILT).into_response(),
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
