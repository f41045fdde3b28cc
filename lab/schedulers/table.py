#!/usr/bin/env python3
"""table.py OUT...: makes tables of the results of lab/schedulers/run in each folder OUT.

Writes OUT/result.json (every round) and OUT/table.md (means over the rounds; times also as ratios to the kernel's own
scheduler of the same round).
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import mean

LOADS = ["configure", "build", "schbench", "hackbench"]
# Names of a scheduler's struct_ops operations in the kernel's statistics, truncated to 15 characters.
OPERATIONS = {"select_cpu": "_select", "enqueue": "_enqueue", "dispatch": "_dispatch"}


def summary(hearth, trace):
    """The result of `hearth report` for a recording."""
    said = subprocess.run([hearth, "report", "--json", str(trace)], check=True, capture_output=True).stdout
    return json.loads(said)["traces"][0]["summary"]


def cost(programs):
    """Mean time and number of executions of each operation."""
    found = {}
    for program in json.loads(programs.read_text()):
        if program.get("type") != "struct_ops" or not program.get("run_cnt"):
            continue
        for operation, part in OPERATIONS.items():
            if part in program["name"]:
                found[operation] = {"ns": program["run_time_ns"] / program["run_cnt"], "runs": program["run_cnt"]}
    return found


def measured(out):
    """rounds[load][scheduler] is a list, with one entry for each round."""
    guest, rounds = out / "guest", {load: {} for load in LOADS}
    hearth = guest / "hearth/bin/hearth"
    for time in sorted(guest.glob("*.time"), key=lambda path: (path.name.split(".")[0], path.stat().st_mtime_ns)):
        number, scheduler, load = time.name.removesuffix(".time").split(".")
        if load not in LOADS:
            continue
        # Recording adds overhead, so hackbench is timed without it. The others are timed by their recording, from the
        # first event to the last, because starting and stopping the recorder takes longer than some of them.
        recorded = f"{number}.{scheduler}.{load}" + ("-recorded" if load == "hackbench" else "")
        run = {"round": int(number), "seconds": float(time.read_text())}
        if (trace := guest / f"{recorded}.trace").exists():
            run |= summary(hearth, trace)
            if load != "hackbench":
                run["seconds"] = run["duration_s"]
        if (programs := guest / f"{number}.{scheduler}.{load}.programs").exists():
            run["cost"] = cost(programs)
        rounds[load].setdefault(scheduler, []).append(run)
    return rounds


def ratios(runs, kernel):
    """Ratios to the kernel's own scheduler in the same round."""
    base = {run["round"]: run["seconds"] for run in kernel}
    return [run["seconds"] / base[run["round"]] for run in runs if run["round"] in base]


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def span(values):
    """The mean; if there are several values, also the minimum and the maximum."""
    values = list(values)
    if not values:
        return "-"
    low, high = number(min(values)), number(max(values))
    return number(mean(values)) + (f" ({low} to {high})" if low != high else "")


def table(load, runs):
    """In the order of first execution."""
    kernel = runs.get("kernel", [])
    head = [
        "scheduler",
        "s",
        "time ratio",
        "cores in 4 ms",
        "underload/s",
        "wake-up latency p50 µs",
        "p99",
        "p99.9",
        "migrations",
    ]
    costly = any("cost" in run for rounds in runs.values() for run in rounds)
    if costly:
        head += [f"{operation} ns" for operation in OPERATIONS]
    lines = [f"### {load}", "", "| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for scheduler, rounds in runs.items():
        traced = [run for run in rounds if "underload_per_s" in run]
        row = [scheduler, span(run["seconds"] for run in rounds), span(ratios(rounds, kernel))]
        row += [span(run[field] for run in traced) for field in ("cores_used_per_tick", "underload_per_s")]
        row += [span(run["wakeup_latency_us"][p] for run in traced) for p in ("p50", "p99", "p99_9")]
        row.append(span(run["migrations"] for run in traced))
        if costly:
            costs = [run.get("cost", {}) for run in rounds]
            row += [span(c[operation]["ns"] for c in costs if operation in c) for operation in OPERATIONS]
        lines.append("| " + " | ".join(row) + " |")
    return [*lines, ""]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for out in map(Path, sys.argv[1:]):
        rounds = measured(out)
        (out / "result.json").write_text(json.dumps({"schema": "hearth.schedulers/1", "loads": rounds}, indent=1))
        lines = [line for load, runs in rounds.items() if runs for line in table(load, runs)]
        (out / "table.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
