// Rows made of tiles, for windows with too many events to draw each.

import { Lru } from "../data/cache";
import { FIELDS, type Field, type FieldArray, type Fields } from "../data/api";
import type { Tile } from "../data/tiles";
import { BINS, binWidth } from "../model/levels";
import { css, INVERSION, looking, OVERLOAD, pack, rgb, setColour, type Rgb } from "../model/colour";
import { GUTTER, bands, type Panel, type Row } from "../model/layout";
import { colourOf, fieldsFor, lowestBit, parts, raster, rowColour, TEETH, type Style } from "./raster";
import type { Painter } from "./painter";
import { pieces, plotWidth, xOf, type Drawing, type Piece, type Scene, type Source } from "./scene";

const pictures = new Lru<OffscreenCanvas>(64 << 20, (canvas) => (canvas.width = 0));

export const pictureBytes = () => pictures.bytes;

/** Grows when names, theme, layout or style change; cached pictures are then stale. */
let epoch = 0;
let epochKey = "";

export function styleEpoch(key: string): void {
  if (key === epochKey) return;
  epochKey = key;
  epoch++;
}

function picture(
  trace: number,
  tile: Tile,
  band: readonly Row[],
  ratio: number,
  style: Style,
): OffscreenCanvas {
  const key = `${epoch} ${trace}/${tile.level}/${tile.index} ${tile.version} ${band[0]!.y}`;
  const known = pictures.get(key);
  if (known) return known;
  const finer = finerFor(band, ratio);
  const drawn = raster(tile.fields, band, ratio * finer, style);
  const pixels = finer === 1 ? drawn : shrink(drawn, [0, BINS], BINS, finer, rgb(style.theme.paper));
  const canvas = new OffscreenCanvas(pixels.width, pixels.height);
  canvas.getContext("2d")!.putImageData(pixels, 0, 0);
  pictures.set(key, canvas, pixels.data.length);
  return canvas;
}

/** Rows that are lower than a pixel are drawn this many times higher, then averaged. */
function finerFor(rows: readonly Row[], ratio: number): number {
  return Math.max(1, Math.ceil(1 / (rows[0]!.h * ratio)));
}

/** The rows of a panel that are inside the canvas. */
export function rowsSeen(scene: Scene, panel: Panel, top: number): Row[] {
  const y0 = panel.y + panel.rowsY - scene.view.scroll + top;
  return panel.rows.rows.filter((row) => y0 + row.y + row.h > top && y0 + row.y < scene.height);
}

export function drawEmptyRows({ p, scene, source, panel, y0, rows }: Drawing): void {
  const from = Math.max(GUTTER, xOf(scene, 0));
  const to = Math.min(GUTTER + plotWidth(scene), xOf(scene, source.info.duration));
  if (to <= from) return;
  const fill = css(scene.theme.row);
  if ((panel.rows.rows[0]?.h ?? 0) < 3) {
    const [first, last] = [rows[0], rows[rows.length - 1]];
    if (first && last) p.rect(from, y0 + first.y, to - from, last.y + last.h - first.y, fill);
    return;
  }
  for (const row of rows) p.rect(from, y0 + row.y, to - from, row.h, fill);
}

export function drawCells({ p, scene, source, y0, rows }: Drawing): void {
  const style = scene.styles[source.index]!;
  const all = rows.length ? scene.panels[source.index]!.rows.rows : [];
  // Rows that share pixels are in one band.
  const most = (all[0]?.h ?? 1) < 1 ? Infinity : Math.max(32, Math.floor(256 / scene.ratio));
  const seen = bands(all, most).filter(
    (band) => band[band.length - 1]!.y >= rows[0]!.y && band[0]!.y <= rows[rows.length - 1]!.y,
  );
  for (const piece of pieces(scene, source, fieldsFor(style))) {
    const [x0, x1] = [xOf(scene, piece.span.from), xOf(scene, piece.span.to)];
    const [b0, b1] = binsOf(piece);
    for (const band of seen) {
      const image = picture(source.index, piece.tile, band, scene.ratio, style);
      const y = Math.round((y0 + band[0]!.y) * scene.ratio) / scene.ratio;
      // Neighbours overlap by half a device pixel, which hides seams.
      p.image(image, b0, b1 - b0, x0, y, x1 - x0 + 0.5 / scene.ratio, image.height / scene.ratio);
    }
  }
}

