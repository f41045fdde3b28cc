// The layout of the canvas in CSS pixels. Each trace has a panel with a title, rows, and strips.

import type { Core, TraceInfo } from "../data/api";
import { first } from "./bisect";
import type { Group, Height, Strip } from "./state";

export const GUTTER = 96;
export const AXIS = 26;
export const RIGHT = 14;
const TITLE = 30;
export const BELOW_ROWS = 6;
const BELOW_PANEL = 14;
export const STRIP = 34;
const STRIP_GAP = 5;
/** Most pixels that a strip gets of the room that the rows leave. */
const MOST_EXTRA = 40;
/** Height of the track of a pinned or selected thread. */
const TRACK = 18;

export interface Row {
  /** A core, a thread, a process (below 0), or the hash of a program's name. */
  key: number;
  label: string;
  /** Above the row: the process of the rows from here on. */
  header?: string;
  /** From the top of the panel's rows. */
  y: number;
  h: number;
}

/** Rows that share a socket or a die. */
export interface Bracket {
  kind: "socket" | "llc";
  label: string;
  y: number;
  h: number;
}

export interface Rows {
  rows: Row[];
  brackets: Bracket[];
  height: number;
}

export interface StripPlace {
  strip: Strip;
  y: number;
  h: number;
}

export interface Panel {
  trace: number;
  /** From the top of the first panel. */
  y: number;
  titleY: number;
  rowsY: number;
  rows: Rows;
  /** The tracks of pinned threads and of the selected one. */
  tracks: { thread: number; y: number; h: number }[];
  strips: StripPlace[];
  height: number;
}

const HEIGHT: Record<Exclude<Height, "fit">, number> = { small: 5, normal: 12, large: 24 };
/** Heights of rows that fit the window. Below a pixel, cores share pixels. Above `most`, strips grow first. */
const FIT = { least: 0.25, most: 160 };

/** Height of a header, and the least height of rows that have one above them. */
const HEADER = 15;
const LEAST_HEADED = 8;

interface Unit {
  key: number;
  label: string;
  /** Empty pixels above the row. */
  gap: number;
  header?: string;
  socket?: number;
  llc?: number;
}

/** Cores ordered so that those of a group are adjacent. */
export function order(
  cores: readonly Core[],
  group: readonly Group[],
  shown: (core: number) => boolean,
): number[] {
  const by: ((c: Core) => number)[] = [];
  if (group.includes("socket")) by.push((c) => c.socket);
  if (group.includes("llc")) by.push((c) => c.llc);
  if (group.includes("physical")) by.push((c) => c.physical);
  const compare = (a: number, b: number) => {
    for (const key of by) {
      const difference = key(cores[a]!) - key(cores[b]!);
      if (difference !== 0) return difference;
    }
    return a - b;
  };
  return cores
    .map((_, core) => core)
    .filter(shown)
    .sort(compare);
}

export function coreUnits(
  cores: readonly Core[],
  group: readonly Group[],
  shown: (core: number) => boolean,
): Unit[] {
  const sockets = group.includes("socket");
  const dies =
    group.includes("llc") && new Set(cores.map((c) => c.llc)).size > new Set(cores.map((c) => c.socket)).size;
  const pairs = group.includes("physical") && new Set(cores.map((c) => c.physical)).size < cores.length;
  let before: Core | null = null;
  return order(cores, group, shown).map((core) => {
    const at = cores[core]!;
    let gap = 0;
    if (before) {
      if (sockets && at.socket !== before.socket) gap = 8;
      else if (dies && at.llc !== before.llc) gap = 4;
      else if (pairs && at.physical !== before.physical) gap = 1;
    }
    before = at;
    const unit: Unit = { key: core, label: String(core), gap };
    if (sockets) unit.socket = at.socket;
    if (dies) unit.llc = at.llc;
    return unit;
  });
}

/** Least distance of two sockets of low rows: both have a label. */
const SOCKET = 11;

/** Rows of one height. SMT pairs are set apart only if the rows are high enough. */
export function place(units: readonly Unit[], h: number): Rows {
  const rows: Row[] = [];
  let [y, socket] = [0, 0];
  for (const [i, unit] of units.entries()) {
    const gap = unit.gap === 1 ? (h >= 7 ? 2 : h >= 4 ? 1 : 0) : h >= 3 ? unit.gap : Math.min(unit.gap, 3);
    y += unit.header && h >= LEAST_HEADED ? HEADER : gap;
    if (i > 0 && unit.socket !== units[i - 1]!.socket) socket = y = Math.max(y, socket + SOCKET);
    const header = unit.header && h >= LEAST_HEADED ? { header: unit.header } : {};
    rows.push({ key: unit.key, label: unit.label, y, h, ...header });
    y += h;
  }
  return { rows, brackets: [...brackets("socket", units, rows), ...brackets("llc", units, rows)], height: y };
}

