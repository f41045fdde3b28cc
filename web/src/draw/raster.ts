// Cells as pixels: one column for each bin, and the rows at their height on the screen. Drawing
// stretches the picture in time, never in height.

import { BINS } from "../model/levels";
import {
  INVERSION,
  OVERLOAD,
  UNKNOWN,
  hashed,
  kind,
  looking,
  mix,
  numbered,
  pack,
  queued,
  rgb,
  setColour,
  type Look,
  type Rgb,
  type Theme,
} from "../model/colour";
import type { Field, FieldArray, Fields } from "../data/api";
import type { Row } from "../model/layout";
import type { Colour, Mark } from "../model/state";

export interface Style {
  colour: Colour;
  marks: readonly Mark[];
  theme: Theme;
  /** The colour of a frequency. */
  frequency: (mhz: number) => Rgb;
  /** How filter and selection show a thread; `null`: all have their full colour. */
  look: ((thread: number) => Look) | null;
  /** The selected thread. */
  selected: number | null;
  /** The number of the colour of the program that a thread runs, if it is known yet. */
  program: (thread: number) => number | null;
  sets: number;
}

/** The field that decides the colour. */
const OF_COLOUR: Record<Colour, Field> = {
  frequency: "mhz",
  queue: "queue",
  thread: "thread",
  process: "thread",
  reason: "reason",
};

export function fieldsFor(style: {
  colour: Colour;
  marks: readonly Mark[];
  look: unknown;
  sets: number;
}): Field[] {
  const fields: Field[] = ["busy", OF_COLOUR[style.colour], "spin"];
  if (style.marks.includes("overload")) fields.push("overload");
  if (style.marks.includes("inversion")) fields.push("inverted");
  if (style.sets > 0) fields.push("sets");
  if (style.look && !fields.includes("thread")) fields.push("thread");
  return fields;
}

/** How the parts of a row share its height, in device pixels. */
export interface Parts {
  /** Too low for parts: each column has one colour. */
  flat: boolean;
  top: number;
  band: number;
  bar: number;
}

export function parts(h: number, sets: boolean, ratio: number): Parts {
  if (h < 4 * ratio) return { flat: true, top: 0, band: 0, bar: h };
  const band = !sets
    ? 0
    : h >= 14 * ratio
      ? Math.round(3 * ratio)
      : h >= 8 * ratio
        ? Math.round(2 * ratio)
        : Math.max(1, Math.round(ratio));
  const top = h >= 10 * ratio ? Math.max(1, Math.round(ratio)) : 0;
  return { flat: false, top, band, bar: h - band - top };
}

/** The background of a row: tinted while the core belongs to a set. */
export function rowColour(sets: number, theme: Theme): Rgb {
  const set = lowestBit(sets);
  return set < 0 ? theme.row : mix(theme.row, setColour(set, theme), theme.dark ? 0.2 : 0.16);
}

export function lowestBit(bits: number): number {
  return bits === 0 ? -1 : 31 - Math.clz32(bits & -bits);
}

/** The colour of a cell, from the value of its field. */
export function colourOf(value: number, style: Style): Rgb {
  const { theme } = style;
  if (style.colour === "queue") return queued(value, theme);
  if (value === 0) return UNKNOWN;
  switch (style.colour) {
    case "frequency":
      return style.frequency(value);
    case "thread":
      return hashed(value, theme);
    case "process": {
      const number = style.program(value);
      return number === null ? UNKNOWN : numbered(number, theme);
    }
    case "reason":
      return kind(value - 1);
  }
}

/** Packed colours, each computed once. */
function palette(style: Style): (value: number, look: Look) => number {
  const known = { full: new Map<number, number>(), dimmed: new Map<number, number>() };
  const foreign = pack(style.theme.foreign);
  return (value, look) => {
    if (look === "foreign") return foreign;
    let packed = known[look].get(value);
    if (packed === undefined)
      known[look].set(value, (packed = pack(looking(colourOf(value, style), look, style.theme))));
    return packed;
  };
}

/** The pattern of threads that are not of the command: lines of this period in pixels, the last of which is empty. */
export const STRIPES = 6;

/** The pattern of spinning: a line with teeth. The first half of each period is a tooth; lengths in pixels. */
export const TEETH = { period: 8, height: 3 };
/** The same in bins, which are one to two pixels wide. */
const TOOTH_BINS = 4;