/** All cells of a panel as one picture with the pixels of the device: without seams and smoothing. */
export function drawWhole({ p, scene, source, y0, rows }: Drawing): void {
  const style = scene.styles[source.index]!;
  const fields = fieldsFor(style);
  const all = pieces(scene, source, fields).filter(({ id, tile }) => tile.level === id.level);
  if (all.length === 0 || rows.length === 0) return;
  const finer = finerFor(rows, scene.ratio);
  const columns = BINS * all.length;
  const pixels = raster(joined(all, fields, source), rows, scene.ratio * finer, style, columns);
  const start = all[0]!.span.from;
  const bin = binWidth(all[0]!.tile.level);
  const from = Math.max(scene.span.from, 0);
  const to = Math.min(scene.span.to, source.info.duration);
  const [x0, x1] = [xOf(scene, from), xOf(scene, to)];
  const width = Math.max(1, Math.round((x1 - x0) * scene.ratio));
  const shrunk = shrink(
    pixels,
    [(from - start) / bin, (to - start) / bin],
    width,
    finer,
    rgb(scene.theme.paper),
  );
  const canvas = new OffscreenCanvas(shrunk.width, shrunk.height);
  canvas.getContext("2d")!.putImageData(shrunk, 0, 0);
  const y = Math.round((y0 + rows[0]!.y) * scene.ratio) / scene.ratio;
  p.image(canvas, 0, width, x0, y, x1 - x0, shrunk.height / scene.ratio);
}

/** The fields of adjacent tiles, as those of one wide tile. */
function joined(all: readonly Piece[], fields: readonly Field[], source: Source): Fields {
  const columns = BINS * all.length;
  const out: Record<string, FieldArray> = {};
  for (const field of fields) {
    const wide = new FIELDS[field](columns * source.info.cores.length);
    all.forEach(({ tile }, i) => {
      const cells = tile.fields[field]!;
      for (let core = 0; core < source.info.cores.length; core++)
        wide.set(cells.subarray(core * BINS, (core + 1) * BINS), core * columns + i * BINS);
    });
    out[field] = wide;
  }
  return out as Fields;
}

/** The columns from `a` to `b` in another width, and every `rows` rows as one. Pixels are averaged; gaps get a colour. */
function shrink(
  { data, width: columns, height }: ImageData,
  [a, b]: [number, number],
  width: number,
  rows: number,
  gap: Rgb,
): ImageData {
  const from = new Uint32Array(data.buffer);
  const out = new ImageData(width, Math.max(1, Math.ceil(height / rows)));
  const to = new Uint32Array(out.data.buffer);
  const step = (b - a) / width;
  const empty = pack(gap);
  const [left, right] = [new Uint32Array(width), new Uint32Array(width)];
  for (let x = 0; x < width; x++) {
    left[x] = Math.min(columns - 1, Math.floor(a + x * step + (step < 1 ? step / 2 : 0)));
    right[x] = Math.min(columns, Math.max(left[x]! + 1, step < 1 ? 0 : Math.floor(a + (x + 1) * step)));
  }
  for (let y = 0, i = 0; y < out.height; y++) {
    const last = Math.min(height, (y + 1) * rows) * columns;
    for (let x = 0; x < width; x++, i++) {
      let n = 0;
      let red = 0;
      let green = 0;
      let blue = 0;
      let pixel = 0;
      for (let row = y * rows * columns; row < last; row += columns)
        for (let at = row + left[x]!, end = row + right[x]!; at < end; at++, n++) {
          pixel = from[at]! || empty;
          red += pixel & 255;
          green += (pixel >>> 8) & 255;
          blue += (pixel >>> 16) & 255;
        }
      // Most pixels are not averaged. Rounded by adding a half: this runs millions of times.
      to[i] =
        n === 1
          ? pixel
          : ((255 << 24) | ((blue / n + 0.5) << 16) | ((green / n + 0.5) << 8) | (red / n + 0.5)) >>> 0;
    }
  }
  return out;
}

