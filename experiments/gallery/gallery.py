#!/usr/bin/env python3
"""gallery.py HEARTH [STORY...]: numbers and pictures of docs/src/gallery.md."""

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
PICTURES = ROOT / "docs/src/img/gallery"
TRACES = ROOT / "out/gallery"


def main(hearth: str, wanted: list[str]) -> None:
    if unknown := set(wanted) - STORIES.keys():
        sys.exit(f"error: no story `{unknown.pop()}`\n  help: the stories are: {', '.join(STORIES)}")
    TRACES.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    text = PAGE.read_text()
    for story in wanted or STORIES:
        text = replace(text, story, numbers(hearth, story))
        draw(hearth, story)
    PAGE.write_text(text)


def arguments(story: str, policies: str) -> list[str]:
    workload, machine, _, _ = STORIES[story]
    return ["sim", "-w", workload, "-m", machine, *(word for policy in policies.split() for word in ("-p", policy))]


def numbers(hearth: str, story: str) -> str:
    """The command, and a table with a row for each policy."""
    command = arguments(story, f"eevdf {STORIES[story][2]}")
    output = subprocess.run([hearth, *command, "--json"], check=True, capture_output=True).stdout
    results = json.loads(output)
    runs: dict[str, list[dict]] = {}
    for run in results["runs"]:
        name = ":".join([run["policy"], *(f"{param}={value}" for param, value in run["params"].items())])
        runs.setdefault(name, []).append(run)
    rows = "".join(row(name, runs["eevdf"], own) for name, own in runs.items())
    head = (
        "| policy | time | speed-up | energy | saved | wake-up p50, p99 | underload | overload | cores | GHz |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    return f"```sh\nhearth {' '.join(command)}\n```\n\n{head}{rows}"


def row(name: str, baseline: list[dict], own: list[dict]) -> str:
    def of(runs: list[dict], *path: str) -> float:
        return mean(reduce(getitem, path, run) for run in runs)

    time, energy = of(own, "time_s"), of(own, "energy_j")
    p50, p99 = (of(own, "summary", "wakeup_latency_us", name) for name in ("p50", "p99"))
    is_baseline = baseline is own
    cells = [
        f"`{name}`",
        f"{time * 1e3:.0f} ms",
        "" if is_baseline else f"{(of(baseline, 'time_s') / time - 1) * 100:+.1f}%",
        f"{energy:.3g} J",
        "" if is_baseline else f"{(1 - energy / of(baseline, 'energy_j')) * 100:+.1f}%",
        f"{p50:.0f}, {p99:.0f} us",
        f"{of(own, 'underload_per_s'):.0f}/s",
        f"{of(own, 'overload_core_ms'):.1f} core·ms",
        f"{of(own, 'cores_used'):.0f}",
        f"{of(own, 'busy_ghz_mean'):.2f}",
    ]
    return f"| {' | '.join(cells)} |\n"


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


def replace(text: str, story: str, block: str) -> str:
    before, begin, rest = text.partition(f"<!-- {story} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not end:
        sys.exit(f"error: {PAGE} has no place for `{story}`\n  help: write `<!-- {story} -->` and `<!-- end -->`")
    return f"{before}{begin}\n{block}\n{end}{after}"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