function brackets(kind: "socket" | "llc", units: readonly Unit[], rows: readonly Row[]): Bracket[] {
  const out: Bracket[] = [];
  let last: number | undefined;
  units.forEach((unit, i) => {
    const id = unit[kind];
    if (id === undefined) return;
    const row = rows[i]!;
    const open = out[out.length - 1];
    if (open && last === id) open.h = row.y + row.h - open.y;
    else out.push({ kind, label: `${kind === "socket" ? "S" : "L"}${id}`, y: row.y, h: row.h });
    last = id;
  });
  return out;
}

/** Rows of one height that fill the room, of any height of at least `least`. */
function filled(panels: readonly (readonly Unit[])[], room: number, least = 0.01): Rows[] {
  const all = (h: number) => panels.map((units) => place(units, h));
  let [low, high] = [least, Math.max(1, room)];
  for (let i = 0; i < 40; i++) {
    const middle = (low + high) / 2;
    if (all(middle).reduce((sum, rows) => sum + rows.height, 0) <= room) low = middle;
    else high = middle;
  }
  return all(low);
}

/** Rows of the given height; `fit` fills `room` if the rows can be that low or high. */
function rowsIn(units: readonly Unit[], height: Height, room: number): Rows {
  if (height !== "fit") return place(units, HEIGHT[height]);
  let best = place(units, 1);
  if (best.height > room) return filled([units], room, FIT.least)[0]!;
  for (let h = 2; h <= FIT.most; h++) {
    const rows = place(units, h);
    if (rows.height > room) break;
    best = rows;
  }
  return best;
}

/** Gives the room that is left to the panels with the lowest rows, until rows have `most` pixels. */
function grow(
  all: Rows[],
  parts: readonly { units: readonly Unit[]; others: unknown }[],
  room: number,
  most: number,
): void {
  const height = (i: number) => all[i]!.rows[0]?.h ?? most;
  const candidates = () => parts.map((_, i) => i).sort((a, b) => height(a) - height(b));
  const used = () => all.reduce((sum, rows) => sum + rows.height, 0);
  parts.forEach(({ units, others }, i) => {
    if (!others && height(i) < 1) all[i] = rowsIn(units, "fit", all[i]!.height + room - used());
  });
  const better = (i: number): Rows | null => {
    const { units, others } = parts[i]!;
    if (others || height(i) >= most) return null;
    const rows = place(units, Math.floor(height(i)) + 1);
    return used() - all[i]!.height + rows.height <= room ? rows : null;
  };
  for (;;) {
    const next = candidates().find((i) => better(i));
    if (next === undefined) return;
    all[next] = better(next)!;
  }
}

/** A row that is no core; `begins`: a group of rows begins with it, perhaps below a header. */
export interface OtherRow {
  key: number;
  label: string;
  begins?: boolean;
  header?: string;
}

export function threadUnits(keys: readonly OtherRow[]): Unit[] {
  return keys.map(({ begins, ...row }) => ({ ...row, gap: begins ? 3 : 0 }));
}

export interface PanelInput {
  info: TraceInfo;
  /** Cores to show, or rows of another kind. */
  shown: (core: number) => boolean;
  others: readonly OtherRow[] | null;
  /** Threads that have a track. */
  tracks?: readonly number[];
}

export interface LayoutInput {
  panels: readonly PanelInput[];
  group: readonly Group[];
  strips: readonly Strip[];
  height: Height;
  /** Height for all panels together. */
  room: number;
  /** A figure: rows of all panels have one height, and `fit` fills the room exactly. */
  figure?: boolean;
}

/** Strips in a window without room for all: the first ones stay. */
const STAY: readonly Strip[] = ["underload", "sets", "power", "runnable", "cores_used"];

/** As many strips as there is room for. */
function stripsIn(strips: Strip[], fits: (count: number) => boolean): Strip[] {
  const count = strips.findIndex((_, i) => !fits(i + 1));
  if (count < 0) return strips;
  const stay = STAY.filter((strip) => strips.includes(strip)).slice(0, count);
  return strips.filter((strip) => stay.includes(strip));
}

/** The least height of a panel's rows in a figure. */
export const LEAST_ROWS = 40;

