// Strips below the rows, of the whole machine: underload, runnable threads, cores used, core sets, and power.

import type { Field } from "../data/api";
import { watts } from "../model/energy";
import { BINS, binWidth } from "../model/levels";
import { niceStep } from "../model/time";
import { css, setColour } from "../model/colour";
import { GUTTER } from "../model/layout";
import type { Strip } from "../model/state";
import type { Painter } from "./painter";
import { pieces, plotWidth, xOf, type Drawing, type Frame, type Scene, type Source } from "./scene";

const FIELD: Record<Exclude<Strip, "power">, Field> = {
  underload: "underload",
  runnable: "runnable",
  cores_used: "cores_used",
  sets: "set_sizes",
};
export const NAME: Record<Strip, string> = {
  underload: "underload",
  runnable: "runnable",
  cores_used: "cores used",
  sets: "sets",
  power: "power, W",
};

export const STRIP_FIELDS: readonly Field[] = ["underload", "runnable", "cores_used"];

/** The largest value in each pixel column; NaN where it is unknown. */
function columns(scene: Scene, source: Source, strip: keyof typeof FIELD, set: number): Float32Array {
  const width = Math.ceil(plotWidth(scene));
  const out = new Float32Array(width).fill(NaN);
  const field = FIELD[strip];
  for (const { tile, span } of pieces(scene, source, [field])) {
    const values = tile.fields[field]!;
    const bin = binWidth(tile.level);
    const first = Math.max(0, Math.floor(xOf(scene, Math.max(span.from, scene.span.from)) - GUTTER));
    const last = Math.min(width, Math.ceil(xOf(scene, Math.min(span.to, scene.span.to)) - GUTTER));
    const perPixel = (scene.span.to - scene.span.from) / plotWidth(scene) / bin;
    for (let x = first; x < last; x++) {
      const at = (scene.span.from - tile.span.from) / bin + x * perPixel;
      const from = Math.max(0, Math.floor(at));
      const to = Math.min(BINS, Math.max(from + 1, Math.floor(at + perPixel)));
      let most = Number.isNaN(out[x]!) ? -1 : out[x]!;
      for (let b = from; b < to; b++) most = Math.max(most, values[set * BINS + b]!);
      if (most >= 0) out[x] = most;
    }
  }
  return out;
}

/** Mean power in each pixel column, in watts; NaN where it is unknown. */
function powerColumns(scene: Scene, { info }: Source): Float32Array {
  const { from, to } = scene.span;
  const perPixel = (to - from) / plotWidth(scene);
  return Float32Array.from({ length: Math.ceil(plotWidth(scene)) }, (_, x) =>
    watts(info.energy, from + x * perPixel, from + (x + 1) * perPixel),
  );
}

type Drawn = Record<Strip, Float32Array[]>;

export interface StripData {
  /** One entry for each trace. */
  columns: Partial<Drawn>[];
  /** The end of the scale, which all traces share. */
  most: Partial<Record<Strip, number>>;
}

export function stripData(scene: Scene): StripData {
  const data: StripData = { columns: [], most: {} };
  for (const source of scene.sources) {
    const drawn: Partial<Drawn> = {};
    for (const strip of scene.view.strips) {
      const count = strip === "sets" ? source.info.sets.length : 1;
      drawn[strip] =
        strip === "power"
          ? [powerColumns(scene, source)]
          : Array.from({ length: count }, (_, set) => columns(scene, source, strip, set));
      const most = drawn[strip]!.reduce((m, values) => values.reduce((a, b) => (b > a ? b : a), m), 0);
      data.most[strip] = Math.max(data.most[strip] ?? 0, most);
    }
    data.columns.push(drawn);
  }
  for (const strip of scene.view.strips) data.most[strip] = niceTop(data.most[strip] ?? 0);
  return data;
}

/** A round end for a scale that has to show `most`. */
export function niceTop(most: number): number {
  if (most <= 1) return most <= 0 ? 1 : most <= 0.2 ? 0.2 : most <= 0.5 ? 0.5 : 1;
  const step = niceStep(most / 5);
  return Math.ceil(most / step - 1e-6) * step;
}

export function drawStrips({ p, scene, source, panel, top: y0 }: Drawing, data: StripData): void {
  const { theme } = scene;
  for (const { strip, y, h } of panel.strips) {
    const [top, bottom] = [y0 + y, y0 + y + h];
    const most = data.most[strip] ?? 1;
    const names =
      strip === "sets"
        ? source.info.sets.map((name, set) => [name, css(setColour(set, theme))] as const)
        : [[NAME[strip], theme.quiet] as const];
    drawScale(p, scene, top, bottom, most, names);
    (data.columns[source.index]?.[strip] ?? []).forEach((values, set) => {
      const yOf = (value: number) => bottom - (value / most) * (h - 2);
      if (strip === "sets") line(p, values, yOf, css(setColour(set, theme)));
      else bars(p, values, yOf, bottom, strip === "underload" ? theme.underload : theme.strip);
      if (strip === "underload") hatch(p, GUTTER, values, yOf, bottom, theme.paper);
    });
  }
}

/** Base line, names and the ends of the scale of a strip. */
export function drawScale(
  p: Painter,
  frame: Frame,
  top: number,
  bottom: number,
  most: number,
  names: readonly (readonly [string, string])[],
): void {
  const { theme } = frame;
  p.line(GUTTER, bottom + 0.5, GUTTER + plotWidth(frame), bottom + 0.5, theme.line);
  names.slice(0, 2).forEach(([name, fill], i, all) => {
    const y = bottom - 1 - (all.length - 1 - i) * 11;
    p.text(GUTTER - 26, y, name, { anchor: "end", fill, size: 10.5, most: GUTTER - 34 });
  });
  const style = { anchor: "end", fill: theme.quiet, size: 9.5 } as const;
  p.text(GUTTER - 5, top + 8, String(Math.round(most * 100) / 100), style);
  p.text(GUTTER - 5, bottom, "0", style);
}

export function bars(
  p: Painter,
  values: Float32Array,
  yOf: (value: number) => number,
  bottom: number,
  fill: string,
): void {
  let start = 0;
  for (let x = 1; x <= values.length; x++) {
    if (x < values.length && values[x] === values[start]) continue;
    if (values[start]! > 0)
      p.rect(GUTTER + start, yOf(values[start]!), x - start, bottom - yOf(values[start]!), fill);
    start = x;
  }
}

/** Pixels from one line of the pattern of underload to the next. */
export const HATCH = 4;

/** The pattern of underload: vertical lines in the colour of the paper. They leave peaks of a pixel. */
export function hatch(
  p: Painter,
  left: number,
  values: Float32Array,
  yOf: (value: number) => number,
  bottom: number,
  paper: string,
): void {
  for (let x = HATCH - 1; x + 1 < values.length; x += HATCH) {
    const least = Math.min(values[x - 1]!, values[x]!, values[x + 1]!);
    if (least > 0) p.rect(left + x, yOf(least), 1, bottom - yOf(least), paper);
  }
}

function line(p: Painter, values: Float32Array, yOf: (value: number) => number, stroke: string): void {
  let points: number[] = [];
  const flush = () => {
    if (points.length >= 4) p.shape(points, { stroke, width: 1.5 });
    points = [];
  };
  values.forEach((value, x) => {
    if (Number.isNaN(value)) return flush();
    const y = yOf(value);
    const n = points.length;
    if (n >= 4 && points[n - 1] === y && points[n - 3] === y) points[n - 2] = GUTTER + x + 1;
    else points.push(GUTTER + x, y, GUTTER + x + 1, y);
  });
  flush();
}
