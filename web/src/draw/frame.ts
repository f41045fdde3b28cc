// What surrounds the rows: axis, titles, labels, the marked area.

import { grouped, length, ticks } from "../model/time";
import { AXIS, GUTTER, labelled, type Bracket, type Panel, type Row } from "../model/layout";
import type { TraceInfo } from "../data/api";
import type { Painter } from "./painter";
import { plotWidth, xOf, type Drawing, type Frame, type Scene, type Source } from "./scene";

/** The axis of time; `rows` says what the rows are. */
export function drawAxis(p: Painter, frame: Frame, rows = ""): void {
  const { theme, span } = frame;
  const width = plotWidth(frame);
  p.rect(0, 0, frame.width, AXIS, theme.paper);
  const { ticks: all, base } = ticks(span.from, span.to, width);
  if (base !== null)
    p.text(GUTTER - 8, 17, `${length(base, 12)} +`, { anchor: "end", fill: theme.quiet, size: 10 });
  else if (rows) p.text(GUTTER - 8, 17, `${rows} / time`, { anchor: "end", fill: theme.quiet, size: 10 });
  for (const tick of all) {
    const x = xOf(frame, tick.time);
    p.line(x, AXIS - 6, x, AXIS, theme.quiet);
    const half = p.measure(tick.label, { fill: "" }) / 2;
    p.text(Math.max(GUTTER + half - 2, Math.min(x, frame.width - half - 4)), 15, tick.label, {
      anchor: "middle",
      fill: theme.ink,
    });
  }
  p.line(0, AXIS - 0.5, frame.width, AXIS - 0.5, theme.line);
}

export function drawGrid(p: Painter, frame: Frame, y: number, h: number): void {
  for (const tick of ticks(frame.span.from, frame.span.to, plotWidth(frame)).ticks) {
    const x = Math.round(xOf(frame, tick.time)) + 0.5;
    p.line(x, y, x, y + h, frame.theme.grid);
  }
}

/** Number of events that the trace lacks. Inferred events were missing, too, but are in the trace. */
export function lostEvents({ lost, inferred }: Pick<TraceInfo, "lost" | "inferred">): number {
  return Math.max(0, lost.reduce((a, b) => a + b, 0) - inferred);
}

export const inferredText = (count: number): string =>
  `${grouped(count)} ${count === 1 ? "event" : "events"} inferred`;

/** What is missing from the trace; empty if it is complete. */
export function lostText(info: TraceInfo): string {
  const lost = lostEvents(info);
  const parts: string[] = [];
  if (lost > 0) {
    const worst = info.lost
      .map((n, core) => [n, core] as const)
      .filter(([n]) => n > 0)
      .sort((a, b) => b[0] - a[0]);
    // The numbers of cores include inferred events.
    const named = worst
      .slice(0, 3)
      .map(([n, core]) => `core ${core}${info.inferred ? "" : `: ${grouped(n)}`}`);
    parts.push(
      `${grouped(lost)} events lost (${named.join(", ")}${worst.length > 3 ? `, ${worst.length - 3} more cores` : ""})`,
    );
  }
  if (!info.complete) parts.push("incomplete: the recording was cut off");
  return parts.join(" · ");
}

/** Width of a warning sign and the gap after it. */
const SIGN = 15;

/** A warning sign on a line of text. It is drawn, because few fonts have it. */
export function drawWarning(p: Painter, x: number, y: number, fill: string, paper: string): void {
  p.shape([x + 5.5, y - 9, x + 11, y + 0.5, x, y + 0.5, x + 5.5, y - 9], { fill });
  p.line(x + 5.5, y - 6, x + 5.5, y - 2.6, paper, 1.2);
  p.line(x + 5.5, y - 1.8, x + 5.5, y - 0.6, paper, 1.2);
}

/** What the API says of a trace whose origin is not known. */
const UNKNOWN_SOURCE = "unknown origin";

/** `64 cores, 48 unused`: the rows of unused cores are folded away. */
function coresText(all: number, shown: number): string {
  const cores = `${all} ${all === 1 ? "core" : "cores"}`;
  return shown < all ? `${cores}, ${all - shown} unused` : cores;
}

export function drawTitle(p: Painter, scene: Scene, source: Source, panel: Panel, y0: number): void {
  const { theme } = scene;
  const { info } = source;
  const y = y0 + panel.titleY + 19;
  const title = { fill: theme.ink, size: 13, weight: 600, most: 340 };
  p.text(10, y, info.name, title);
  let x = 10 + Math.min(340, p.measure(info.name, title)) + 12;
  const facts = [
    info.source === UNKNOWN_SOURCE ? "" : info.source,
    info.machine,
    length(info.duration),
    coresText(info.cores.length, scene.view.rows === "core" ? panel.rows.rows.length : info.cores.length),
    `${grouped(info.events)} ${info.events === 1 ? "event" : "events"}`,
    info.inferred ? inferredText(info.inferred) : "",
  ];
  const quiet = { fill: theme.quiet, size: 11.5 };
  const lost = lostText(info);
  const warn = { fill: theme.warn, size: 11.5, weight: 600 };
  const room = scene.width - 12 - x - (lost ? Math.min(420, SIGN + p.measure(lost, warn)) + 16 : 0);
  // The last facts give way whole.
  const known = facts.filter(Boolean);
  const joined = () => known.join("  ·  ");
  while (known.length > 1 && p.measure(joined(), quiet) > room) known.pop();
  const text = joined();
  p.text(x, y, text, { ...quiet, most: Math.max(0, room) });
  x += Math.min(Math.max(0, room), p.measure(text, quiet)) + 16;
  if (!lost) return;
  drawWarning(p, x, y, warn.fill, theme.paper);
  p.text(x + SIGN, y, lost, { ...warn, most: scene.width - x - SIGN - 8 });
}