const at = (array: FieldArray | undefined, i: number): number => (array ? array[i]! : 0);

export function raster(
  fields: Fields,
  rows: readonly Row[],
  ratio: number,
  style: Style,
  columns = BINS,
): ImageData {
  const top = Math.round(rows[0]!.y * ratio);
  const last = rows[rows.length - 1]!;
  const height = Math.max(1, Math.round((last.y + last.h) * ratio) - top);
  const picture = new ImageData(columns, height);
  const pixels = new Uint32Array(picture.data.buffer);
  const colours = palette(style);
  for (const row of rows) {
    const from = Math.round(row.y * ratio) - top;
    const to = Math.round((row.y + row.h) * ratio) - top;
    if (to > from) paintRow(pixels, columns, from, to, row.key * columns, fields, ratio, style, colours);
  }
  return picture;
}

function paintRow(
  pixels: Uint32Array,
  columns: number,
  from: number,
  to: number,
  cell: number,
  fields: Fields,
  ratio: number,
  style: Style,
  colours: (value: number, look: Look) => number,
): void {
  const { theme } = style;
  const h = to - from;
  const p = parts(h, style.sets > 0, ratio);
  const values = fields[OF_COLOUR[style.colour]]!;
  const busyOf = fields.busy!;
  const [overload, inversion] = [pack(OVERLOAD), pack(INVERSION)];
  const [spin, select] = [pack(rgb(theme.spinning)), pack(rgb(theme.select))];
  const pixel = Math.max(1, Math.round(ratio));
  const tooth = h >= 8 * ratio ? TEETH.height * pixel : pixel;
  const backs = new Map<number, number>();
  const base = to - p.band;
  // Short bursts stay visible.
  const least = Math.min(p.bar, Math.round(2 * ratio));
  const fill = (x: number, a: number, b: number, colour: number) => {
    for (let y = a, i = a * columns + x; y < b; y++, i += columns) pixels[i] = colour;
  };
  for (let x = 0; x < columns; x++) {
    const i = cell + x;
    const busy = busyOf[i]!;
    const sets = at(fields.sets, i);
    let back = backs.get(sets);
    if (back === undefined) backs.set(sets, (back = pack(rowColour(sets, theme))));
    fill(x, from, to, back);
    if (p.band > 0 && sets !== 0) fill(x, base, to, pack(setColour(lowestBit(sets), theme)));
    const over = at(fields.overload, i);
    const inverted = at(fields.inverted, i);
    const spins = at(fields.spin, i);
    if (busy > 0) {
      const thread = at(fields.thread, i);
      const look = style.look ? style.look(thread) : "full";
      const colour = colours(values[i]!, look);
      if (p.flat)
        fill(
          x,
          from,
          to,
          over >= 24 ? overload : inverted >= 128 ? inversion : blend(back, colour, 0.3 + (0.7 * busy) / 255),
        );
      else {
        const top = base - Math.max(least, Math.round((p.bar * busy) / 255));
        fill(x, top, base, colour);
        if (look === "foreign")
          for (let y = base - STRIPES * pixel; y >= top; y -= STRIPES * pixel) fill(x, y, y + pixel, back);
        if (thread === style.selected && h >= 6 * ratio) fill(x, top, top + pixel, select);
      }
    }
    if (spins > 0 && busy < 250 && !p.flat)
      fill(x, base - ((x & (TOOTH_BINS - 1)) * 2 < TOOTH_BINS ? tooth : pixel), base, spin);
    if (p.flat) continue;
    if (over >= 3)
      fill(x, from, from + Math.max(Math.round(1.5 * ratio), Math.round((h * 0.35 * over) / 255)), overload);
    if (inverted >= 3) fill(x, base - Math.max(1, Math.round((h * 0.22 * inverted) / 255)), base, inversion);
  }
}

/** Mixes two packed opaque colours. */
function blend(a: number, b: number, share: number): number {
  const part = (shift: number) =>
    Math.round(((a >>> shift) & 255) * (1 - share) + ((b >>> shift) & 255) * share) << shift;
  return (0xff000000 | part(16) | part(8) | part(0)) >>> 0;
}
