"""Altair charts of results. Needs the extra `plot`.

from hearth import plot
plot.speedups(hearth.predict("configure:tests=20", "xeon-5218"))
"""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

try:
    import altair as alt
except ImportError as error:
    raise ImportError("hearth.plot needs Altair: pip install 'hearth-sched[plot]'") from error

from ._hearth import COLOURS

if TYPE_CHECKING:
    from .api import Prediction, Study, Trace

__all__ = ["gantt", "speedups", "times"]

_COLOURS = json.loads(COLOURS)
_LIGHT = _COLOURS["light"]
_BAR, _BASELINE, _BEST = _COLOURS["kinds"][0], _COLOURS["baseline"], _LIGHT["accent"]
# More rectangles than this make a notebook unusable.
_MOST_SLICES = 20_000
_FROM_FIRST = alt.Scale(zero=False, nice=False, padding=15)
_ROOM_FOR_LABELS = alt.Scale(nice=False, padding=50)


def gantt(trace: Trace, start_ms: float = 0.0, stop_ms: float | None = None, width: int = 800) -> alt.Chart:
    """Cores over time: when each core ran a thread, coloured by frequency. Cores that ran no thread are left out.

    Args:
        trace: a trace; `hearth view` is for large ones.
        start_ms: begin of the part to draw, in milliseconds.
        stop_ms: its end; that of the trace by default.
        width: width of the time axis in pixels.

    Raises:
        ValueError: the part has too many intervals to draw.
    """
    stop_ms = trace.duration_s * 1e3 if stop_ms is None else stop_ms
    rows = [
        {
            "core": row["core"],
            "thread": f"{row['name'] or ''} ({row['thread']})",
            "begin": max(row["start"] / 1e6, start_ms),
            "end": min(row["stop"] / 1e6, stop_ms),
            "ghz": row["ghz"],
        }
        for row in trace.slices().to_dicts()
        if row["stop"] / 1e6 > start_ms and row["start"] / 1e6 < stop_ms
    ]
    if len(rows) > _MOST_SLICES:
        raise ValueError(
            f"the chart would have {len(rows)} intervals, the maximum is {_MOST_SLICES};"
            " draw a part with start_ms and stop_ms, or use `hearth view`"
        )
    scale = alt.Scale(domain=trace.ghz_range or alt.Undefined, range=_COLOURS["frequency"], interpolate="rgb")
    legend = alt.Legend(format=".1f", values=list(trace.ghz_range or ()) or alt.Undefined)
    known = alt.Color("ghz:Q", title="GHz", scale=scale, legend=legend)
    # A time axis from 0 would waste most of a chart of a late part.
    time = alt.X("begin:Q", title="time (ms)", scale=alt.Scale(domain=[start_ms, stop_ms], nice=False))
    chart = alt.Chart(alt.Data(values=rows)).mark_bar(height=alt.RelativeBandSize(0.9))
    chart = chart.encode(
        x=time,
        x2="end:Q",
        y=alt.Y("core:O", title="core", sort="ascending"),
        color=alt.condition("isValid(datum.ghz)", known, alt.value(_COLOURS["unknown"])),
        tooltip=["thread:N", alt.Tooltip("begin:Q", format=".3f"), alt.Tooltip("end:Q", format=".3f"), "ghz:Q"],
    )
    return chart.properties(width=width, height=alt.Step(14))


def speedups(prediction: Prediction, width: int = 420) -> alt.VConcatChart:
    """Predicted speed-ups over the baseline with their 95% confidence intervals, a panel for each machine."""
    panels = []
    for machine, rows in groupby(prediction.to_dicts(), key=lambda row: row["machine"]):
        baseline, *others = rows
        several = len({row["governor"] for row in others} | {baseline["governor"]}) > 1
        values = [
            {
                "setting": _setting(row, several),
                "value": row["speedup"],
                "low": row["speedup_low"],
                "high": row["speedup_high"],
                "label": f"{row['speedup']:+.1%}".replace("-", "\N{MINUS SIGN}"),
                "end": max(row["speedup"], row["speedup_high"] or 0.0, 0.0),
            }
            for row in others
        ]
        panels.append(_speedups(machine, _setting(baseline, several), values, width))
    return alt.vconcat(*panels)