export function drawGutter({ p, scene, source, panel, y0, rows }: Drawing): void {
  const byCore = scene.view.rows === "core";
  const dies = panel.rows.brackets.some((b) => b.kind === "llc");
  drawBrackets(p, scene, panel.rows.brackets, y0);
  const seen = new Set(rows);
  const shown = labelled(panel.rows.rows, byCore ? 11 : 12).filter((row) => seen.has(row));
  const some = lostEvents(source.info) > 0;
  const lossy = (row: Row) => byCore && some && (source.info.lost[row.key] ?? 0) > 0;
  drawLabels(p, scene, shown, y0, byCore ? (dies ? 34 : 58) : GUTTER - 14, lossy);
  const style = { fill: scene.theme.ink, size: 10, most: GUTTER - 10 } as const;
  for (const row of rows) if (row.header) p.text(6, y0 + row.y - 4, row.header, style);
}

/** Sockets and dies at the left of their rows. */
export function drawBrackets(p: Painter, frame: Frame, brackets: readonly Bracket[], y0: number): void {
  const { theme, height } = frame;
  const last = { socket: -Infinity, llc: -Infinity };
  for (const bracket of brackets) {
    const socket = bracket.kind === "socket";
    const x = socket ? 8 : 36;
    const [top, bottom] = [y0 + bracket.y, y0 + bracket.y + bracket.h];
    if (bottom < AXIS || top > height) continue;
    const stroke = socket ? theme.quiet : theme.line;
    p.line(x + 19.5, top + 0.5, x + 19.5, bottom - 0.5, stroke, socket ? 1.5 : 2);
    // The label stays in sight while its rows are.
    const middle = (Math.max(top, AXIS) + Math.min(bottom, height)) / 2;
    const fill = socket ? theme.ink : theme.quiet;
    // One row may be lower than its label; the gaps beside it have room.
    const size = bracket.h >= 8 ? 10.5 : LOW_LABEL;
    if (middle - last[bracket.kind] < size - 2) continue;
    last[bracket.kind] = middle;
    p.text(x + 14, middle + size * 0.38, bracket.label, { anchor: "end", fill, size });
  }
}

/** Size of the label of a bracket that is lower than a label. */
const LOW_LABEL = 9;

export function drawLabels(
  p: Painter,
  frame: Frame,
  rows: readonly Row[],
  y0: number,
  most: number,
  warn: (row: Row) => boolean,
): void {
  for (const row of rows) {
    const fill = warn(row) ? frame.theme.warn : frame.theme.quiet;
    const style = { anchor: "end", fill, size: 10, most } as const;
    const y = y0 + row.y + row.h / 2 + 3.7;
    p.text(GUTTER - 8, y, row.label, style);
    if (warn(row))
      drawWarning(p, GUTTER - 8 - SIGN - p.measure(row.label, style), y, fill, frame.theme.paper);
  }
}

/** The end of a trace inside the window. */
export function drawEnd(p: Painter, frame: Frame, duration: number, y: number, h: number): void {
  const x = xOf(frame, duration);
  if (x < GUTTER || x > GUTTER + plotWidth(frame)) return;
  const { theme } = frame;
  p.line(x + 0.5, y, x + 0.5, y + h, theme.quiet, 1);
  const label = `end, ${length(duration)}`;
  if (x + 8 + p.measure(label, { fill: "" }) < frame.width)
    p.text(x + 6, y + h / 2 + 4, label, { fill: theme.quiet });
}

/** The rows that are not part of the area: their tops and heights. */
function outside({ view, panels }: Scene): [number, number][] {
  const { area } = view;
  if (!area?.cores || view.rows !== "core") return [];
  const inside = new Set(area.cores);
  return panels.flatMap(({ trace, y, rowsY, rows }) => {
    const top = AXIS + y + rowsY - view.scroll;
    if (trace !== area.trace) return [[top, rows.height] as [number, number]];
    const runs: [number, number][] = [];
    rows.rows.forEach((row, i) => {
      if (inside.has(row.key)) return;
      const end = rows.rows[i + 1]?.y ?? rows.height;
      const open = runs[runs.length - 1];
      if (open && open[0] + open[1] === top + row.y) open[1] += end - row.y;
      else runs.push([top + row.y, end - row.y]);
    });
    return runs;
  });
}

export function drawArea(p: Painter, scene: Scene): void {
  const { area } = scene.view;
  if (!area) return;
  const [left, right] = [GUTTER, GUTTER + plotWidth(scene)];
  const [x0, x1] = [Math.max(left, xOf(scene, area.from)), Math.min(right, xOf(scene, area.to))];
  if (x1 < left || x0 > right) return;
  const { theme } = scene;
  p.rect(left, AXIS, x0 - left, scene.height - AXIS, theme.shade);
  p.rect(x1, AXIS, right - x1, scene.height - AXIS, theme.shade);
  for (const [top, h] of outside(scene)) p.rect(x0, top, x1 - x0, h, theme.shade);
  p.line(x0, AXIS - 8, x0, scene.height, theme.accent, 1.5);
  p.line(x1, AXIS - 8, x1, scene.height, theme.accent, 1.5);
  const label = length(area.to - area.from, 4);
  const style = {
    fill: theme.paper,
    size: 11,
    weight: 600,
    anchor: "middle" as const,
  };
  const w = p.measure(label, style) + 14;
  const middle = Math.max(left + w / 2, Math.min(right - w / 2, (x0 + x1) / 2));
  p.line(x0, AXIS - 3, x1, AXIS - 3, theme.accent, 1.5);
  p.rect(middle - w / 2, AXIS - 12, w, 17, theme.accent);
  p.text(middle, AXIS + 0.5, label, style);
}