/** The bins of the drawn tile that a piece covers; fractions if a coarser tile stands in. */
function binsOf({ span, tile }: Piece): [number, number] {
  const width = binWidth(tile.level);
  const from = (span.from - tile.span.from) / width;
  const to = Math.min(BINS, (span.to - tile.span.from) / width);
  return [from, Math.max(to, from + 0.01)];
}

/** Calls `run` for each run of equal cells of a core. */
function runs(
  piece: Piece,
  core: number,
  value: (cell: number) => number,
  run: (from: number, to: number, value: number) => void,
): void {
  const width = binWidth(piece.tile.level);
  const [b0, b1] = binsOf(piece);
  const [first, last] = [Math.floor(b0), Math.ceil(b1)];
  const time = (bin: number) =>
    Math.min(piece.span.to, Math.max(piece.span.from, piece.tile.span.from + bin * width));
  let start = first;
  let open = value(core * BINS + first);
  for (let bin = first + 1; bin <= last; bin++) {
    const next = bin < last ? value(core * BINS + bin) : NaN;
    if (next === open) continue;
    if (open > 0) run(time(start), time(bin), open);
    [start, open] = [bin, next];
  }
}

/** Core sets behind slices. */
export function drawSets({ p, scene, source, y0, rows }: Drawing): void {
  const { theme } = scene;
  if (source.info.sets.length === 0) return;
  for (const piece of pieces(scene, source, ["sets"])) {
    const { sets } = piece.tile.fields;
    for (const row of rows) {
      const { flat, band } = parts(row.h, true, 1);
      runs(
        piece,
        row.key,
        (cell) => sets![cell]!,
        (from, to, bits) => {
          // Whole device pixels hide seams.
          const [x, end] = [from, to].map(
            (time) => Math.round(xOf(scene, time) * scene.ratio) / scene.ratio,
          ) as [number, number];
          const w = end - x;
          p.rect(x, y0 + row.y, w, row.h, css(rowColour(bits, theme)));
          if (!flat && band > 0)
            p.rect(x, y0 + row.y + row.h - band, w, band, css(setColour(lowestBit(bits), theme)));
        },
      );
    }
  }
}

/** Overload, inversion and spinning on top of slices. */
export function drawMarks({ p, scene, source, y0, rows }: Drawing): void {
  const draw = (
    field: "overload" | "inverted" | "spin",
    least: number,
    paint: (row: Row, x: number, w: number) => void,
  ) => {
    for (const piece of pieces(scene, source, [field])) {
      const cells = piece.tile.fields[field]!;
      for (const row of rows)
        runs(
          piece,
          row.key,
          (cell) => (cells[cell]! >= least ? 1 : 0),
          (from, to) => {
            const x = xOf(scene, from);
            paint(row, x, Math.max(0.75, xOf(scene, to) - x));
          },
        );
    }
  };
  const base = (row: Row) => y0 + row.y + row.h - parts(row.h, source.info.sets.length > 0, 1).band;
  const { marks } = scene.view;
  draw("spin", 64, (row, x, w) => teeth(p, x, w, base(row), row.h, scene.theme.spinning));
  if (marks.includes("overload"))
    draw("overload", 64, (row, x, w) =>
      p.rect(x, y0 + row.y, w, Math.max(1, Math.min(4, row.h * 0.2)), css(OVERLOAD)),
    );
  if (marks.includes("inversion"))
    draw("inverted", 64, (row, x, w) => {
      const h = Math.max(1, Math.min(3, row.h * 0.16));
      p.rect(x, base(row) - h, w, h, css(INVERSION));
    });
}

