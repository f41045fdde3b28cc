#!/usr/bin/env python3
"""machine.py SHAPE [KEY=VALUE ...]: prints the machine file of a guest of lab/play-and-sim/run.

SHAPE is SOCKETSxCORES, with `x2` for two hyperthreads in each core, and `-one-node` for last-level caches that share a
NUMA node in place of sockets: 2x16, 1x8x2, 2x8-one-node. A KEY is that of a measured cost in vm.toml.
"""

import re
import sys
from pathlib import Path


def main():
    shape, *costs = sys.argv[1:]
    match = re.fullmatch(r"(\d+)x(\d+)(x2)?(-one-node)?", shape)
    if not match:
        sys.exit(f"error: no shape {shape}: write 1x4, 2x16, 1x8x2 or 2x8-one-node")
    packages, cores = int(match[1]), int(match[2])
    sockets, caches = (1, packages) if match[4] else (packages, 1)
    text = Path(__file__).with_name("vm.toml").read_text()
    values = {
        "name": f'"vm-{shape}"',
        "sockets": sockets,
        "llcs_per_socket": caches,
        "cores_per_socket": cores * caches,
        "threads_per_core": 2 if match[3] else 1,
        "numa_distances": [[10 if a == b else 20 for b in range(sockets)] for a in range(sockets)],
    }
    for key, value in [*values.items(), *(cost.split("=") for cost in costs)]:
        text, found = re.subn(rf"^{key} = .*", f"{key} = {value}", text, count=1, flags=re.MULTILINE)
        if not found:
            sys.exit(f"error: vm.toml has no line `{key} = `")
    print(turbo(text, cores * caches), end="")


def turbo(text, cores):
    """Cuts the turbo table to this number of cores."""
    limits = re.findall(r"cores = (\d+), khz = ([\d_]+)", text)
    last = next(index for index, (covered, _) in enumerate(limits) if int(covered) >= cores)
    rows = [*limits[:last], (cores, limits[last][1])]
    table = "".join(f"  {{ cores = {covered}, khz = {khz} }},\n" for covered, khz in rows)
    return re.sub(r"(?<=limits = \[\n).*?(?=\])", table, text, flags=re.DOTALL)


if __name__ == "__main__":
    main()
