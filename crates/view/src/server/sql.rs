//! SQL about a trace: another program answers it, since hearth contains no database.

use super::error::Refusal;
use axum::http::StatusCode;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

/// A program that answers SQL about one trace. It reads a request in JSON from its standard input.
pub struct Sql {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// All of the request but the query and the number of rows.
    pub request: Map<String, Value>,
    /// What to do if the program is missing, or exits with [`Sql::NO_DATABASE`].
    pub help: String,
    pub limit: Duration,
}

/// Lets one query run at a time: each may use all CPUs.
pub struct QueryLock(Semaphore);

impl Default for QueryLock {
    fn default() -> Self {
        QueryLock(Semaphore::new(1))
    }
}

/// Limit of an answer's length.
const MOST_BYTES: u64 = 8 << 20;

struct ProcessOutput {
    status: ExitStatus,
    output: Vec<u8>,
    error: Vec<u8>,
}

impl Sql {
    /// Exit status of the program if the database is not installed.
    pub const NO_DATABASE: i32 = 3;
    /// Limit of the rows of an answer.
    pub const MOST_ROWS: usize = 1000;

    /// The answer as JSON. The program ends if the caller stops waiting.
    pub async fn answer(&self, query: &str, lock: &QueryLock) -> Result<Vec<u8>, Refusal> {
        let mut request = self.request.clone();
        request.insert("query".into(), query.into());
        request.insert("limit".into(), Sql::MOST_ROWS.into());
        let _lock = lock.0.acquire().await;
        let program = self.program.to_string_lossy();
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.missing(format!("cannot run {program}: {error}")))?;
        let request = Value::Object(request).to_string();
        let answer = tokio::time::timeout(self.limit, talk(child, request.as_bytes()))
            .await
            .map_err(|_| self.too_long())?
            .map_err(|error| failed(format!("cannot run {program}: {error}")))?;
        if answer.output.len() as u64 > MOST_BYTES {
            return Err(Refusal::bad(
                format!("the answer is longer than {} MiB", MOST_BYTES >> 20),
                "select fewer columns or rows, or use `hearth query`",
            ));
        }
        match answer.status.code() {
            Some(0) => Ok(answer.output),
            Some(1) => Err(wrong(&answer.error)),
            Some(Sql::NO_DATABASE) => Err(self.missing(format!("{program} has no module duckdb"))),
            _ => Err(failed(format!("{program} ended with {}", answer.status))),
        }
    }

    fn missing(&self, error: String) -> Refusal {
        Refusal::new(StatusCode::NOT_IMPLEMENTED, error, &self.help)
    }

    fn too_long(&self) -> Refusal {
        Refusal::new(
            StatusCode::GATEWAY_TIMEOUT,
            format!("the query took longer than {} s and was stopped", self.limit.as_secs_f64()),
            "limit its time or its threads, or use `hearth query`, which has no limit",
        )
    }
}

fn failed(error: String) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error, "try the query with `hearth query`")
}

/// What the database says about the query.
fn wrong(error: &[u8]) -> Refusal {
    let text = String::from_utf8_lossy(error);
    let text = text.trim();
    let help = "`SELECT * FROM columns` lists the tables and their columns";
    Refusal::bad(text.strip_prefix("error: ").unwrap_or(text), help)
}

async fn talk(mut child: Child, request: &[u8]) -> io::Result<ProcessOutput> {
    let (input, output, error) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut input) = input {
            // If the write fails, the exit status has the cause.
            let _ = input.write_all(request).await;
        }
    };
    let ((), output, error) = tokio::join!(write, read(output), read(error));
    Ok(ProcessOutput { output: output?, error: error?, status: child.wait().await? })
}

/// Reads one byte more than is allowed at most.
async fn read(from: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MOST_BYTES + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
