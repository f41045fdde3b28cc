// From a view to a scene, and what the scene lacks.

import type { Field, Process, TraceInfo } from "../data/api";
import { Chunks } from "../data/chunks";
import { States } from "../data/states";
import { processText, Threads } from "../data/threads";
import { Tiles } from "../data/tiles";
import { DARK, frequency, LIGHT, type Theme } from "../model/colour";
import { looks } from "../model/filter";
import { AXIS, layout, type OtherRow } from "../model/layout";
import type { Span, TileId } from "../model/levels";
import type { View } from "../model/state";
import { rowsOf, stays } from "./cells";
import { keyOf } from "./picture";
import { fieldsFor, type Style } from "./raster";
import { levelOf, slicesHere, visible, type Scene, type Source } from "./scene";
import { STRIP_FIELDS } from "./strips";

export type Run = (signal: AbortSignal) => Promise<void>;

export interface Asked {
  view: View;
  sources: readonly Source[];
  theme: Theme;
  /** Size in CSS pixels. */
  width: number;
  height: number;
  ratio: number;
  figure: boolean;
}

/** The traces without data yet. `changed` is called when names of threads arrive. */
export function sourcesOf(infos: readonly TraceInfo[], changed: () => void): Source[] {
  return infos.map((info, index) => ({
    index,
    info,
    tiles: new Tiles(index, info),
    chunks: new Chunks(index, info),
    threads: new Threads(index, info.threads, changed),
    states: new States(index),
  }));
}

export const themeOf = (dark: boolean): Theme => (dark ? DARK : LIGHT);

/** The end of the longest trace. */
export function endOf(sources: readonly Source[]): number {
  return Math.max(1, ...sources.map(({ info }) => info.duration));
}

export function spanOf(view: View, end: number): Span {
  return view.span ?? { from: -end * 0.002, to: end * 1.002 };
}

/** The range of the scale of frequency, which all traces share; zeros if no frequency is known. */
export function mhzOf(sources: readonly Source[]): [number, number] {
  const ranges = sources.map((s) => s.info.khz_range).filter(([low, high]) => high > 0 && high >= low);
  if (ranges.length === 0) return [0, 0];
  return [Math.min(...ranges.map((r) => r[0])) / 1000, Math.max(...ranges.map((r) => r[1])) / 1000];
}

function styleOf({ view, theme, sources }: Asked, source: Source): Style {
  const [low, high] = mhzOf(sources);
  return {
    colour: view.colour,
    marks: view.marks,
    theme,
    frequency: (mhz) => frequency((mhz - low) / Math.max(1, high - low)),
    look: looks(view, source.index, source.threads),
    selected: view.selection?.trace === source.index ? view.selection.thread : null,
    program: (thread) => source.threads.get(thread)?.colour ?? null,
    sets: view.rows === "core" ? source.info.sets.length : 0,
  };
}

/** The scene, and the height that its content needs. */
export function compose(asked: Asked): { scene: Scene; content: number } {
  const { view, theme, sources, width, height, ratio, figure } = asked;
  const styles = sources.map((source) => styleOf(asked, source));
  const end = endOf(sources);
  const span = spanOf(view, end);
  const scene: Scene = { view, theme, span, end, sources, styles, width, height, ratio, panels: [], figure };
  const panels = sources.map((source) => {
    const used = view.unused ? null : usedCores(source);
    return {
      info: source.info,
      shown: (core: number) => !used || used[core]! > 0,
      others: view.rows === "core" ? null : otherRows(scene, source),
      tracks: figure ? [] : trackedThreads(view, source.index),
    };
  });
  const placed = layout({
    panels,
    group: view.group,
    strips: view.strips,
    height: view.height,
    room: height - AXIS,
    figure,
  });
  return { scene: { ...scene, panels: placed.panels }, content: placed.height };
}

function otherRows(scene: Scene, source: Source): OtherRow[] {
  const all = stays(scene, source, keyOf(scene, source)).filter((stay) => stay.thread !== 0);
  source.threads.want(new Set(all.map((stay) => stay.thread).slice(0, 300)));
  const { threads } = source;
  switch (scene.view.rows) {
    case "process":
      return rowsOf(all, (thread) => threads.process(thread));
    case "program":
      return rowsOf(all, (thread) => threads.name(thread));
    default:
      return byProcess(
        rowsOf(all, (thread) => threads.label(thread)),
        ({ key }) => threads.get(key)?.process ?? null,
      );
  }
}

/**
 * Puts the rows of each process together, in the order of their first rows, with a header where one begins. A process with
 * one row needs none: the row is called after it.
 */
