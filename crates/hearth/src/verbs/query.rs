use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::{output, progress, recording};
use hearth_base::cache::{is_private, make_private};
use hearth_base::paths;
use hearth_view::server::Sql;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

/// Query a trace with SQL
///
/// A trace is a folder of Parquet files, which DuckDB reads. Needs Python 3.11 or newer; HEARTH_PYTHON
/// selects another one than python3. If it has no module `duckdb`, the first query installs DuckDB for Hearth,
/// from the network. `--schema` lists the tables and their columns, with units and meanings.
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
/// The requirement of DuckDB for pip: its version, and the hashes of its packages.
const DUCKDB: &str = include_str!("../../../../python/hearth/duckdb.txt");
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
        ask(json!({ "views": views, "query": query, "format": format }))
    }
}

/// Answers the viewer's queries, which read only this trace. `None`: SQL cannot name the trace's path.
pub fn of_viewer(trace: &Path) -> Option<Sql> {
    let folder = std::fs::canonicalize(trace).ok()?;
    let fields: [(&str, Value); 4] = [
        ("views", hearth_report::analysis::sql_views(&folder)?.into()),
        ("folder", folder.to_str()?.into()),
        ("format", "page".into()),
        ("packages", packages(&cache())),
    ];
    Some(Sql {
        arguments: vec!["-c".into(), RUN.into()],
        request: fields.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        help: "`hearth query TRACE 'SELECT 1'` installs DuckDB for Hearth; then start the viewer again"
            .into(),
        program: python(),
        limit: VIEWER,
    })
}

fn python() -> OsString {
    hearth_base::environment::variable("HEARTH_PYTHON").unwrap_or_else(|| "python3".into())
}

/// Where Hearth installs DuckDB, if Python has none.
fn cache() -> PathBuf {
    paths::cache("duckdb")
}

/// Names the packages in a request. Null: others can write them, or JSON cannot name their folder.
fn packages(folder: &Path) -> Value {
    match folder.to_str().filter(|_| is_private(folder)) {
        Some(folder) => json!({ "folder": folder, "requirement": DUCKDB }),
        None => Value::Null,
    }
}

fn ask(mut request: Value) -> Outcome {
    let folder = cache();
    request["packages"] = packages(&folder);
    let mut status = start(&request, Stdio::inherit())?.status;
    if status.code() == Some(Sql::NO_DATABASE) {
        install(&folder)?;
        request["packages"] = packages(&folder);
        status = start(&request, Stdio::inherit())?.status;
    }
    match status.code() {
        Some(0) => Ok(ExitCode::SUCCESS),
        // The program has printed the error.
        Some(1) => Err(Failure::quiet()),
        Some(Sql::NO_DATABASE) => {
            Err(failed(format_args!("DuckDB cannot be loaded from {}", folder.display())))
        }
        _ => Err(Failure::new(format_args!("{} ended with {status}", python().to_string_lossy()))),
    }
}

/// Installs DuckDB into the folder, which only this user can write.
fn install(folder: &Path) -> Result<(), Failure> {
    make_private(folder).map_err(|error| {
        failed(format_args!("cannot install DuckDB: {error}"))
            .help(format_args!("make it private: chmod 700 {0}\nor remove it: rm -r {0}", folder.display()))
    })?;
    eprintln!("hearth: installing DuckDB (once) into {}", folder.display());
    let request = json!({ "install": true, "packages": packages(folder) });
    let ended = progress::meanwhile("installing DuckDB", || start(&request, Stdio::piped()))?;
    if ended.status.success() {
        return Ok(());
    }
    Err(failed(format_args!("cannot install DuckDB: {}", String::from_utf8_lossy(&ended.stderr).trim())))
}

/// Runs the program until it ends. Its answer goes to standard output.
fn start(request: &Value, errors: Stdio) -> Result<Output, Failure> {
    let python = python();
    let cannot = |error| failed(format_args!("cannot run {}: {error}", python.to_string_lossy()));
    let mut child = Command::new(&python)
        .args(["-c", RUN])
        .stdin(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(cannot)?;
    if let Some(mut input) = child.stdin.take() {
        // If the write fails, the exit status of the program has the cause.
        let _ = input.write_all(request.to_string().as_bytes());
    }
    child.wait_with_output().map_err(cannot)
}

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new(why).help(
        "`hearth query` needs Python 3.11 or newer, and installs DuckDB once, from the network, with pip\n\
         install pip: sudo apt install python3-venv (Debian, Ubuntu), sudo dnf install python3-pip (Fedora)\n\
         or set HEARTH_PYTHON to a Python that has the module duckdb\n\
         or run the output of `hearth query TRACE --sql` and the query in DuckDB's shell",
    )
}

fn views(trace: &Path) -> Result<String, Failure> {
    let folder = std::fs::canonicalize(trace)
        .map_err(|error| Failure::new(format_args!("cannot open {}: {error}", trace.display())))?;
    hearth_report::analysis::sql_views(&folder).ok_or_else(|| {
        Failure::new(format_args!("the path {} is not valid UTF-8, so SQL cannot name it", folder.display()))
    })
}