/** The pattern of spinning, as [`raster`] draws it: a line above `base` with teeth. */
export function teeth(p: Painter, x: number, w: number, base: number, h: number, fill: string): void {
  const { period, height } = TEETH;
  p.rect(x, base - 1, w, 1, fill);
  if (h < 8) return;
  for (let at = Math.ceil(x / period) * period; at < x + w; at += period)
    p.rect(at, base - height, Math.min(period / 2, x + w - at), height, fill);
}

/** The value of a field at a time, from the finest loaded tile. */
export function cellAt(
  scene: Scene,
  source: Source,
  field: "queue" | "mhz" | "reason" | "thread" | "sets",
  core: number,
  time: number,
): number {
  for (const id of pieces(scene, source, [field])) {
    if (time < id.span.from || time >= id.span.to) continue;
    const width = binWidth(id.tile.level);
    const bin = Math.min(BINS - 1, Math.floor((time - id.tile.span.from) / width));
    return id.tile.fields[field]![core * BINS + bin]!;
  }
  return 0;
}

// ---- rows that are threads, processes or programs -------------------------------------------------------------

export interface Stay {
  key: number;
  core: number;
  thread: number;
  from: number;
  to: number;
  colour: number;
}

/** Where threads ran. Each cell counts for the thread that ran longest in it. */
export function stays(scene: Scene, source: Source, keyOf: (thread: number) => number): Stay[] {
  const style = scene.styles[source.index]!;
  const fields = [...new Set([...fieldsFor(style), "thread" as const])];
  const valueField = fields[1]!;
  const out: Stay[] = [];
  for (const piece of pieces(scene, source, fields)) {
    const threads = piece.tile.fields.thread!;
    const values = piece.tile.fields[valueField]!;
    const width = binWidth(piece.tile.level);
    for (let core = 0; core < source.info.cores.length; core++) {
      runs(
        piece,
        core,
        (cell) => threads[cell]!,
        (from, to, thread) => {
          if (!scene.view.selection && style.look && style.look(thread) !== "full") return;
          const bin = Math.min(BINS - 1, Math.floor(((from + to) / 2 - piece.tile.span.from) / width));
          out.push({ key: keyOf(thread), core, thread, from, to, colour: values[core * BINS + bin]! });
        },
      );
    }
  }
  return out;
}

/** A row for each of the busiest threads, in order of appearance. */
export function rowsOf(
  all: readonly Stay[],
  label: (thread: number) => string,
  most = 120,
): { key: number; label: string }[] {
  const sums = new Map<number, { time: number; first: number; thread: number }>();
  for (const stay of all) {
    const sum = sums.get(stay.key);
    if (!sum) sums.set(stay.key, { time: stay.to - stay.from, first: stay.from, thread: stay.thread });
    else {
      sum.time += stay.to - stay.from;
      sum.first = Math.min(sum.first, stay.from);
    }
  }
  return [...sums]
    .sort((a, b) => b[1].time - a[1].time)
    .slice(0, most)
    .sort((a, b) => a[1].first - b[1].first || a[0] - b[0])
    .map(([key, { thread }]) => ({ key, label: label(thread) }));
}

export function drawStays({ p, scene, source, y0, rows }: Drawing, all: readonly Stay[]): void {
  const style = scene.styles[source.index]!;
  const by = new Map(rows.map((row) => [row.key, row]));
  for (const stay of all) {
    const row = by.get(stay.key);
    if (!row) continue;
    const x = xOf(scene, stay.from);
    p.rect(
      x,
      y0 + row.y + (row.h >= 5 ? 1 : 0),
      Math.max(0.6, xOf(scene, stay.to) - x),
      row.h - (row.h >= 5 ? 2 : 0),
      css(looking(colourOf(stay.colour, style), style.look ? style.look(stay.thread) : "full", scene.theme)),
    );
  }
}
