"""Reads a trace with pandas, polars and DuckDB, and compares sums with those on standard input."""

import json
import sys
from pathlib import Path

import duckdb
import pandas
import polars

trace = Path(sys.argv[1])
# A writer that is killed between two renames leaves one segment more than trace.json names.
named = len(json.loads((trace / "trace.json").read_text())["segments"])
segments = sorted((trace / "events").iterdir())[:named]
expected = json.load(sys.stdin)
columns = ["time", "core", "kind", "thread", "other", "target", "detail", "value"]


def compare(reader, sums):
    """The number of sums that differ from Hearth's."""
    wrong = 0
    for name in sorted(expected.keys() | sums.keys()):
        ours, theirs = expected.get(name, 0), int(sums.get(name, 0))
        if ours != theirs:
            print(f"{reader}: {name} is {theirs}, Hearth reads {ours}", file=sys.stderr)
            wrong += 1
    return wrong


def with_frames(read):
    events, kinds = read(segments), read(trace / "kinds.parquet")
    cores, threads = read(trace / "cores.parquet"), read(trace / "threads.parquet")
    sums = {name: sum(events[name].to_list()) for name in columns}
    sums["events"] = len(events)
    names = dict(zip(kinds["kind"].to_list(), kinds["name"].to_list()))
    for kind in events["kind"].to_list():
        sums[names[kind]] = sums.get(names[kind], 0) + 1
    sums["cores.socket"] = sum(cores["socket"].to_list())
    sums["threads.traced"] = sum(threads["traced"].to_list())
    sums["threads.name"] = sum(len(name) for name in threads["name"].to_list())
    processes = read(trace / "processes.parquet")
    optional = {
        "threads.tid": threads["tid"],
        "threads.process": threads["process"],
        "processes.pid": processes["pid"],
        "processes.parent": processes["parent"],
    }
    for name, column in optional.items():
        # A missing number is None of polars and NaN of pandas.
        sums[name] = sum(value for value in column.to_list() if value is not None and value == value)
    return sums


def with_sql():
    events = f"read_parquet({[str(path) for path in segments]})"
    select = ", ".join(f"sum({name})::hugeint" for name in columns)
    sums = dict(zip(columns, duckdb.sql(f"select {select} from {events}").fetchall()[0]))
    by_kind = f"select k.name, count(*) from {events} e join '{trace}/kinds.parquet' k using (kind) group by 1"
    counts = dict(duckdb.sql(by_kind).fetchall())
    ((sums["cores.socket"],),) = duckdb.sql(f"select sum(socket) from '{trace}/cores.parquet'").fetchall()
    of_threads = f"select sum(traced::int), sum(length(name)) from '{trace}/threads.parquet'"
    sums["threads.traced"], sums["threads.name"] = duckdb.sql(of_threads).fetchall()[0]
    for column in ["threads.tid", "threads.process", "processes.pid", "processes.parent"]:
        table, name = column.split(".")
        ((sums[column],),) = duckdb.sql(f"select sum({name}) from '{trace}/{table}.parquet'").fetchall()
    return {**sums, **counts, "events": sum(counts.values())}


wrong = compare("pandas", with_frames(pandas.read_parquet))
wrong += compare("polars", with_frames(polars.read_parquet))
wrong += compare("DuckDB", with_sql())
versions = f"pandas {pandas.__version__}, polars {polars.__version__}, DuckDB {duckdb.__version__}"
print(f"{expected['events']} events read by {versions}: {wrong} sums differ")
sys.exit(wrong > 0)