export function layout(input: LayoutInput): { panels: Panel[]; height: number } {
  const share = input.room / Math.max(1, input.panels.length);
  const low = share < 420;
  const stripH = low ? STRIP - 12 : STRIP;
  const belowRows = (strips: number, tracks: number) =>
    BELOW_ROWS + tracks * (TRACK + STRIP_GAP) + strips * (stripH + STRIP_GAP) + BELOW_PANEL;
  const parts = input.panels.map(({ info, shown, others, tracks = [] }) => {
    const units = others ? threadUnits(others) : coreUnits(info.cores, input.group, shown);
    const has = { sets: info.sets.length > 0, power: info.energy.length > 0 } as Partial<
      Record<Strip, boolean>
    >;
    let strips = input.strips.filter((strip) => has[strip] ?? true);
    if (input.height === "fit" && !input.figure && !others) {
      const room = share - TITLE - place(units, 1).height;
      // If cores have to share pixels, one strip stays.
      strips = stripsIn(strips, (count) => count === 1 || belowRows(count, tracks.length) <= room);
    }
    return { strips, below: belowRows(strips.length, tracks.length), units, others, tracks };
  });
  const fixed = parts.reduce((sum, { below }) => sum + TITLE + below, 0);
  const fill =
    input.figure && input.height === "fit"
      ? filled(
          parts.map(({ units }) => units),
          Math.max(input.room - fixed, LEAST_ROWS * parts.length),
        )
      : null;
  const fit = (others: unknown): Height => (others && input.height === "fit" ? "normal" : input.height);
  const rowsOf =
    fill ?? parts.map(({ units, below, others }) => rowsIn(units, fit(others), share - TITLE - below));
  let extra = 0;
  if (!fill && input.height === "fit") {
    grow(rowsOf, parts, input.room - fixed, FIT.most);
    const left = input.room - fixed - rowsOf.reduce((sum, rows) => sum + rows.height, 0);
    const strips = parts.reduce((sum, part) => sum + part.strips.length, 0);
    extra = Math.max(0, Math.min(MOST_EXTRA, Math.floor(left / Math.max(1, strips))));
    grow(rowsOf, parts, input.room - fixed - strips * extra, input.room);
  }
  const panels: Panel[] = [];
  let y = 0;
  parts.forEach(({ strips, below, tracks }, trace) => {
    const rows = rowsOf[trace]!;
    let at = TITLE + rows.height + BELOW_ROWS;
    const tracked = tracks.map((thread, i) => ({ thread, y: at + i * (TRACK + STRIP_GAP), h: TRACK }));
    at += tracks.length * (TRACK + STRIP_GAP);
    const places = strips.map((strip) => {
      const place = { strip, y: at, h: stripH + extra };
      at += place.h + STRIP_GAP;
      return place;
    });
    const height = TITLE + rows.height + below + places.length * extra;
    panels.push({ trace, y, titleY: 0, rowsY: TITLE, rows, tracks: tracked, strips: places, height });
    y += height;
  });
  return { panels, height: y };
}

/** Rows with a wider gap above them than that of SMT siblings begin a socket or a die. */
const begins = (row: Row, before: Row | undefined) => !before || row.y - before.y - before.h > 2;

/**
 * The rows that have room for a label: the first of each socket and die, and from there on each or every other, ... The step
 * is 1 or even, which labels first SMT siblings only.
 */
export function labelled(rows: readonly Row[], lineHeight = 11): Row[] {
  const h = rows[0]?.h ?? lineHeight;
  const step = h >= lineHeight ? 1 : 2 * Math.ceil(lineHeight / h / 2);
  let [start, last] = [0, -Infinity];
  return rows.filter((row, i) => {
    const first = begins(row, rows[i - 1]);
    if (first) start = i;
    if ((i - start) % step !== 0 || row.y - last < lineHeight - 0.01) return false;
    last = row.y;
    return true;
  });
}

/** The row at a height. */
export function rowAt(rows: readonly Row[], y: number): Row | null {
  const row = rows[first(0, rows.length, (i) => y < rows[i]!.y + rows[i]!.h)];
  return row && y >= row.y ? row : null;
}

/** Runs of rows of at most `most` pixels. Each is rasterised at once. */
export function bands(rows: readonly Row[], most = 256): Row[][] {
  const out: Row[][] = [];
  for (const row of rows) {
    const open = out[out.length - 1];
    if (open && row.y + row.h - open[0]!.y <= most) open.push(row);
    else out.push([row]);
  }
  return out;
}
