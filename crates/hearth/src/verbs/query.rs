use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::{output, recording};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Query a trace with SQL
///
/// A trace is a folder of Parquet files, which DuckDB reads. Needs Python's `duckdb` module; HEARTH_PYTHON
/// selects another Python than python3. The tables include events, switches, wakeups, forks, execs, exits,
/// migrations, placements, frequencies, slices, states, latencies, threads and cores; the book's page on
/// queries defines them all.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth query build.trace \"SELECT reason, count(*) FROM placements GROUP BY reason\"",
    "hearth query build.trace \"SELECT * FROM latencies ORDER BY latency DESC LIMIT 10\" --csv",
]))]
pub struct Args {
    /// The trace
    trace: PathBuf,
    /// The query, in the SQL of DuckDB
    #[arg(required_unless_present = "sql")]
    query: Option<String>,
    /// Print JSON (schema hearth.query/1) instead of a table
    #[arg(long)]
    json: bool,
    /// Print CSV instead of a table
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print the SQL that defines the tables, for DuckDB's shell or a notebook, and run no query
    #[arg(long, conflicts_with_all = ["query", "json", "csv"])]
    sql: bool,
}

const RUN: &str = include_str!("../../../../python/hearth/run.py");
/// Exit status of `RUN` if the module `duckdb` is missing.
const NO_DUCKDB: i32 = 3;

impl Args {
    pub fn run(self) -> Outcome {
        recording::check(&self.trace)?;
        let views = views(&self.trace)?;
        let Some(query) = self.query else {
            return output::text(&views);
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
        // If the write fails, the exit status of the program has the cause.
        let _ = input.write_all(request.as_bytes());
    }
    let status = child.wait().map_err(|error| Failure::new(format_args!("cannot run {name}: {error}")))?;
    match status.code() {
        Some(0) => Ok(ExitCode::SUCCESS),
        Some(NO_DUCKDB) => Err(no_duckdb(format_args!("{name} has no module duckdb"), &name)),
        // The program has printed the error.
        Some(1) => Err(Failure::quiet()),
        _ => Err(Failure::new(format_args!("{name} ended with {status}"))),
    }
}

fn no_duckdb(why: impl std::fmt::Display, python: &str) -> Failure {
    Failure::new(why).help(format_args!(
        "install it: {python} -m pip install duckdb\nor set HEARTH_PYTHON to a Python that has it\n\
         or run the output of `hearth query TRACE --sql` and the query in DuckDB's shell"
    ))
}

fn views(trace: &Path) -> Result<String, Failure> {
    let folder = std::fs::canonicalize(trace)
        .map_err(|error| Failure::new(format_args!("cannot open {}: {error}", trace.display())))?;
    hearth_analysis::sql_views(&folder).ok_or_else(|| {
        Failure::new(format_args!("the path {} is not valid UTF-8, so SQL cannot name it", folder.display()))
    })
}
