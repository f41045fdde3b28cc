// Slices with names and signs, for windows with few events.

import type { EventMark, Slice } from "../data/api";
import { join, type Chunk } from "../data/chunks";
import { css, inkOn, looking, mix, rgb, type Look, type Rgb, type Theme } from "../model/colour";
import { GUTTER, type Row } from "../model/layout";
import type { Mark } from "../model/state";
import { cellAt } from "./cells";
import type { Painter } from "./painter";
import { colourOf, parts, STRIPES } from "./raster";
import { plotWidth, xOf, type Drawing, type Scene, type Source } from "./scene";

/** Least mean distance of the signs in a row, in pixels. Denser rows have no signs. */
const PIXELS_EACH = 16;

export interface Shown {
  slices: Slice[];
  marks: EventMark[];
}

/** The slices and marks in the window. Slices that chunks cut are joined. */
export function shownSlices(scene: Scene, chunks: readonly Chunk[]): Shown {
  const { from, to } = scene.span;
  return {
    slices: join(chunks).filter((s) => s.to > from && s.from < to),
    marks: chunks.flatMap((c) => c.marks).filter((m) => m.time >= from && m.time <= to),
  };
}

export type RowOf = (core: number, thread: number) => Row | undefined;

const lookOf = (scene: Scene, source: Source, thread: number): Look =>
  scene.styles[source.index]!.look?.(thread) ?? "full";

/** The full colour of a slice. */
function sliceColour(scene: Scene, source: Source, slice: Slice): Rgb {
  const style = scene.styles[source.index]!;
  switch (style.colour) {
    case "frequency":
      return colourOf(Math.round(slice.khz / 1000), style);
    case "queue":
      return colourOf(cellAt(scene, source, "queue", slice.core, (slice.from + slice.to) / 2), style);
    case "reason":
      return colourOf(
        slice.reason === undefined || slice.reason === null
          ? cellAt(scene, source, "reason", slice.core, slice.from)
          : slice.reason + 1,
        style,
      );
    default:
      return colourOf(slice.thread, style);
  }
}

export function drawSlices({ p, scene, source, y0 }: Drawing, rowOf: RowOf, { slices, marks }: Shown): void {
  // Names avoid the signs in the middle of a row.
  const signs = new Map(
    [...signsOf(scene, source, rowOf, marks)].map(([row, list]) => [
      row,
      list.filter((m) => !EDGE.includes(m.kind)).map((m) => xOf(scene, m.time)),
    ]),
  );
  const selected = scene.view.selection?.trace === source.index ? scene.view.selection : null;
  const right = GUTTER + plotWidth(scene);
  for (const slice of slices) {
    const row = rowOf(slice.core, slice.thread);
    if (!row) continue;
    const [x0, x1] = [
      Math.max(GUTTER - 2, xOf(scene, slice.from)),
      Math.min(right + 2, xOf(scene, slice.to)),
    ];
    const { band, top } = parts(row.h, source.info.sets.length > 0, 1);
    const [y, h] = [y0 + row.y + top, Math.max(1, row.h - band - top - (band ? 1 : 0))];
    const look = lookOf(scene, source, slice.thread);
    const colour = looking(sliceColour(scene, source, slice), look, scene.theme);
    const w = Math.max(0.75, x1 - x0 - (x1 - x0 > 3 ? 0.75 : 0));
    p.rect(x0, y, w, h, css(colour));
    if (look === "foreign") stripes(p, x0, y, w, h, scene.theme);
    const mine = selected?.thread === slice.thread;
    if (mine && h >= 3) {
      const chosen = selected.time === slice.from && selected.core === slice.core;
      p.frame(x0, y, Math.max(w, 2), h, scene.theme.select, chosen ? 2 : 1);
    }
    if (w > 22 && h >= 10) {
      const size = Math.min(11, h - 1);
      const name = source.threads.name(slice.thread);
      let x = Math.max(x0, GUTTER) + 4;
      // Leave room for a sign at the slice's start.
      for (const sign of signs.get(row) ?? []) if (sign > x - 8 && sign < x + 6) x = sign + 8;
      const next = (signs.get(row) ?? []).reduce(
        (least, sign) => (sign > x && sign - 6 < least ? sign - 6 : least),
        x1 - 4,
      );
      p.text(x, y + h / 2 + size * 0.36, name, {
        fill: inkOn(colour),
        size,
        most: Math.max(0, next - x),
        ...(mine ? { weight: 600 } : {}),
      });
    }
  }
}

/** The pattern of threads that are not of the command, as [`raster`] draws it. */
export function stripes(p: Painter, x: number, y: number, w: number, h: number, { row }: Theme): void {
  for (let at = h - STRIPES; at >= 0; at -= STRIPES) p.rect(x, y + at, w, 1, css(row));
}

const GLYPH: Record<string, Mark> = {
  fork: "fork",
  exec: "exec",
  exit: "exit",
  migrate: "migrate",
  wakeup: "wakeup",
  place: "place",
};

/** Signs at the edge of a row, where names do not reach. */
const EDGE = ["wakeup", "place"];

/** The core in whose row a mark is drawn. */
export function coreOf(mark: EventMark): number {
  const there = mark.kind === "wakeup" || mark.kind === "place" || mark.kind === "migrate";
  return there && mark.target !== undefined && mark.target !== null ? mark.target : mark.core;
}

