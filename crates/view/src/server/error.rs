//! The answer to a request that fails: what is wrong, and what to do.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hearth_trace::tiles;

#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    error: String,
    help: String,
}

impl Refusal {
    pub fn new(status: StatusCode, error: impl ToString, help: impl ToString) -> Self {
        Refusal { status, error: error.to_string(), help: help.to_string() }
    }

    pub fn bad(error: impl ToString, help: impl ToString) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, error, help)
    }

    pub fn not_found(error: impl ToString, help: impl ToString) -> Self {
        Refusal::new(StatusCode::NOT_FOUND, error, help)
    }
}

impl From<tiles::Error> for Refusal {
    fn from(error: tiles::Error) -> Self {
        Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            error,
            "the trace may have changed while it was open: restart `hearth view`",
        )
    }
}

impl From<hearth_trace::Error> for Refusal {
    fn from(error: hearth_trace::Error) -> Self {
        tiles::Error::from(error).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.error, "help": self.help });
        (self.status, Json(body)).into_response()
    }
}
