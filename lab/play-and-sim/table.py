#!/usr/bin/env python3
"""table.py OUT SHAPE...: compares the plays and the simulations of lab/play-and-sim/run.

Writes OUT/result.json (every run) and OUT/table.md (means, the simulated value's error relative to the played one).
"""

import json
import sys
from pathlib import Path
from statistics import mean, median

# Name in the table, and value from a report's summary.
METRICS = {
    "time ms": lambda s: s["duration_s"] * 1e3,
    "CPU ms": lambda s: s["busy_core_s"] * 1e3,
    "cores in 4 ms": lambda s: s["cores_used_per_tick"],
    "underload/s": lambda s: s["underload_per_s"],
    "migrations": lambda s: s["migrations"],
    "wake-ups": lambda s: s["wakeups"],
    "switches": lambda s: s["context_switches"],
    "latency mean us": lambda s: s["wakeup_latency_us"]["mean"],
}


def summaries(folder, name, scheduler, runs):
    """Summaries of these runs, including the reasons for placements."""
    for path in sorted(folder.glob(f"{name}.{scheduler}.{runs}.report.json")):
        summary = json.loads(path.read_text())["traces"][0]["summary"]
        if not summary["placements"]:
            summary["placements"] = counted(path)
        yield summary


def counted(report):
    """Reasons counted by the policy during a play. The policy counts moves of ready threads separately."""
    before, after = (report.with_name(report.name.replace("report", when)) for when in ("before", "after"))
    if not before.exists():
        return {}
    before, after = (json.loads(path.read_text())["statistics"] for path in (before, after))
    reasons = {reason: n - before["placements"].get(reason, 0) for reason, n in after["placements"].items()}
    for reason, moves in MOVES.items():
        if reason in reasons:
            reasons[reason] = after[moves] - before[moves]
    return {reason: n for reason, n in reasons.items() if n > 0}


def shares(runs):
    """Reasons as shares of all placements, in percent."""
    total = {}
    for run in runs:
        for reason, n in run["placements"].items():
            total[reason] = total.get(reason, 0) + n
    return {reason: 100 * n / sum(total.values()) for reason, n in sorted(total.items())}


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def error(played, simulated):
    """Deviation of the simulated value from the played one, in percent."""
    if played == simulated:
        return "0"
    return f"{100 * (simulated - played) / played:+.0f} %" if played else "-"


def compare(played, simulated):
    return {metric: (mean(map(value, played)), mean(map(value, simulated))) for metric, value in METRICS.items()}


def overview(schedulers, compared):
    """Median over the workloads of the deviation of the simulated values from the played ones."""
    lines = ["| | " + " | ".join(schedulers) + " |", "|---|" + "---|" * len(schedulers)]
    for metric in METRICS:
        row = []
        for scheduler in schedulers:
            pairs = [cells[scheduler][metric] for cells in compared if scheduler in cells]
            away = [abs(s - p) / p for p, s in pairs if p]
            row.append(f"{100 * median(away):.0f} %" if away else "-")
        lines.append(f"| {metric} | " + " | ".join(row) + " |")
    row = []
    for scheduler in schedulers:
        pairs = [cells[scheduler]["underload/s"] for cells in compared if scheduler in cells]
        near = [abs(s - p) <= 0.25 * p for p, s in pairs if p]
        row.append(f"{sum(near)} of {len(near)}")
    lines.append("| underload within 25 % | " + " | ".join(row) + " |")
    return [*lines, ""]


def main():
    out = Path(sys.argv[1])
    result, text = {"schema": "hearth.play-and-sim/2", "machines": {}}, []
    for shape in sys.argv[2:]:
        folder = out / shape
        workloads = [line.split()[:2] for line in (folder / "workloads").read_text().splitlines()]
        played = [p.name.removesuffix(".played") for p in folder.glob("*.played")]
        schedulers = sorted(played, key=lambda name: ORDER.index(name.split(":")[0]))
        machine = result["machines"][shape] = {}
        details, compared = [], []
        for name, workload in workloads:
            cells, reasons = {}, []
            for scheduler in schedulers:
                played = list(summaries(folder, name, scheduler, "[0-9]*"))
                simulated = list(summaries(folder, name, scheduler, "sim*"))
                if not played or not simulated:
                    continue
                machine.setdefault(name, {"workload": workload})[scheduler] = {"played": played, "simulated": simulated}
                cells[scheduler] = compare(played, simulated)
                if scheduler != "kernel":
                    reasons.append((scheduler, shares(played), shares(simulated)))
            if not cells:
                continue
            if name not in COSTS:
                compared.append(cells)
            details += [f"### {name}", "", f"`{workload}`", ""]
            details += ["| | " + " | ".join(cells) + " |", "|---|" + "---|" * len(cells)]
            for metric in METRICS:
                row = [f"{number(p)} → {number(s)} ({error(p, s)})" for p, s in (c[metric] for c in cells.values())]
                details.append(f"| {metric} | " + " | ".join(row) + " |")
            details.append("")
            if not reasons:
                continue
            details += [
                "Placements in per cent, played → simulated: "
                + "; ".join(
                    f"*{scheduler}* "
                    + ", ".join(
                        f"{reason} {number(a.get(reason, 0))} → {number(b.get(reason, 0))}" for reason in sorted(a | b)
                    )
                    for scheduler, a, b in reasons
                )
                + ".",
                "",
            ]
        text += [f"## {shape}", "", *overview(schedulers, compared), *details]
    (out / "result.json").write_text(json.dumps(result, indent=1))
    (out / "table.md").write_text("\n".join(text))


# Workloads that measure costs: they are no part of the medians.
COSTS = ("ping-pong", "timer")
# The policies' reasons for moves of ready threads, and the counters of these moves.
MOVES = {"balance": "steals", "moved": "timers_moved"}
ORDER = ["kernel", "eevdf", "cfs", "slocal", "smove", "nest"]

if __name__ == "__main__":
    main()
