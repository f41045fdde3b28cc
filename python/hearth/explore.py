"""Traces in DuckDB: the views that `hearth query` has. Needs the extra `explore`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    import duckdb

    StrPath = Union[str, os.PathLike[str]]


def quoted(path: StrPath) -> str:
    """Escape `path` for an SQL string that DuckDB interprets as a glob pattern."""
    path = "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
    return path.replace("'", "''")


def views(trace: StrPath) -> str:
    """The SQL that defines the views over the trace in the folder `trace`."""
    text = (Path(__file__).parent / "views.sql").read_text(encoding="utf-8")
    return text.replace("{trace}", quoted(trace))


def connect(trace: StrPath) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with the views of the trace in the folder `trace`.

    Raises:
        FileNotFoundError: there is no trace.
        ImportError: DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise ImportError("hearth.connect needs DuckDB: pip install 'hearth-sched[explore]'") from error

    if not (Path(trace) / "trace.json").is_file():
        raise FileNotFoundError(f"{trace} is not a trace: it is no folder with a trace.json")
    con = duckdb.connect()
    con.execute(views(trace))
    return con
