#!/usr/bin/env python3
"""table.py OUT SHAPE...: medians of the intervals between kernel events that lab/costs/run recorded, as a table.

An interval contains one event's own cost; the row "getppid" is that and the shortest system call.
"""

import re
import sys
from pathlib import Path
from statistics import median

LINE = re.compile(r"\s*(.*)-(\d+)\s+\[\d+\]\s+\S+\s+(\d+): (\w+): (.*)")
FORK, EXEC, GETPPID, EXIT, FUTEX = {"56", "57", "435"}, {"59"}, {"110"}, {"231"}, {"202"}
# Each row: its load, and what it is.
ROWS = {
    "getppid": ("fork", "`getppid`: mostly the cost of recording, which is in all rows"),
    "fork": ("fork", "`fork`, in the parent"),
    "place": ("fork", "of it, to place and queue the child: `sched_process_fork` to `sched_wakeup_new`"),
    "exec": ("fork", "`execve` of a static program in memory"),
    "exit": ("fork", "`exit_group` to the wake-up of the parent"),
    "leave": ("fork", "that wake-up to the last switch"),
    "wake": ("wake", "a futex's wake-up of a thread, all other CPUs idle"),
    "hand over": ("wake", "its `sched_waking` to the switch away from the waker, which sleeps"),
    "wake busy": ("busy", "the wake-up while all CPUs are busy"),
}
ORDER = ["kernel", "eevdf", "cfs", "slocal", "smove", "nest"]


def events(path, khz):
    """Command, thread, time in ns, name and details of each event."""
    for line in path.read_text(errors="replace").splitlines():
        if found := LINE.match(line):
            comm, thread, clock, name, detail = found.groups()
            yield comm, thread, int(clock) * 1e6 / khz, name, detail


def intervals(path, khz):
    """The durations of each row, in ns."""
    load = path.name.split(".")[0]
    times, entered, waking, forked = {row: [] for row in ROWS}, {}, {}, {}
    for comm, thread, time, name, detail in events(path, khz):
        if comm != "load":
            continue
        number = detail.split()[1] if name.startswith("sys_") else ""
        since = entered.get(thread, ("", 0))
        if name == "sys_enter":
            entered[thread] = (number, time)
        elif name == "sys_exit" and since[0] == number:
            # A child returns from its parent's fork without having entered.
            for row, numbers in ("getppid", GETPPID), ("fork", FORK), ("exec", EXEC):
                if number in numbers:
                    times[row].append(time - since[1])
            # A futex call in which the thread woke another.
            if number in FUTEX and waking.get(thread, 0) > since[1] and load != "fork":
                times["wake busy" if load == "busy" else "wake"].append(time - since[1])
        elif name == "sched_process_fork":
            forked[thread] = time
        elif name == "sched_wakeup_new" and thread in forked:
            times["place"].append(time - forked.pop(thread))
        elif name == "sched_waking":
            waking[thread] = time
            if since[0] in EXIT:
                times["exit"].append(time - since[1])
        elif name == "sched_switch" and thread in waking:
            state = re.search(r"prev_state=(\w)", detail)[1]
            woke = waking.pop(thread)
            if state in "XZ":
                times["leave"].append(time - woke)
            elif state == "S" and load == "wake":
                times["hand over"].append(time - woke)
    return times


def main():
    out = Path(sys.argv[1])
    for shape in sys.argv[2:]:
        folder = out / shape
        khz = int((folder / "khz").read_text())
        schedulers = [name for name in ORDER if (folder / f"fork.{name}.events").exists()]
        measured = {
            (load, name): intervals(folder / f"{load}.{name}.events", khz)
            for name in schedulers
            for load in ("fork", "wake", "busy")
        }
        print(f"**{shape}**\n\n| ns | " + " | ".join(schedulers) + " |\n|---|" + "--:|" * len(schedulers))
        for row, (load, what) in ROWS.items():
            cells = [measured[load, name][row] for name in schedulers]
            print(f"| {what} | " + " | ".join(f"{median(cell):.0f}" if cell else "-" for cell in cells) + " |")
        print()


if __name__ == "__main__":
    main()
