use crate::failure::{Failure, Outcome};
use crate::{output, recording};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Ask a trace anything, in SQL
///
/// A trace is a folder of Parquet files; DuckDB reads them, as Python's `duckdb` module (HEARTH_PYTHON names another
/// Python than python3). The tables are events, switches, wakeups, forks, execs, exits, migrations, placements,
/// frequencies, slices, states, latencies, threads, cores and more: see the book's chapter on queries.
#[derive(clap::Args)]
pub struct Args {
    /// A trace that `hearth record`, `hearth predict` or `hearth sim` wrote
    trace: PathBuf,
    /// The query, in DuckDB's SQL
    #[arg(required_unless_present = "sql")]
    query: Option<String>,
    /// Print JSON (schema hearth.query/1) instead of a table
    #[arg(long)]
    json: bool,
    /// Print CSV instead of a table
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print the SQL that defines the tables, for DuckDB's own shell or a notebook, and nothing else
    #[arg(long, conflicts_with_all = ["query", "json", "csv"])]
    sql: bool,
}

const RUN: &str = include_str!("../../../../python/hearth/run.py");
/// How it exits where there is no module `duckdb`.
const NO_DUCKDB: i32 = 3;

impl Args {
    pub fn run(self) -> Outcome {
        // What is no trace is told before anything else is looked for.
        recording::check(&self.trace)?;
        let views = views(&self.trace)?;
        let Some(query) = self.query else {
            output::text(&views)?;
            return Ok(ExitCode::SUCCESS);
        };
        let format = match (self.json, self.csv) {
            (true, _) => "json",
            (_, true) => "csv",
            _ => "table",
        };
        ask(&json!({ "views": views, "query": query, "format": format }).to_string())
    }
}

fn ask(request: &str) -> Outcome {
    let python = std::env::var_os("HEARTH_PYTHON").unwrap_or_else(|| "python3".into());
    let name = python.to_string_lossy().into_owned();
    let mut child = Command::new(&python)
        .args(["-c", RUN])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| no_duckdb(format_args!("cannot run {name}: {error}"), "python3"))?;
    if let Some(mut input) = child.stdin.take() {
        // If it does not listen, its exit status says why.
        let _ = input.write_all(request.as_bytes());
    }
    let status = child.wait().map_err(|error| Failure::new(format_args!("cannot run {name}: {error}")))?;
    match status.code() {
        Some(0) => Ok(ExitCode::SUCCESS),
        Some(NO_DUCKDB) => Err(no_duckdb(format_args!("{name} has no module duckdb"), &name)),
        // It has said why.
        Some(1) => Err(Failure::quiet()),
        _ => Err(Failure::new(format_args!("{name} ended with {status}"))),
    }
}

fn no_duckdb(why: impl std::fmt::Display, python: &str) -> Failure {
    Failure::new(why).help(format_args!(
        "install it: {python} -m pip install duckdb\nor let HEARTH_PYTHON name a Python that has it\n\
         or give DuckDB's own shell what `hearth query TRACE --sql` prints, and the query"
    ))
}

fn views(trace: &Path) -> Result<String, Failure> {
    let folder = std::fs::canonicalize(trace)
        .map_err(|error| Failure::new(format_args!("cannot open {}: {error}", trace.display())))?;
    hearth_analysis::sql_views(&folder).ok_or_else(|| {
        Failure::new(format_args!("the path {} is not UTF-8: SQL cannot name it", folder.display()))
    })
}