def _speedups(machine: str, baseline: str, values: list[dict[str, Any]], width: int) -> alt.LayerChart:
    chart = alt.Chart(alt.Data(values=values))
    y = alt.Y("setting:N", title=None, sort=None)
    percent = alt.Axis(format="+.0%")
    bars = chart.mark_bar(color=_BAR, height=alt.RelativeBandSize(0.7)).encode(
        x=alt.X("value:Q", title=f"speed-up over {baseline}", axis=percent, scale=_ROOM_FOR_LABELS), y=y
    )
    intervals = chart.mark_rule(color=_LIGHT["ink"], strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=y)
    labels = chart.mark_text(align="left", dx=5, color=_LIGHT["ink"]).encode(x="end:Q", y=y, text="label:N")
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=_BASELINE).encode(x="zero:Q")
    title = alt.TitleParams(machine, anchor="start")
    return (bars + intervals + labels + zero).properties(width=width, height=alt.Step(24), title=title)


def times(study: Study, width: int = 360, height: int = 220) -> alt.HConcatChart:
    """The mean time of each policy, sorted, a panel for each application. The best policy and the baseline are marked.

    Policies with a run that did not complete are left out.
    """

    def application(row: dict[str, Any]) -> tuple[str, str, str]:
        return (row["workload"], row["machine"], row["governor"])

    panels = []
    for (workload, machine, governor), rows in groupby(study.to_dicts(), key=application):
        means = _means(list(rows))
        if means:
            title = alt.TitleParams(workload, subtitle=f"{machine}, {governor}", anchor="start")
            panels.append(_times(means).properties(width=width, height=height, title=title))
    return alt.hconcat(*panels)


def _means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Policy and mean time of the policies whose runs all completed, the fastest first."""
    first = (rows[0]["policy"], rows[0]["params"])
    means = []
    for key, group in groupby(rows, key=lambda row: (row["policy"], row["params"])):
        seconds = [row["time_s"] for row in group]
        if None not in seconds:
            name = ":".join(filter(None, key))
            means.append({"policy": name, "time": sum(seconds) / len(seconds), "role": "baseline" * (key == first)})
    means.sort(key=lambda one: one["time"])
    for rank, one in enumerate(means, 1):
        one["rank"] = rank
    if means:
        means[0]["role"] = means[0]["role"] or "best"
    return means


def _times(means: list[dict[str, Any]]) -> alt.LayerChart:
    unit, scale = ("s", 1) if means[-1]["time"] >= 1 else ("ms", 1000)
    values = [{**one, "time": one["time"] * scale} for one in means]
    chart = alt.Chart(alt.Data(values=values))
    x = alt.X("rank:Q", title="policies, fastest first", axis=alt.Axis(tickMinStep=1, grid=False), scale=_FROM_FIRST)
    y = alt.Y("time:Q", title=f"mean time ({unit})", scale=alt.Scale(zero=False, padding=20))
    roles = alt.Scale(domain=["", "best", "baseline"], range=[_BAR, _BEST, _BASELINE])
    colour = alt.Color("role:N", scale=roles, legend=None)
    points = chart.mark_point(filled=True, size=45, opacity=1)
    points = points.encode(x=x, y=y, color=colour, tooltip=["policy:N", alt.Tooltip("time:Q", format=".4~g")])
    # The points rise: there is room below the right of a point, and above its left.
    late = f"datum.rank > {len(means) / 2}"
    labels = chart.transform_filter("datum.role != ''").mark_text(
        align=alt.ExprRef(f"{late} ? 'right' : 'left'"), dy=alt.ExprRef(f"{late} ? -14 : 14"), fontWeight="bold"
    )
    labels = labels.encode(x=x, y=y, color=colour, text="policy:N")
    return points + labels


def _setting(row: dict[str, Any], governor: bool) -> str:
    return f"{row['policy']}, {row['governor']}" if governor else row["policy"]
