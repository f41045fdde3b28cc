#!/usr/bin/env python3
"""gallery.py HEARTH [STORY...]: pictures and numbers of the gallery.

Writes docs/src/img/gallery/STORY.png, lab/results/gallery.csv and the table of docs/src/gallery.md.
"""

import csv
import json
import subprocess
import sys
from functools import reduce
from operator import getitem
from pathlib import Path
from statistics import mean

# Story: workload, machine, policies beside eevdf, flags of the picture. It shows eevdf and the first policy.
STORIES = {
    "configure-php": ("configure-php-16", "xeon-5218", "nest slocal", "--to 300ms"),
    "perl-startup": ("perl-startup-16", "xeon-5218", "smove nest", ""),
    "build-zlib": ("build-zlib-16", "ryzen-4650g", "slocal nest", ""),
    "omp-mg": ("omp-mg-16", "xeon-5218", "nest smove", ""),
    "schbench": ("schbench-16", "xeon-5218", "nest smove", ""),
    "zstd": ("zstd-3-16", "xeon-5218", "nest slocal", ""),
    "node-workers": ("node-workers-16", "xeon-5218", "slocal nest", "--colour-by queue"),
    "redis-and-zstd": ("redis-and-zstd-16", "ryzen-4650g", "nest slocal", ""),
    "rocksdb": ("rocksdb-16", "xeon-5218", "slocal nest", "--colour-by queue"),
    "h2": ("h2-16", "xeon-5218", "nest nest:s_max=0ms", "--from 300ms --to 500ms"),
    "pigz": ("pigz-16", "xeon-5218", "nest cfs", ""),
    "php": ("php-16", "xeon-e7-8870v4", "nest slocal", ""),
}
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/src/gallery.md"
RESULTS = ROOT / "lab/results/gallery.csv"
BEGIN, END = "<!-- made by lab/gallery/run -->\n", "<!-- end -->\n"
PICTURES = ROOT / "docs/src/img/gallery"
TRACES = ROOT / "out/gallery"


def main(hearth: str, wanted: list[str]) -> None:
    if unknown := set(wanted) - STORIES.keys():
        sys.exit(f"error: no story `{unknown.pop()}`\n  help: the stories are: {', '.join(STORIES)}")
    TRACES.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with RESULTS.open(newline="") as file:
        results = list(csv.DictReader(file))
    for story in wanted or STORIES:
        results = [one for one in results if one["story"] != story] + numbers(hearth, story)
        draw(hearth, story)
    results.sort(key=lambda one: list(STORIES).index(one["story"]))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, results[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)
    fill(table(results))


def arguments(story: str, policies: str) -> list[str]:
    workload, machine, _, _ = STORIES[story]
    return ["sim", "-w", workload, "-m", machine, *(word for policy in policies.split() for word in ("-p", policy))]


def numbers(hearth: str, story: str) -> list[dict]:
    """The means of each policy."""
    command = arguments(story, f"eevdf {STORIES[story][2]}")
    output = subprocess.run([hearth, *command, "--json"], check=True, capture_output=True).stdout
    runs: dict[str, list[dict]] = {}
    for run in json.loads(output)["runs"]:
        name = ":".join([run["policy"], *(f"{param}={value}" for param, value in run["params"].items())])
        runs.setdefault(name, []).append(run)
    return [result(story, name, runs["eevdf"], own) for name, own in runs.items()]


def result(story: str, name: str, baseline: list[dict], own: list[dict]) -> dict:
    def of(runs: list[dict], *path: str) -> float:
        return mean(reduce(getitem, path, run) for run in runs)

    workload, machine, _, _ = STORIES[story]
    time, energy = of(own, "time_s"), of(own, "energy_j")
    speedup, saved = of(baseline, "time_s") / time - 1, 1 - energy / of(baseline, "energy_j")
    is_baseline = baseline is own
    return {
        "story": story,
        "workload": workload,
        "machine": machine,
        "policy": name,
        "time_ms": f"{time * 1e3:.0f}",
        "speedup_percent": "" if is_baseline else f"{speedup * 100:+.1f}",
        "energy_j": f"{energy:.3g}",
        "saved_percent": "" if is_baseline else f"{saved * 100:+.1f}",
        "wakeup_mean_us": f"{of(own, 'summary', 'wakeup_latency_us', 'mean'):.0f}",
        "underload_per_s": f"{of(own, 'underload_per_s'):.0f}",
        "overload_core_ms": f"{of(own, 'overload_core_ms'):.1f}",
        "cores": f"{of(own, 'cores_used'):.0f}",
        "ghz": f"{of(own, 'busy_ghz_mean'):.2f}",
    }


def table(results: list[dict]) -> str:
    """A row for each story: `eevdf`, then the others against it."""
    lines = ["| workload | machine | `eevdf` | speed-up, energy saved | |", "|---|---|--:|--:|--:|"]
    for story in STORIES:
        baseline, *others = (one for one in results if one["story"] == story)
        cells = [f"`{baseline['workload']}`", baseline["machine"], f"{baseline['time_ms']} ms"]
        cells += [f"`{one['policy']}` {one['speedup_percent']}%, {one['saved_percent']}%" for one in others]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def fill(rows: str) -> None:
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"error: {PAGE} has no place for the table\n  help: write {BEGIN.strip()} and {END.strip()}")
    PAGE.write_text(f"{before}{begin}\n{rows}\n\n{end}{after}")


def draw(hearth: str, story: str) -> None:
    _, _, policies, flags = STORIES[story]
    names = ["eevdf", policies.split()[0]]
    for name in names:
        subprocess.run(["rm", "-rf", TRACES / name], check=True)
        command = [hearth, *arguments(story, name), "--output", TRACES / name]
        subprocess.run(command, check=True, capture_output=True)
    picture = [
        hearth,
        "picture",
        *names,
        *flags.split(),
        "--size",
        "900",
        "--scale",
        "1",
        "-o",
        PICTURES / f"{story}.png",
    ]
    subprocess.run(picture, check=True, capture_output=True, cwd=TRACES)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