export function byProcess(
  rows: readonly OtherRow[],
  processOf: (row: OtherRow) => Process | null,
): OtherRow[] {
  const groups = new Map<number | null, { process: Process | null; rows: OtherRow[] }>();
  for (const row of rows) {
    const process = processOf(row);
    const group = groups.get(process?.process ?? null);
    if (group) group.rows.push(row);
    else groups.set(process?.process ?? null, { process, rows: [row] });
  }
  const unknown = groups.get(null)?.rows ?? [];
  groups.delete(null);
  const known = [...groups.values()].flatMap(({ process, rows }) => {
    const [first, ...rest] = rows as [OtherRow, ...OtherRow[]];
    const text = processText(process!);
    const same = rest.length === 0 && first.label.startsWith(process!.name);
    return [{ ...first, begins: true, ...(same ? { label: text } : { header: text }) }, ...rest];
  });
  if (known.length === 0 || unknown.length === 0) return [...known, ...unknown];
  return [...known, { ...unknown[0]!, begins: true, header: "unknown" }, ...unknown.slice(1)];
}

/** The threads of a trace that have a track: the pinned ones, then the selected one. */
export function trackedThreads(
  { pins, selection }: Pick<View, "pins" | "selection">,
  trace: number,
): number[] {
  const all = [...pins, ...(selection ? [selection] : [])].filter((one) => one.trace === trace);
  return [...new Set(all.map(({ thread }) => thread))];
}

/** The tile of the whole trace. */
export const wholeTile = ({ info }: Source): TileId => ({ level: info.levels.coarsest, index: 0 });

const known = new WeakMap<Source, Uint8Array>();

/** The cores that ran a thread, or may have: their events were lost. `null` until it is known. */
export function usedCores(source: Source): Uint8Array | null {
  const busy = known.has(source) ? null : source.tiles.get(wholeTile(source))?.fields.busy;
  if (busy) {
    const used = new Uint8Array(source.info.cores.length);
    source.info.lost.forEach((count, core) => (used[core] = count > 0 ? 1 : 0));
    for (let cell = 0; cell < busy.length; cell++) if (busy[cell]) used[cell >> 8] = 1;
    known.set(source, used);
  }
  return known.get(source) ?? null;
}

/** The fields that the picture needs of each tile. */
export function fieldsOf(scene: Scene, source: Source): Field[] {
  const fields = new Set<Field>(fieldsFor(scene.styles[source.index]!));
  for (const strip of STRIP_FIELDS) if (scene.view.strips.includes(strip as never)) fields.add(strip);
  if (scene.view.strips.includes("sets") && source.info.sets.length > 0) fields.add("set_sizes");
  if (scene.view.rows !== "core") fields.add("thread");
  return [...fields];
}

export function wantTile(
  wanted: Map<string, Run>,
  source: Source,
  id: TileId,
  fields: Field[],
  done: () => void,
): void {
  const missing = source.tiles.missing(id, fields);
  if (missing.length === 0) return;
  wanted.set(...source.tiles.fetch(id, missing, done));
}

/** Wants the visible tiles, those in the middle first. */
export function wantTiles(wanted: Map<string, Run>, scene: Scene, source: Source, done: () => void): void {
  const fields = fieldsOf(scene, source);
  const ids = visible(scene, source);
  const middle = (ids.length - 1) / 2 + (ids[0]?.index ?? 0);
  for (const id of [...ids].sort((a, b) => Math.abs(a.index - middle) - Math.abs(b.index - middle)))
    wantTile(wanted, source, id, fields, done);
}

/** Wants the slices, and the names that the picture shows. */
export function wantSlices(wanted: Map<string, Run>, scene: Scene, source: Source, done: () => void): void {
  for (const id of source.chunks.of(levelOf(scene, source), scene.span)) {
    if (!source.chunks.get(id)) wanted.set(...source.chunks.fetch(id, done));
  }
  const { colour, filter } = scene.view;
  if (colour === "process" || filter.name || filter.traced !== undefined)
    for (const id of visible(scene, source)) source.threads.wantTile(source.tiles.get(id)?.fields.thread);
  const here = slicesHere(scene, source).flatMap((chunk) => chunk.slices.map((slice) => slice.thread));
  source.threads.want(new Set(here.filter((tid) => tid !== 0)));
}

/** Wants the states of the threads that have a track. */
export function wantStates(wanted: Map<string, Run>, scene: Scene, source: Source, done: () => void): void {
  for (const thread of trackedThreads(scene.view, source.index)) {
    source.threads.want([thread]);
    for (const id of visible(scene, source))
      if (!source.states.get(thread, id)) wanted.set(...source.states.fetch(thread, id, done));
  }
}

/** Fetches all that a scene needs. What arrives may change the scene, so it is composed again. */
export async function complete(asked: Asked): Promise<void> {
  const { signal } = new AbortController();
  for (let round = 0; round < 5; round++) {
    const { scene } = compose(asked);
    const wanted = new Map<string, Run>();
    for (const source of scene.sources) {
      if (!usedCores(source)) wantTile(wanted, source, wholeTile(source), ["busy"], () => {});
      wantTiles(wanted, scene, source, () => {});
      wantSlices(wanted, scene, source, () => {});
    }
    await Promise.all([...wanted.values()].map((run) => run(signal)));
    await Promise.all(scene.sources.map((source) => source.threads.settled()));
    if (wanted.size === 0) return;
  }
}
