//! The page's files, which are part of the binary.

use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const NOT_BUILT: &str = "<!doctype html><meta charset=utf-8><title>Hearth</title>\
<h1>The page has not been built</h1>\
<p>This <code>hearth</code> was built without the viewer's page. Build it with <code>make web</code>, \
then <code>hearth</code> again. The server works: see <a href=api/traces>api/traces</a>.";

/// A file of the page, by its name; nothing else is ever looked for.
pub fn file(name: &str) -> Response {
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, bytes)) => ([(header::CONTENT_TYPE, content_type(name))], *bytes).into_response(),
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
