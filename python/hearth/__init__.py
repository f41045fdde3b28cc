"""Hearth's traces in DuckDB: the views that `hearth query` has, for notebooks.

import hearth
con = hearth.connect("build.trace")
con.sql("SELECT name, sum(duration) / 1e9 AS cpu_s FROM slices JOIN threads USING (thread) GROUP BY ALL").df()
"""

from pathlib import Path


def quoted(path):
    """Escape `path` for an SQL string that DuckDB interprets as a glob pattern."""
    path = "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
    return path.replace("'", "''")


def views(trace):
    """The SQL that defines the views over the trace in the folder `trace`."""
    text = (Path(__file__).parent / "views.sql").read_text(encoding="utf-8")
    return text.replace("{trace}", quoted(trace))


def connect(trace):
    """A DuckDB connection with the views of the trace in the folder `trace`."""
    import duckdb

    if not (Path(trace) / "trace.json").is_file():
        raise FileNotFoundError(f"{trace} is not a trace: it is no folder with a trace.json")
    con = duckdb.connect()
    con.execute(views(trace))
    return con
