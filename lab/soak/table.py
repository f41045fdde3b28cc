#!/usr/bin/env python3
"""table.py FOLDER [PAGE.md]: a matrix of policies and loads for each kernel, from the logs that lab/soak/run left as
FOLDER/KERNEL/POLICY.log.

Writes FOLDER/soak.md, or renews PAGE.md between `<!-- made by lab/soak/run -->` and `<!-- end -->`. The page keeps what
has no log: matrices of other kernels, and cells of other policies and loads.
Fails if a policy was ejected, or threads were lost.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

BEGIN, END = "<!-- made by lab/soak/run -->\n", "<!-- end -->\n"
# A gap is conspicuous if it is this many times that of the kernel's own scheduler, and longer than this many ms. The
# host makes gaps, too, except in guests that count instructions.
TIMES, LEAST, LEAST_COUNTED = 3, 300, 100
COUNTED = ", time by instructions"
# Rows that have one number: loaders that another one replaced, and lines of the kernel's log.
COUNTS = REPLACED, WARNINGS = "loaders replaced", "warnings, stalls, lockups"


@dataclass
class Matrix:
    """The guests of one kernel."""

    kernel: str
    ran: str
    # columns[policy][load]: longest gap in ms, least share in %, lost threads. Or one number, in the last rows.
    columns: dict
    # Why the kernel ejected a policy.
    failed: dict

    def add(self, newer):
        """Takes the cells of a newer matrix of this kernel."""
        if self.ran != newer.ran:
            sys.exit(f"error: Linux {self.kernel}: the page and the logs are of different runs: {self.ran} {newer.ran}")
        self.columns |= {policy: self.columns.get(policy, {}) | column for policy, column in newer.columns.items()}
        failed = {policy: reason for policy, reason in self.failed.items() if policy not in newer.columns}
        self.failed = failed | newer.failed

    def long(self, load, gap):
        least = LEAST_COUNTED if self.kernel.endswith(COUNTED) else LEAST
        return gap > max(least, TIMES * self.columns["kernel"][load][0])

    def cell(self, policy, load):
        cell = self.columns[policy].get(load, "-")
        if not isinstance(cell, tuple):
            return str(cell)
        gap, least, lost = cell
        text = f"**{gap}** / {least}" if self.long(load, gap) else f"{gap} / {least}"
        return f"{text}, *lost {lost}*" if lost else text

    def bad(self):
        return self.failed or any(cell[2] for column in self.columns.values() for cell in loads(column).values())

    def text(self):
        names = list(dict.fromkeys(load for column in self.columns.values() for load in loads(column)))
        if alone := [load for load in names if load not in self.columns.get("kernel", {})]:
            sys.exit(f"error: Linux {self.kernel}: run {', '.join(alone)} with POLICIES=kernel first, to compare with")
        policies = sorted(self.columns, key=lambda policy: (policy != "kernel", f"{policy}.ipa"))
        lines = [f"## Linux {self.kernel}", "", self.ran, "", row(["load", *policies])]
        lines.append("|---|" + "---:|" * len(policies))
        lines += [row([name, *(self.cell(policy, name) for policy in policies)]) for name in [*names, *COUNTS]]
        lines += [f"\nFailed: {policy} {reason}" for policy, reason in self.failed.items()]
        return "\n".join(lines) + "\n"


def loads(column):
    return {name: cell for name, cell in column.items() if name not in COUNTS}


def row(cells):
    return "| " + " | ".join(cells) + " |"


def of_logs(folder):
    """The matrix of a kernel's logs."""
    columns, failed, ran = {}, {}, set()
    for log in sorted(folder.glob("*.log")):
        column = columns[log.stem] = {}
        lines = [line.split(maxsplit=1) for line in log.read_text().splitlines() if line.strip()]
        if ["end"] not in lines:
            sys.exit(f"error: the soak of {log.stem} on Linux {folder.name} did not end")
        for word, *rest in lines:
            words = " ".join(rest).split()
            if word == "each":
                ran.add(f"Each cell took {words[0]} s; seed {words[2]}.")
            elif word == "cell":
                gap, least, _, lost = map(int, words[2:])
                column[words[1]] = gap, least, lost
            elif word == "replaced":
                column[REPLACED] = int(words[1])
            elif word == "ended":
                failed.setdefault(log.stem, " ".join(words[1:]))
        dmesg = log.with_suffix(".dmesg").read_text(errors="replace")
        column[WARNINGS] = len(re.findall(r"WARNING|BUG:|rcu_.* stall|soft lockup|hung task", dmesg))
    if len(ran) != 1:
        sys.exit(f"error: {folder} has logs of different runs; remove it, or the older ones: {' '.join(sorted(ran))}")
    return Matrix(folder.name.replace("-icount", COUNTED), ran.pop(), columns, failed)


def of_page(text):
    """The matrix that `Matrix.text` wrote."""
    kernel, _, ran, _, head, _, *rows = text.splitlines()
    columns = {policy: {} for policy in split(head)[1:]}
    for load, *cells in (split(line) for line in rows if line.startswith("|")):
        for policy, cell in zip(columns, cells):
            numbers = [int(number) for number in re.findall(r"\d+", cell)]
            if len(numbers) == 1:
                columns[policy][load] = numbers[0]
            elif numbers:
                columns[policy][load] = (*numbers, 0)[:3]
    failed = dict(line.split(maxsplit=2)[1:] for line in rows if line.startswith("Failed: "))
    return Matrix(kernel.removeprefix("## Linux "), ran, columns, failed)


def split(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def renewed(page, matrices):
    """The page's text, with the matrices renewed."""
    before, begin, rest = page.read_text().partition(BEGIN)
    old, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"error: {page} has no lines {BEGIN.strip()} and {END.strip()}")
    texts = re.findall(r"^## Linux .*?(?=^## |\Z)", old, flags=re.MULTILINE | re.DOTALL)
    kept = [of_page(text) for text in texts]
    for matrix in kept:
        if matrix.kernel in matrices:
            matrix.add(matrices[matrix.kernel])
    matrices = matrices | {matrix.kernel: matrix for matrix in kept}
    return f"{before}{begin}\n{joined(matrices)}\n{end}{after}"


def joined(matrices):
    return "\n".join(matrices[kernel].text() for kernel in sorted(matrices, key=version, reverse=True))


def version(kernel):
    number, comma, _ = kernel.partition(",")
    return [int(part) for part in number.split(".")], not comma


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    found = [of_logs(path) for path in folder.iterdir() if any(path.glob("*.log"))]
    if not found:
        sys.exit(f"error: {folder} has no logs; lab/soak/run makes them")
    matrices = {matrix.kernel: matrix for matrix in found}
    if len(sys.argv) == 3:
        page = Path(sys.argv[2])
        page.write_text(renewed(page, matrices))
    else:
        (folder / "soak.md").write_text(joined(matrices))
    bad = [matrix.kernel for matrix in found if matrix.bad()]
    if bad:
        sys.exit(f"error: Linux {', '.join(bad)}: a policy was ejected, or threads were lost")


if __name__ == "__main__":
    main()
