#!/usr/bin/env python3
"""table.py FOLDER [PAGE.md]: the matrices of the kernels of which scripts/soak left a log in FOLDER.

Writes FOLDER/soak.md, or renews PAGE.md between `<!-- made by scripts/soak -->` and `<!-- end -->`. The page keeps the
matrices of other kernels.
Fails if a policy was ejected, or threads were lost.
"""

import re
import sys
from pathlib import Path

BEGIN, END = "<!-- made by scripts/soak -->\n", "<!-- end -->\n"
# A gap is conspicuous if it is this many times that of the kernel's own scheduler, and longer than this many ms. The
# host makes gaps, too, except in guests that count instructions.
TIMES, LEAST, LEAST_COUNTED = 3, 300, 100


class Soak:
    """What the guests of one kernel printed, one for each policy."""

    def __init__(self, log):
        self.kernel = log.stem.replace("-icount", ", time by instructions")
        self.least = LEAST_COUNTED if log.stem.endswith("-icount") else LEAST
        lines = [line.split(maxsplit=1) for line in log.read_text().splitlines()]
        self.cells = {}
        for policy, load, *numbers in (rest[0].split() for word, *rest in lines if word == "cell"):
            self.cells[policy, load] = [int(number) for number in numbers]
        self.each, self.seed = next(rest[0].split(" seed ") for word, *rest in lines if word == "each")
        self.replaced = [rest[0] for word, *rest in lines if word == "replaced"]
        self.ended = [rest[0] for word, *rest in lines if word == "ended"]
        words = [line[0] for line in lines if line]
        self.complete = 0 < words.count("each") == words.count("end")
        dmesg = log.with_suffix(".dmesg").read_text(errors="replace")
        self.complaints = len(re.findall(r"WARNING|BUG:|rcu_.* stall|soft lockup|hung task", dmesg))

    def cell(self, policy, load):
        if (policy, load) not in self.cells:
            return "-"
        gap, least, _, lost = self.cells[policy, load]
        long = gap > max(self.least, TIMES * self.cells["kernel", load][0])
        text = f"**{gap}** / {least}" if long else f"{gap} / {least}"
        return f"{text}, *lost {lost}*" if lost else text

    def lost(self):
        return sum(cell[3] for cell in self.cells.values())

    def text(self):
        policies = list(dict.fromkeys(policy for policy, _ in self.cells))
        loads = list(dict.fromkeys(load for _, load in self.cells))
        lines = [f"## Linux {self.kernel}", "", f"Each cell took {self.each} s; seed {self.seed}.", ""]
        lines += [row(["load", *policies]), "|---|" + "---:|" * len(policies)]
        lines += [row([load, *(self.cell(policy, load) for policy in policies)]) for load in loads]
        if self.replaced:
            lines += ["", f"Loaders that another one replaced: {', '.join(self.replaced)}."]
        lines += ["", *(f"Failed: {reason}\n" for reason in self.ended)]
        lines += [f"Lines of the kernel log with a warning, a stall or a lockup: {self.complaints}."]
        return "\n".join(lines) + "\n"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    soaks = sorted((Soak(log) for log in folder.glob("*.log")), key=lambda soak: version(soak.kernel), reverse=True)
    incomplete = [soak.kernel for soak in soaks if not soak.complete]
    if incomplete or not soaks:
        sys.exit(f"error: the soak of Linux {', '.join(incomplete) or '?'} did not end")
    matrices = {soak.kernel: soak.text() for soak in soaks}
    if len(sys.argv) == 3:
        renew(Path(sys.argv[2]), matrices)
    else:
        (folder / "soak.md").write_text("\n".join(matrices.values()))
    bad = [soak.kernel for soak in soaks if soak.ended or soak.lost()]
    if bad:
        sys.exit(f"error: Linux {', '.join(bad)}: a policy was ejected, or threads were lost")


def renew(page, matrices):
    before, begin, rest = page.read_text().partition(BEGIN)
    old, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"error: {page} has no lines {BEGIN.strip()} and {END.strip()}")
    kept = re.findall(r"^(## Linux ([^\n]+)\n.*?)\s*(?=^## |\Z)", old, flags=re.MULTILINE | re.DOTALL)
    matrices = {kernel: f"{text}\n" for text, kernel in kept} | matrices
    text = "\n".join(matrices[kernel] for kernel in sorted(matrices, key=version, reverse=True))
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def version(kernel):
    number, comma, _ = kernel.partition(",")
    return [int(part) for part in number.split(".")], not comma


if __name__ == "__main__":
    main()
