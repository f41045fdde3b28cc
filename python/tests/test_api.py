"""Tests of the installed package: nouns, verbs, tables, charts and errors.

HEARTH names the program that the results are compared with. Needs duckdb, polars, pandas, pyarrow and altair.
"""

import ast
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest.mock import patch

import altair
import duckdb
import hearth
import pandas
import polars
import pyarrow
from hearth import _hearth, plot

ROOT = Path(__file__).resolve().parents[2]
HEARTH = os.environ.get("HEARTH", str(ROOT / "target/debug/hearth"))
SMALL = "configure:tests=5"
MACHINE = "xeon-5218"


def command(*arguments):
    done = subprocess.run([HEARTH, *map(str, arguments)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fails(self, *says):
        """Expects hearth.Error, with all these texts in its message."""
        return self.assertRaisesRegex(hearth.Error, "(?s)" + ".*".join(says))


class Nouns(Case):
    def test_policies(self):
        nest = hearth.Policy("nest:r_max=0", s_max="4ticks", attachment=False)
        self.assertEqual(nest.settings, {"attachment": "false", "r_max": "0", "s_max": "16ms"})
        self.assertEqual(repr(nest), "<hearth.Policy nest:attachment=false,r_max=0,s_max=16ms>")
        self.assertEqual((nest.name, nest.base), ("nest", "cfs"))
        params = {row["name"]: row for row in nest.params().to_dicts()}
        self.assertEqual((params["r_max"]["value"], params["r_max"]["default"]), ("0", "5"))
        self.assertIn("primary", nest.reasons)
        self.assertIn("primary", nest.sets)
        self.assertIn("saakm.h", nest.c())
        self.assertIn("nest", hearth.policies()["name"])
        self.assertEqual(len(hearth.products()), 486)
        self.assertEqual(len(hearth.Policy(ROOT / "policies/nest.ipa").params()), len(nest.params()))

    def test_machines(self):
        machine = hearth.Machine(MACHINE)
        self.assertEqual((machine.sockets, machine.cores), (2, 64))
        self.assertEqual((machine.min_ghz, machine.nominal_ghz, machine.turbo_ghz), (1.0, 2.3, 3.9))
        self.assertEqual(len(machine.topology()), 64)
        self.assertEqual(set(machine.topology()["socket"]), {0, 1})
        file = self.folder / "mine.toml"
        file.write_text(machine.to_toml())
        self.assertEqual(hearth.Machine(file).cores, 64)
        self.assertEqual(repr(hearth.Machine("ryzen-3400g")).count("1 socket,"), 1)
        self.assertIn(MACHINE, hearth.machines()["name"])

    def test_workloads(self):
        workload = hearth.Workload(SMALL)
        self.assertEqual((workload.name, workload.notes), ("configure", []))
        self.assertGreater(min(workload.threads, workload.steps, workload.cycles), 10)
        workload.save(self.folder / "w.json")
        again = hearth.simulate(self.folder / "w.json", MACHINE, "cfs")
        self.assertEqual(again.trace_hash, hearth.simulate(workload, MACHINE, "cfs").trace_hash)
        self.assertIn("configure", hearth.workloads()["name"])

    def test_traces(self):
        path = self.folder / "t.trace"
        command("sim", "-w", SMALL, "-m", MACHINE, "-p", "nest", "--runs", 1, "-o", path)
        stored = hearth.Trace(path)
        simulated = hearth.simulate(SMALL, MACHINE, "nest", trace=True)
        self.assertEqual(stored.metrics(), simulated.metrics)
        self.assertEqual((stored.machine, stored.complete, stored.path), (MACHINE, True, path))
        self.assertEqual(stored.ghz_range, (1.0, 3.9))
        self.assertEqual(stored.source["Simulated"]["policy"], "nest")
        self.assertEqual(len(stored), simulated.events)
        copy = self.folder / "copy.trace"
        simulated.trace.save(copy)
        for trace in (stored, simulated.trace, hearth.Trace(copy)):
            con = hearth.connect(path)
            kinds = con.sql("SELECT kind, count(*) FROM events GROUP BY kind").fetchall()
            ours = polars.DataFrame(trace.events()).group_by("kind").len().rows()
            self.assertEqual(sorted(ours), sorted(kinds))
            running = con.sql("SELECT core, thread, start, stop, khz / 1e6 FROM running ORDER BY ALL").fetchall()
            columns = ["core", "thread", "start", "stop", "ghz"]
            slices = sorted(tuple(row[name] for name in columns) for row in trace.slices().to_dicts())
            self.assertEqual(slices, running)
            self.assertEqual(con.sql("SELECT * FROM cores").fetchall(), polars.DataFrame(trace.cores()).rows())
            self.assertEqual(con.sql("SELECT * FROM threads").fetchall(), polars.DataFrame(trace.threads()).rows())
            self.assertEqual(trace.workload().threads, hearth.Workload(SMALL).threads)


class Verbs(Case):
    def test_a_prediction_is_that_of_the_command(self):
        arguments = ["-p", "eevdf", "-p", "nest:r_max=0", "--runs", "3", "--seed", "7", "--world", "all"]
        expected = command("sim", "-w", SMALL, "-m", MACHINE, *arguments, "--json")
        policies = ["eevdf", hearth.Policy("nest", r_max=0)]
        prediction = hearth.predict(SMALL, MACHINE, policies, runs=3, seed=7, world="all")
        self.assertEqual(prediction["policy"], ["eevdf", "nest:r_max=0"])
        self.assertEqual(prediction["speedup"], [None, expected["comparisons"][0]["speedup"]])
        low, high = expected["comparisons"][0]["speedup_ci95"]
        self.assertEqual((prediction["speedup_low"][1], prediction["speedup_high"][1]), (low, high))
        for run, want in zip(prediction.runs().to_dicts(), expected["runs"], strict=True):
            for name in run.keys() & want.keys() - {"policy"}:
                self.assertEqual(run[name], want[name], name)

    def test_a_study_is_that_of_the_command(self):
        table = self.folder / "study.parquet"
        workloads, products = ["fork-wait:iterations=5", "hackbench:groups=1,loops=2"], hearth.products()["name"][:4]
        given = [word for pair in (("-w", w) for w in workloads) for word in pair]
        given += [word for name in ["cfs-5-4", *products] for word in ("-p", name)]
        command("study", "run", *given, "-m", "ryzen-3400g", "--runs", 2, "-o", table)
        study = hearth.study(workloads, "ryzen-3400g", ["cfs-5-4", *products], runs=2)
        self.assertTrue(polars.DataFrame(study).equals(polars.read_parquet(table)))
        self.assertEqual(hearth.read_study(table).to_dicts(), study.to_dicts())
        report = command("study", "report", table, "--json")
        names = ["slot", "feature", "verdict", "share"]
        expected = [[one[name] for name in names] for found in report["applications"] for one in found["features"]]
        self.assertEqual([[one[name] for name in names] for one in study.features().to_dicts()], expected)
        expected = [one["explained"] for found in report["applications"] for one in found["effects"]]
        self.assertEqual(study.effects()["explained"], expected)
        self.assertGreater(len(expected), 0)

    def test_policies_and_machines_of_the_same_name_are_told_apart(self):
        copy = self.folder / "nest.ipa"
        shutil.copy(ROOT / "policies/nest.ipa", copy)
        slow = hearth.Machine(f"{MACHINE}:frequency.turbo.release_us=0")
        prediction = hearth.predict(SMALL, [MACHINE, slow, MACHINE], ["nest", copy, "nest", "nest:r_max=0"], runs=1)
        self.assertEqual(prediction["policy"], ["nest", "nest (2)", "nest:r_max=0"] * 2)
        self.assertEqual(len(set(prediction["machine"])), 2)
        self.assertEqual(prediction["time_s"][0], prediction["time_s"][1])

    def test_a_workload_from_a_trace(self):
        trace = hearth.simulate(SMALL, MACHINE, "cfs", trace=True).trace
        self.assertEqual(hearth.predict(trace, MACHINE, "nest", runs=1).workload, trace.workload().name)

    def test_ctrl_c_stops_between_runs(self):
        # A shell that starts the tests in the background has them ignore it.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        main = threading.main_thread().ident
        threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        started = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            hearth.predict("configure:tests=200", "xeon-6130-4s", ["cfs", "nest"], runs=5000)
        self.assertLess(time.monotonic() - started, 30)

    def test_other_threads_run_meanwhile(self):
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.01):
                ticks.append(time.monotonic())

        ticker = threading.Thread(target=tick)
        ticker.start()
        hearth.predict("configure:tests=100", MACHINE, ["cfs", "nest"], runs=5, jobs=1)
        stop.set()
        ticker.join()
        self.assertGreater(len(ticks), 3)


class Tables(Case):
    def test_others_read_them(self):
        table = hearth.predict(SMALL, MACHINE, ["eevdf", "nest"], runs=2)
        expected = table.to_dicts()
        self.assertEqual(polars.DataFrame(table).to_dicts(), expected)
        self.assertEqual(pyarrow.table(table).to_pylist(), expected)
        self.assertEqual(pandas.DataFrame.from_arrow(table)["time_s"].tolist(), table["time_s"])
        sql = "SELECT policy, speedup FROM table_ WHERE speedup IS NOT NULL"
        table_ = table  # DuckDB finds it by its name.
        self.assertEqual(duckdb.sql(sql).fetchall(), [("nest", table_["speedup"][1])])
        self.assertEqual(pyarrow.schema(table).names, table.columns)
        # A table can be read several times.
        self.assertEqual(len(polars.DataFrame(table)), len(table))

    def test_they_say_what_they_have(self):
        table = hearth.machines()
        self.assertIn("rows of name, model", repr(table))
        with self.assertRaisesRegex(KeyError, "no column `speed`; it has name"):
            table["speed"]


class Errors(Case):
    def test_names(self):
        with self.fails("no policy `nst`", "did you mean `nest`"):
            hearth.Policy("nst")
        with self.fails("no parameter `r_mx`", "did you mean `r_max`"):
            hearth.Policy("nest", r_mx=1)
        with self.fails("r_max. is 5000, but must be between 0 and 1024"):
            hearth.Policy("nest", r_max=5000)
        with self.fails("no machine is called `xeon-5219`", "did you mean `xeon-5218`"):
            hearth.Machine("xeon-5219")
        with self.fails("did you mean `configure`"):
            hearth.Workload("confgure")
        with self.fails("no governor"):
            hearth.simulate(SMALL, MACHINE, "cfs", governor="fast")
        with self.fails("no part of the world"):
            hearth.simulate(SMALL, MACHINE, "cfs", world="moon")
        with self.fails("noise is 2, but must be between 0 and 0.5"):
            hearth.simulate(SMALL, MACHINE, "cfs", noise=2)
        with self.fails("no feature model `famly`"):
            hearth.products("famly")
        with self.assertRaises(OverflowError):
            hearth.simulate(SMALL, MACHINE, "cfs", seed=-1)
        for nothing in (dict(machines=[]), dict(policies=[]), dict(governors=[]), dict(runs=0), dict(workloads=[])):
            with self.fails("nothing to simulate"):
                hearth.study(**{"workloads": SMALL, "machines": MACHINE, "policies": "cfs", **nothing})

    def test_missing_files(self):
        none = self.folder / "none"
        for noun, name in [(hearth.Policy, "p.ipa"), (hearth.Machine, "m.toml"), (hearth.Workload, "w.json")]:
            with self.fails(name, "No such file"):
                noun(none / name)
        for noun in (hearth.Trace, hearth.read_study):
            with self.fails("none", "No such file"):
                noun(none)

    def test_wrong_files(self):
        file = self.folder / "file.ipa"
        file.write_text("policy file extends cfs { param x }")
        with self.fails("file.ipa"):
            hearth.Policy(file)
        with self.fails("file.ipa"):
            hearth.Machine(file)
        with self.fails("no table of a sweep"):
            hearth.read_study(file)
        with self.fails("not a trace"):
            hearth.Trace(self.folder)
        workload = self.folder / "w.json"
        hearth.Workload(SMALL).save(workload)
        workload.write_text(workload.read_text()[:200])
        with self.fails("w.json"):
            hearth.Workload(workload)
        with self.fails("cannot"):
            hearth.Workload(SMALL).save(self.folder / "none" / "w.json")

    def test_truncated_traces(self):
        path = self.folder / "t.trace"
        hearth.simulate(SMALL, MACHINE, "nest", trace=True).trace.save(path)
        events = path / "events/000000.parquet"
        events.write_bytes(events.read_bytes()[:100])
        trace = hearth.Trace(path)
        for read in (trace.metrics, trace.slices, trace.workload, lambda: trace.events().to_dicts()):
            with self.fails("damaged"):
                read()
        with self.assertRaisesRegex(Exception, "damaged"):
            pyarrow.table(trace.events())
        (path / "trace.json").write_text((path / "trace.json").read_text()[:50])
        with self.fails("trace.json"):
            hearth.Trace(path)

    def test_runs_that_cannot_complete(self):
        workload = self.folder / "w.json"
        hearth.Workload(SMALL).save(workload)
        text = json.loads(workload.read_text())
        text["threads"] = [{"name": "a", "affinity": [900], "ops": [{"run": 1000}]}]
        workload.write_text(json.dumps(text))
        with self.fails(r"its affinity is \[900\]"):
            hearth.simulate(workload, MACHINE, "cfs")

    def test_missing_extras_are_named(self):
        """With -S, Python has none of the installed packages."""
        package = Path(hearth.__file__).parents[1]
        for statement, extra in [("hearth.connect('x')", "explore"), ("import hearth.plot", "plot")]:
            bare = self.folder / extra
            bare.mkdir()
            (bare / "hearth").symlink_to(package / "hearth")
            code = f"import sys; sys.path.insert(0, {str(bare)!r}); import hearth; hearth.policies(); {statement}"
            done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
            self.assertIn(f"pip install 'hearth-sched[{extra}]'", done.stderr)


class Charts(Case):
    def marks(self, chart):
        """The chart as a picture, so that Vega-Lite accepts it; and its data."""
        picture = self.folder / "chart.png"
        chart.save(picture)
        self.assertGreater(picture.stat().st_size, 2000)
        return chart.to_dict()

    def test_gantt(self):
        trace = hearth.simulate(SMALL, MACHINE, "nest", trace=True).trace
        chart = self.marks(plot.gantt(trace))
        self.assertEqual(len(chart["data"]["values"]), len(trace.slices()))
        part = self.marks(plot.gantt(trace, 2, 3))["data"]["values"]
        self.assertTrue(0 < len(part) < len(trace.slices()))
        self.assertTrue(all(2 <= row["begin"] < row["end"] <= 3 for row in part))
        with patch.object(plot, "_MOST_SLICES", 10), self.assertRaisesRegex(ValueError, "start_ms"):
            plot.gantt(trace)

    def test_speedups(self):
        prediction = hearth.predict(SMALL, [MACHINE, "ryzen-3400g"], ["eevdf", "cfs", "nest"], runs=2)
        chart = self.marks(plot.speedups(prediction))
        self.assertEqual([panel["title"]["text"] for panel in chart["vconcat"]], [MACHINE, "ryzen-3400g"])
        settings = [[row["setting"] for row in panel["data"]["values"]] for panel in chart["vconcat"]]
        self.assertEqual(settings, [["cfs", "nest"]] * 2)
        self.marks(plot.speedups(hearth.predict(SMALL, MACHINE, ["eevdf", "nest"], runs=1)))

    def test_times(self):
        study = hearth.study(SMALL, MACHINE, ["cfs", "nest", "nest:r_max=0"], runs=2)
        self.marks(plot.times(study))
        means = plot._means(study.to_dicts())
        self.assertEqual([one["rank"] for one in means], [1, 2, 3])
        self.assertEqual({one["role"] for one in means}, {"best", "", "baseline"})
        self.assertEqual(means[0]["role"], "best")
        self.assertEqual(sorted(means, key=lambda one: one["time"]), means)


class Documentation(Case):
    def test_stubs_say_what_the_module_says(self):
        """Names and docstrings of `_hearth.pyi` are those of the compiled part."""
        stubs = ast.parse((Path(hearth.__file__).parent / "_hearth.pyi").read_text(encoding="utf-8"))
        defined = [node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
        public = {name for name in dir(_hearth) if not name.startswith("_")}
        self.assertEqual(public, {node.name for node in defined} | {"COLOURS"})
        for node in defined:
            self.agree(node, getattr(_hearth, node.name))

    def agree(self, node, value):
        if doc := ast.get_docstring(node):
            self.assertEqual(inspect.getdoc(value), doc, node.name)
        if not isinstance(node, ast.ClassDef):
            return
        members = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        own = {name for name in vars(value) if not name.startswith("_")}
        if node.name != "Error":
            self.assertEqual(own, {name for name in members if not name.startswith("_")}, node.name)
        for name in own:
            self.agree(members[name], getattr(value, name))

    def test_all_names_exist(self):
        for name in hearth.__all__:
            self.assertTrue(inspect.getdoc(getattr(hearth, name)), name)
        self.assertEqual(set(hearth.api.__all__) | {"connect", "views"}, set(hearth.__all__))
        self.assertTrue(altair.__version__)


if __name__ == "__main__":
    unittest.main()
