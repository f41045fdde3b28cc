"""Runs `hearth study run` on Dask workers.

    python3 -m hearth.sweep [--scheduler ADDRESS] [--workers N] [--parts N] -- ARGUMENTS

ARGUMENTS are those of `hearth study run`. Without a scheduler's address, N worker processes start on this machine.
All workers share the folder of the table, and have the same `hearth` in their PATH (HEARTH names another). A part
whose worker dies is run again by another one. Nothing is lost or counted twice: each finished part is a file, and is
not run again.

Needs `pip install distributed`.
"""

import argparse
import os
import subprocess
import sys


def hearth() -> str:
    return os.environ.get("HEARTH", "hearth")


def run_part(arguments: list[str], part: str) -> None:
    """Runs one part of a sweep, as a task of a worker."""
    command = [hearth(), "study", "run", *arguments, "--part", part, "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"{command[0]} ended with status {done.returncode}")


def sweep(client, arguments: list[str], parts: int) -> None:
    """Runs all parts of a sweep on the workers of a `distributed.Client`.

    Args:
        client: the client of a cluster.
        arguments: those of `hearth study run`, `--output` among them, without `--part` and `--jobs`.
        parts: number of tasks; some for each worker.

    Raises:
        RuntimeError: a part failed, with what `hearth` said.
    """
    names = [f"{number}/{parts}" for number in range(1, parts + 1)]
    # Dask runs the tasks of a dead worker again by itself. An error of hearth is final.
    tasks = [client.submit(run_part, arguments, name, pure=False) for name in names]
    client.gather(tasks)


def main() -> int:
    before, mark, arguments = sys.argv[1:], "--", []
    if mark in before:
        before, arguments = before[: before.index(mark)], before[before.index(mark) + 1 :]
    parser = argparse.ArgumentParser(prog="python3 -m hearth.sweep", description=__doc__.splitlines()[0])
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a running Dask scheduler: tcp://HOST:PORT")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="local workers (default: one per CPU)")
    parser.add_argument("--parts", type=int, help="number of tasks (default: 8 per worker)")
    options = parser.parse_args(before)
    if not arguments:
        parser.error("the arguments of `hearth study run` are missing; they come after --")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("error: Dask is not installed\n  help: pip install distributed", file=sys.stderr)
        return 1
    cluster = options.scheduler or LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    try:
        with Client(cluster) as client:
            workers = max(1, len(client.scheduler_info()["workers"]))
            sweep(client, arguments, options.parts or 8 * workers)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        if not options.scheduler:
            cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