/** The signs of each row that have room: all, only the rare kinds, or none. */
function signsOf(
  scene: Scene,
  source: Source,
  rowOf: RowOf,
  marks: readonly EventMark[],
): Map<Row, EventMark[]> {
  const rows = new Map<Row, EventMark[]>();
  for (const mark of marks) {
    const kind = GLYPH[mark.kind];
    if (!kind || !scene.view.marks.includes(kind) || lookOf(scene, source, mark.thread) !== "full") continue;
    const row = rowOf(coreOf(mark), mark.thread);
    if (!row || row.h < 6) continue;
    const list = rows.get(row);
    if (list) list.push(mark);
    else rows.set(row, [mark]);
  }
  const most = plotWidth(scene) / PIXELS_EACH;
  for (const [row, all] of rows) {
    if (all.length <= most) continue;
    const rare = all.filter((mark) => !EDGE.includes(mark.kind));
    rows.set(row, rare.length <= most ? rare : []);
  }
  return rows;
}

export function drawGlyphs(
  { p, scene, source, y0 }: Drawing,
  rowOf: RowOf,
  marks: readonly EventMark[],
): void {
  const { theme } = scene;
  for (const [row, list] of signsOf(scene, source, rowOf, marks)) {
    for (const mark of list)
      glyph(p, mark.kind, xOf(scene, mark.time), y0 + row.y, row.h, theme.ink, theme.paper);
  }
}

/** Draws the sign of an event in a row or in the legend. */
export function glyph(
  p: Painter,
  kind: string,
  x: number,
  y: number,
  h: number,
  ink: string,
  paper: string,
): void {
  const r = Math.max(2, Math.min(4, h * 0.24));
  const middle = y + h / 2;
  const halo = { fill: ink, stroke: paper, width: 1 };
  switch (kind) {
    case "fork":
      return p.shape([x, middle - r, x + r * 1.1, middle + r, x - r * 1.1, middle + r, x, middle - r], halo);
    case "exec":
      return p.shape(
        [
          x,
          middle - r * 1.2,
          x + r * 1.2,
          middle,
          x,
          middle + r * 1.2,
          x - r * 1.2,
          middle,
          x,
          middle - r * 1.2,
        ],
        halo,
      );
    case "exit":
      p.line(x - r, middle - r, x + r, middle + r, paper, 3);
      p.line(x - r, middle + r, x + r, middle - r, paper, 3);
      p.line(x - r, middle - r, x + r, middle + r, ink, 1.5);
      return p.line(x - r, middle + r, x + r, middle - r, ink, 1.5);
    case "migrate":
      p.line(x - r * 1.6, middle, x + r, middle, paper, 3.5);
      p.line(x - r * 1.6, middle, x + r * 0.4, middle, ink, 1.5);
      return p.shape([x + r * 1.4, middle, x, middle - r, x, middle + r, x + r * 1.4, middle], halo);
    case "wakeup":
      return p.shape([x - r * 0.8, y, x + r * 0.8, y, x, y + r * 1.3, x - r * 0.8, y], { fill: ink });
    case "place":
      return p.disc(x, y + h - r * 0.9, r * 0.55, { fill: ink });
  }
}

// ---- wake-ups -----------------------------------------------------------------------------------

/** Arrows from wakers to the selected thread, and from its selected slice to threads that it woke. */
export function drawArrows({ p, scene, source, y0 }: Drawing, rowOf: RowOf, slices: readonly Slice[]): void {
  const selected = scene.view.selection;
  if (!selected || selected.trace !== source.index) return;
  let drawn = 0;
  for (const slice of slices) {
    const wake = slice.wake;
    if (!wake || drawn > 200) continue;
    const to = rowOf(slice.core, slice.thread);
    const mine = slice.thread === selected.thread;
    const woken = wake.waker === selected.thread && wake.waker !== null;
    if (!to || !(mine || woken)) continue;
    drawn++;
    const waker =
      wake.waker === null
        ? null
        : slices.find((s) => s.thread === wake.waker && s.from <= wake.time && wake.time <= s.to);
    const from = waker ? rowOf(waker.core, waker.thread) : rowOf(wake.core, wake.waker ?? slice.thread);
    const strong = mine
      ? selected.time === undefined || (selected.time === slice.from && selected.core === slice.core)
      : waker?.from === selected.time;
    arrow(
      p,
      scene,
      xOf(scene, wake.time),
      y0 + (from ?? to).y + (from ?? to).h / 2,
      xOf(scene, slice.from),
      y0 + to.y + to.h / 2,
      strong,
      wake.waker === null,
    );
  }
}

function arrow(
  p: Painter,
  scene: Scene,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  strong: boolean,
  interrupt: boolean,
): void {
  const { theme } = scene;
  const colour = strong ? theme.accent : css(mix(rgb(theme.accent), theme.row, 0.35));
  const width = strong ? 2 : 1.25;
  const bend = Math.max(10, Math.abs(x1 - x0) / 2);
  p.curve([x0, y0, x0 + bend, y0, x1 - bend, y1, x1 - 1, y1], theme.paper, width + 2);
  p.curve([x0, y0, x0 + bend, y0, x1 - bend, y1, x1 - 1, y1], colour, width);
  p.disc(
    x0,
    y0,
    strong ? 3 : 2.2,
    interrupt ? { fill: theme.paper, stroke: colour, width: 1.5 } : { fill: colour },
  );
  const r = strong ? 4.5 : 3.5;
  p.shape([x1, y1, x1 - r * 1.5, y1 - r, x1 - r * 1.5, y1 + r, x1, y1], { fill: colour });
}
