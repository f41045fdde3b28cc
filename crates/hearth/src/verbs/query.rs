use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::{output, recording};
use hearth_view::server::Sql;
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Query a trace with SQL
///
/// A trace is a folder of Parquet files, which DuckDB reads. Needs Python's `duckdb` module; HEARTH_PYTHON
/// selects another Python than python3. `--schema` lists the tables and their columns, with units and
/// meanings.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth query build.trace \"SELECT reason, count(*) FROM placements GROUP BY reason\"",
    "hearth query build.trace \"SELECT * FROM latencies ORDER BY latency DESC LIMIT 10\" --csv",
    "hearth query build.trace --schema",
]))]
pub struct Args {
    /// The trace
    trace: PathBuf,
    /// The query, in the SQL of DuckDB
    #[arg(required_unless_present_any = ["sql", "schema"])]
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
    /// List the tables and their columns, with types, units and meanings, and run no query
    #[arg(long, conflicts_with_all = ["query", "sql"])]
    schema: bool,
}

const RUN: &str = include_str!("../../../../python/hearth/run.py");
/// Limit of a query of the viewer.
const VIEWER: Duration = Duration::from_secs(30);

impl Args {
    pub fn run(self) -> Outcome {
        recording::check(&self.trace)?;
        let views = views(&self.trace)?;
        let schema = self.schema.then(|| "SELECT * FROM columns".to_owned());
        let Some(query) = self.query.or(schema) else {
            return output::raw(views.as_bytes());
        };
        let format = match (self.json, self.csv) {
            (true, _) => "json",
            (_, true) => "csv",
            _ => "table",
        };
        ask(&json!({ "views": views, "query": query, "format": format }).to_string())
    }
}

/// Answers the viewer's queries, which read only this trace. `None`: SQL cannot name the trace's path.
pub fn of_viewer(trace: &Path) -> Option<Sql> {
    let folder = std::fs::canonicalize(trace).ok()?;
    let fields =
        [("views", hearth_report::analysis::sql_views(&folder)?), ("folder", folder.to_str()?.into())];
    let request = fields.into_iter().chain([("format", "page".into())]);
    let python = python();
    Some(Sql {
        arguments: vec!["-c".into(), RUN.into()],
        request: request.map(|(name, value)| (name.into(), value.into())).collect(),
        help: how_to_get_duckdb(&python.to_string_lossy()),
        program: python,
        limit: VIEWER,
    })
}

fn python() -> OsString {
    hearth_base::environment::variable("HEARTH_PYTHON").unwrap_or_else(|| "python3".into())
}

fn ask(request: &str) -> Outcome {
    let python = python();
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
        Some(Sql::NO_DATABASE) => Err(no_duckdb(format_args!("{name} has no module duckdb"), &name)),
        // The program has printed the error.
        Some(1) => Err(Failure::quiet()),
        _ => Err(Failure::new(format_args!("{name} ended with {status}"))),
    }
}

fn no_duckdb(why: impl std::fmt::Display, python: &str) -> Failure {
    Failure::new(why).help(how_to_get_duckdb(python))
}

fn how_to_get_duckdb(python: &str) -> String {
    format!(
        "install it: {python} -m pip install duckdb\nor set HEARTH_PYTHON to a Python that has it\n\
         or run the output of `hearth query TRACE --sql` and the query in DuckDB's shell"
    )
}

fn views(trace: &Path) -> Result<String, Failure> {
    let folder = std::fs::canonicalize(trace)
        .map_err(|error| Failure::new(format_args!("cannot open {}: {error}", trace.display())))?;
    hearth_report::analysis::sql_views(&folder).ok_or_else(|| {
        Failure::new(format_args!("the path {} is not valid UTF-8, so SQL cannot name it", folder.display()))
    })
}
