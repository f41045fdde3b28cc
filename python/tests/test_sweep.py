"""A sweep on four Dask workers, one of which is killed in the middle, gives the same table as one process."""

import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from distributed import Client, LocalCluster
from hearth import sweep

ROOT = Path(__file__).resolve().parents[2]
HEARTH = os.environ.get("HEARTH", str(ROOT / "target/debug/hearth"))
WORKLOADS = [f"fork-wait:iterations={n}" for n in range(40, 64)]


def arguments(table: Path) -> list[str]:
    given = ["-m", "ryzen-3400g", "-p", "cfs", "-p", "nest", "--runs", "3", "-o", str(table)]
    return given + [word for workload in WORKLOADS for word in ("-w", workload)]


class Sweep(unittest.TestCase):
    def setUp(self):
        os.environ["HEARTH"] = HEARTH
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_killed_worker_loses_nothing(self):
        alone, table = self.folder / "alone.parquet", self.folder / "dask.parquet"
        subprocess.run([HEARTH, "study", "run", *arguments(alone)], check=True, capture_output=True)
        parts = self.folder / "dask.parquet.parts"
        killed = []

        def kill_one(cluster):
            while not parts.exists() or len(list(parts.iterdir())) < 4:
                time.sleep(0.01)
            worker = next(iter(cluster.workers.values()))
            os.kill(worker.process.process.pid, signal.SIGKILL)
            killed.append(len(list(parts.iterdir())))

        with LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster:
            killer = threading.Thread(target=kill_one, args=[cluster])
            killer.start()
            with Client(cluster) as client:
                sweep.sweep(client, arguments(table), parts=len(WORKLOADS))
            killer.join()
        self.assertLess(killed[0], len(WORKLOADS), "it was killed in the middle")
        self.assertFalse(parts.exists())
        self.assertEqual(table.read_bytes(), alone.read_bytes())

    def test_an_error_says_what_hearth_said(self):
        with (
            LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
            self.assertRaisesRegex(RuntimeError, "nosuch"),
        ):
            sweep.sweep(client, [*arguments(self.folder / "table"), "-p", "nosuch"], parts=1)


if __name__ == "__main__":
    unittest.main()
