"""Tests that every query of docs/src/query.md runs, and that those of metrics.sql agree with `hearth report`.

HEARTH names the program to test. Needs the module duckdb.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEARTH = os.environ.get("HEARTH", ROOT / "target/debug/hearth")
sys.path.insert(0, str(ROOT / "python"))

import hearth  # noqa: E402

SIMULATIONS = {
    "cfs": ["-w", "configure:tests=20", "-m", "xeon-5218", "-p", "cfs"],
    "nest": ["-w", "configure:tests=20", "-m", "xeon-6130-2s", "-p", "nest"],
    "overload": ["-w", "hackbench:groups=1", "-m", "ryzen-3400g", "-p", "slocal"],
}


def run(*arguments, python=sys.executable, cwd=None):
    environment = {**os.environ, "HEARTH_PYTHON": str(python)}
    return subprocess.run([HEARTH, *arguments], check=False, capture_output=True, text=True, env=environment, cwd=cwd)


def queries():
    """Pairs of (fields of the report that it must equal, SQL): the queries of metrics.sql, then those of the page."""
    metrics = (ROOT / "python/metrics.sql").read_text(encoding="utf-8")
    page = (ROOT / "docs/src/query.md").read_text(encoding="utf-8")
    return re.findall(r"^-- = (.*?)\n(.*?);$", metrics, re.DOTALL | re.MULTILINE) + [
        ("", sql) for sql in re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    ]


def look_up(summary, path):
    for part in path.split("."):
        summary = summary[part]
    return summary


class Queries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.traces = {}
        for name, arguments in SIMULATIONS.items():
            # A path that must be quoted in SQL and in a glob pattern.
            path = Path(cls.folder.name) / f"it's [{name}] *.trace"
            made = run("sim", *arguments, "--runs", "1", "-o", path)
            assert made.returncode == 0, made.stderr
            cls.traces[name] = cls.measured(path)
        # Of latencies, simulations have no percentiles.
        path = Path(cls.folder.name) / "recorded.trace"
        made = run("import", ROOT / "crates/formats/tests/data/trace-v7.dat", "-o", path)
        assert made.returncode == 0, made.stderr
        cls.recorded = cls.measured(path)

    @staticmethod
    def measured(path):
        report = json.loads(run("report", path, "--json", "--by", "process", "--wakers").stdout)
        return path, report["traces"][0], hearth.connect(path)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def near(self, ours, expected, what):
        if isinstance(expected, (int, float)):
            # Percentiles of the report have three significant digits.
            digits = 2e-3 if "latency" in what else 1e-9
            self.assertLessEqual(abs(float(ours or 0) - expected), digits * abs(expected) + 1e-9, what)
        else:
            self.assertEqual(ours, expected, what)

    def agree(self, what, rows, summary):
        if what.endswith("{}"):
            expected = {name: count for name, count in look_up(summary, what[:-2]).items() if count}
            self.assertEqual(dict(rows), expected, what)
        elif what.endswith("]"):
            path, key, value = re.match(r"(.*)\[(.*):(.*)\]", what).groups()
            expected = look_up(summary, path)
            self.assertEqual([row[0] for row in rows], [row[key] for row in expected], what)
            for row, want in zip(rows, expected):
                self.near(row[1], want[value], what)
        else:
            for ours, path in zip(rows[0], what.split(), strict=True):
                expected = look_up(summary, path)
                if expected is None and summary is not self.recorded[1]["summary"]:
                    self.assertRegex(path, r"^wakeup_latency_us\.(p\d+(_9)?|max)$")
                else:
                    self.near(ours, expected, path)

    def test_metrics_agree_with_the_report(self):
        seen = set()
        for name, (_, report, con) in [*self.traces.items(), ("recorded", self.recorded)]:
            for what, sql in queries():
                with self.subTest(trace=name, query=what or sql):
                    rows = con.execute(sql).fetchall()
                    if what:
                        self.agree(what, rows, report["summary"])
                        seen.add(what)
        self.assertGreaterEqual(len(seen), 12)
        self.assertGreater(self.recorded[1]["summary"]["wakeup_latency_us"]["p99"], 0)
        # The traces are not trivial.
        summaries = {name: report["summary"] for name, (_, report, _) in self.traces.items()}
        self.assertGreater(summaries["cfs"]["underload_per_s"], 10)
        self.assertGreater(summaries["overload"]["overload_core_ms"], 0.1)
        self.assertGreater(summaries["overload"]["migrations"], 0)

    def test_processes_and_wakers_agree_with_the_report(self):
        for name, (_, report, con) in self.traces.items():
            with self.subTest(trace=name):
                total = "SELECT name, sum(duration) / {} FROM {} JOIN threads USING (thread) WHERE {} GROUP BY name"
                cpu = dict(con.execute(total.format(1e9, "slices", True)).fetchall())
                waiting = dict(con.execute(total.format(1e6, "states", "state = 'ready'")).fetchall())
                for row in report["by_process"]:
                    self.near(cpu.get(row["process"], 0), row["cpu_s"], "cpu_s")
                    self.near(waiting.get(row["process"], 0), row["waiting_ms"], "waiting_ms")
                pairs = con.execute(
                    "SELECT coalesce(a.name, '(interrupt)'), b.name, count(*), count(*) FILTER (w.core = w.target)"
                    " FROM wakeups w LEFT JOIN threads a ON a.thread = w.waker JOIN threads b ON b.thread = w.thread"
                    " WHERE b.traced GROUP BY ALL"
                ).fetchall()
                ours = {(waker, wakee): (n, same) for waker, wakee, n, same in pairs}
                wakers = {(row["waker"], row["wakee"]): (row["wakeups"], row["same_core"]) for row in report["wakers"]}
                self.assertEqual(ours, wakers)

    def test_the_command_prints_tables_json_and_csv(self):
        path, report, _ = self.traces["nest"]
        sql = "SELECT reason, count(*) AS n FROM placements GROUP BY reason ORDER BY n DESC, reason"
        expected = sorted(report["summary"]["placements"].items(), key=lambda pair: (-pair[1], pair[0]))
        document = json.loads(run("query", path, sql, "--json").stdout)
        self.assertEqual(
            document,
            {"schema": "hearth.query/1", "columns": ["reason", "n"], "rows": [list(pair) for pair in expected]},
        )
        csv = run("query", path, sql, "--csv").stdout.splitlines()
        self.assertEqual(csv, ["reason,n", *(f"{reason},{count}" for reason, count in expected)])
        table = run("query", path, sql).stdout.splitlines()
        self.assertEqual([line.split() for line in table[2:]], [[reason, str(count)] for reason, count in expected])
        odd = json.loads(run("query", path, "SELECT 'nan'::DOUBLE, 1::HUGEINT, NULL, [1, 2]", "--json").stdout)
        self.assertEqual(odd["rows"], [[None, 1, None, [1, 2]]])

    def test_modules_of_the_current_folder_are_not_run(self):
        path, _, _ = self.traces["nest"]
        with tempfile.TemporaryDirectory() as folder:
            for module in ["duckdb", "csv", "itertools", "json", "re"]:
                (Path(folder) / f"{module}.py").write_text("raise SystemExit('this is not the module')\n")
            self.assertEqual(run("query", path, "SELECT 1 AS one", "--csv", cwd=folder).stdout, "one\n1\n")

    def test_the_database_writes_nothing_beside_the_answer(self):
        path, _, _ = self.traces["nest"]
        sql = "SELECT current_setting('enable_progress_bar') AS bar"
        self.assertEqual(json.loads(run("query", path, sql, "--json").stdout)["rows"], [[False]])

    def test_every_column_has_a_meaning(self):
        path, _, con = self.traces["nest"]
        rows = con.execute("SELECT * FROM columns").fetchall()
        self.assertEqual([row[:2] for row in rows if not row[4]], [])
        described = {(table, column) for table, column, *_ in rows}
        for (table,) in con.execute("SHOW TABLES").fetchall():
            self.assertIn((table, None), described)
            for column, *_ in con.execute(f'DESCRIBE "{table}"').fetchall():
                self.assertIn((table, column), described)
        units = {(table, column): unit for table, column, _, unit, _ in rows}
        self.assertEqual((units["slices", "stop"], units["switches", "stop"]), ("ns", None))
        document = json.loads(run("query", "--schema", path, "--json").stdout)
        self.assertEqual([tuple(row) for row in document["rows"]], rows)

    def test_threads_have_processes_where_they_are_known(self):
        old = ROOT / "crates/trace/tests/data/version-2"
        for path in [old, self.traces["cfs"][0]]:
            con = hearth.connect(path)
            count = "SELECT count(*), count(tid), count(pid), count(process) FROM threads"
            threads = con.execute(count).fetchone()
            self.assertEqual((threads[0] > 2, threads[1:]), (True, (0, 0, 0)))
            self.assertEqual(con.execute("SELECT * FROM processes").fetchall(), [])
        # As a recording has them.
        with tempfile.TemporaryDirectory() as folder:
            import duckdb

            path = Path(folder) / "made.trace"
            shutil.copytree(self.traces["cfs"][0], path)
            numbers = "100 + thread::UINTEGER AS tid, (thread % 2)::UINTEGER AS process"
            threads = f"(SELECT * REPLACE ({numbers}) FROM '{path}/threads.parquet')"
            duckdb.sql(f"COPY {threads} TO '{path}/new.parquet'")
            (path / "new.parquet").rename(path / "threads.parquet")
            rows = "(0::UINTEGER, 7::UINTEGER, 'sh', NULL::UINTEGER), (1, 9, 'cc', 0)"
            processes = f"(VALUES {rows}) t(process, pid, name, parent)"
            duckdb.sql(f"COPY (FROM {processes}) TO '{path}/processes.parquet'")
            con = hearth.connect(path)
            sql = "SELECT tid, t.pid, process, p.name, p.parent FROM threads t JOIN processes p USING (process)"
            rows = con.execute(sql + " ORDER BY thread LIMIT 2").fetchall()
            self.assertEqual(rows, [(101, 9, 1, "cc", 0), (102, 7, 0, "sh", None)])

    def test_the_command_prints_the_views(self):
        path, _, _ = self.traces["cfs"]
        self.assertEqual(run("query", path, "--sql").stdout, hearth.views(path.resolve()))

    def ask_as_the_viewer(self, path, query, limit=1000):
        """The exit status of run.py, its answer, and its message."""
        request = {"views": hearth.views(path), "folder": str(path), "format": "page", "query": query, "limit": limit}
        script = ROOT / "python/hearth/run.py"
        ended = subprocess.run(
            [sys.executable, script],
            check=False,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            cwd=self.folder.name,
        )
        return ended.returncode, json.loads(ended.stdout or "null"), ended.stderr

    def test_the_viewer_gets_the_first_rows(self):
        path, _, con = self.traces["nest"]
        status, answer, _ = self.ask_as_the_viewer(path, "SELECT core, start FROM slices ORDER BY start, core", 3)
        rows = con.execute("SELECT core, start FROM slices ORDER BY start, core LIMIT 3").fetchall()
        expected = {"columns": ["core", "start"], "rows": [list(row) for row in rows], "truncated": True}
        self.assertEqual((status, answer), (0, expected))
        _, answer, _ = self.ask_as_the_viewer(path, "FROM range(3)", 3)
        self.assertEqual((len(answer["rows"]), answer["truncated"]), (3, False))

    def test_the_server_of_the_viewer_answers(self):
        path, _, _ = self.traces["nest"]
        environment = {**os.environ, "HEARTH_PYTHON": sys.executable}
        server = subprocess.Popen(
            [HEARTH, "view", "--no-open", path], stdout=subprocess.PIPE, text=True, env=environment
        )
        try:
            address = server.stdout.readline().strip()
            query = urllib.parse.quote("SELECT count(*) AS n, 'ü' AS u FROM threads")
            with urllib.request.urlopen(f"{address}api/traces/0/sql?query={query}") as answer:
                found = json.load(answer)
            self.assertEqual((found["columns"], found["rows"][0][1], found["truncated"]), (["n", "u"], "ü", False))
            with self.assertRaises(urllib.error.HTTPError) as wrong:
                urllib.request.urlopen(f"{address}api/traces/0/sql?query=SELECT%20nothing")
            self.assertEqual(wrong.exception.code, 400)
            self.assertIn("nothing", json.load(wrong.exception)["error"])
        finally:
            server.kill()
            server.communicate()

    def test_the_viewer_only_reads_the_trace(self):
        path, _, _ = self.traces["nest"]
        other = Path(self.folder.name) / "other.csv"
        other.write_text("secret\n1\n")
        before = sorted(Path(self.folder.name).rglob("*"))
        for query in [
            f"SELECT * FROM read_csv('{other}')",
            f"SELECT * FROM '{other}'",
            "SELECT * FROM read_text('other.csv')",
            "SELECT * FROM glob('*')",
            "SELECT * FROM 'https://example.org/a.parquet'",
            "COPY (SELECT 1) TO 'written.csv'",
            "EXPLAIN ANALYZE COPY (SELECT 1) TO 'written.csv'",
            "SELECT 1; COPY (SELECT 1) TO 'written.csv'",
            "ATTACH 'written.db'",
            "SET enable_external_access = true",
            "INSTALL httpfs",
            "CREATE TABLE a AS SELECT 1",
            "",
        ]:
            with self.subTest(query=query):
                status, answer, said = self.ask_as_the_viewer(path, query)
                self.assertEqual((status, answer), (1, None))
                self.assertRegex(said, "only a single SELECT|disabled by configuration|Permission Error")
        self.assertEqual(sorted(Path(self.folder.name).rglob("*")), before)

    def test_errors_say_what_is_wrong(self):
        path, _, _ = self.traces["cfs"]
        wrong = run("query", path, "SELECT nothing FROM events")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("nothing", wrong.stderr)
        self.assertNotIn("Traceback", wrong.stderr)
        none = run("query", "none.trace", "SELECT 1")
        self.assertEqual(none.returncode, 1)
        self.assertIn("none.trace", none.stderr)
        with self.assertRaises(FileNotFoundError):
            hearth.connect("none.trace")


class Installation(unittest.TestCase):
    """Queries with a Python that has no module duckdb."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.trace = Path(self.folder.name) / "a.trace"
        made = run("sim", *SIMULATIONS["nest"], "--runs", "1", "-o", self.trace)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.cache = Path(self.folder.name) / "cache/hearth/duckdb"

    def python(self, name, command):
        path = Path(self.folder.name) / name
        path.write_text(f"#!/bin/sh\nunset PYTHONPATH\nexec {command}\n")
        path.chmod(0o755)
        return path

    def bare(self):
        """A Python without packages, which can make environments."""
        return self.python("bare", f'"{sys.executable}" -I -S "$@"')

    def ask(self, python, **variables):
        environment = {"HEARTH_PYTHON": str(python), "XDG_CACHE_HOME": str(self.cache.parents[1]), **variables}
        return subprocess.run(
            [HEARTH, "query", self.trace, "SELECT 1 AS one", "--csv"],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )

    def fails(self, asked, *texts):
        self.assertEqual((asked.returncode, asked.stdout), (1, ""), asked.stderr)
        for text in [*texts, "help: ", "apt install python3-venv", "--sql"]:
            self.assertIn(text, asked.stderr)
        self.assertNotIn("Traceback", asked.stderr)

    def test_without_the_network(self):
        offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_FIND_LINKS": "", "PIP_NO_CACHE_DIR": "1"}
        asked = self.ask(self.bare(), PIP_CONFIG_FILE=os.devnull, **offline)
        self.fails(
            asked, "cannot install DuckDB: pip cannot install duckdb==", ": the package index cannot be reached (Conn"
        )
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_without_pip(self):
        hidden = 'import sys; sys.modules["ensurepip"] = None; exec(sys.argv.pop(1))'
        asked = self.ask(self.python("hidden", f'"{sys.executable}" -I -S -c \'{hidden}\' "$2"'))
        self.fails(asked, "cannot install DuckDB: ", " has neither pip nor ensurepip")

    def test_packages_that_others_can_write_are_not_used(self):
        self.cache.mkdir(parents=True)
        version = (ROOT / "python/hearth/duckdb.txt").read_text().split()[0].replace("==", "-")
        packages = self.cache / f"{version}-{sys.implementation.cache_tag}-{platform.machine()}"
        packages.mkdir()
        (packages / "duckdb.py").write_text("raise SystemExit('this code is from somebody else')\n")
        self.cache.chmod(0o777)
        asked = self.ask(self.bare())
        self.assertEqual(asked.returncode, 1)
        self.assertIn(f"{self.cache} is open to other users\n  help: make it private: chmod 700", asked.stderr)
        self.cache.chmod(0o700)
        self.assertIn("this code is from somebody else", self.ask(self.bare()).stderr)

    @unittest.skipUnless("HEARTH_TEST_ALL" in os.environ, "needs the network: make test-all")
    def test_the_first_query_installs_duckdb(self):
        # The second one is the system's, where pip refuses to install into its folders (PEP 668).
        for python in [self.bare(), self.python("managed", '/usr/bin/python3 -S "$@"')]:
            with self.subTest(python=python):
                first = self.ask(python)
                self.assertEqual((first.returncode, first.stdout), (0, "one\n1\n"), first.stderr)
                self.assertIn("installing DuckDB (once)", first.stderr)
                second = self.ask(python)
                self.assertEqual((second.stdout, second.stderr), ("one\n1\n", ""))
                (installed,) = self.cache.iterdir()
                shutil.rmtree(installed)

    def test_the_tests_and_the_command_use_one_version(self):
        requirement = (ROOT / "python/hearth/duckdb.txt").read_text()
        self.assertIn(f"\n{requirement}", (ROOT / "scripts/requirements-readers.txt").read_text())


if __name__ == "__main__":
    unittest.main()
