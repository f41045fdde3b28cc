// The input of drawing. Drawing uses nothing else, so the canvas, a PNG and an SVG show the same.

import type { TraceInfo } from "../data/api";
import type { Chunk, Chunks } from "../data/chunks";
import type { States } from "../data/states";
import type { Threads } from "../data/threads";
import type { Tile, Tiles } from "../data/tiles";
import type { Field } from "../data/api";
import type { Theme } from "../model/colour";
import { GUTTER, RIGHT, type Panel, type Row } from "../model/layout";
import { levelFor, tilesOf, tileSpan, type Span, type TileId } from "../model/levels";
import type { View } from "../model/state";
import type { Painter } from "./painter";
import type { Style } from "./raster";

export interface Source {
  index: number;
  info: TraceInfo;
  tiles: Tiles;
  chunks: Chunks;
  threads: Threads;
  states: States;
}

/** What all pictures of cores over time have: those of the viewer and those of the report. */
export interface Frame {
  /** The time from left to right. */
  span: Span;
  /** Size in CSS pixels. */
  width: number;
  height: number;
  theme: Theme;
}

export interface Scene extends Frame {
  view: View;
  /** The end of the longest trace. */
  end: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
  sources: readonly Source[];
  panels: readonly Panel[];
  styles: readonly Style[];
  /** A figure: a file for paper or slides. Nobody scrolls or zooms it, so it shows all rows. */
  figure: boolean;
}

/** A panel in the picture. */
export interface Drawing {
  p: Painter;
  scene: Scene;
  source: Source;
  panel: Panel;
  /** Where the panel begins, and where its rows do. */
  top: number;
  y0: number;
  /** The rows in sight. */
  rows: readonly Row[];
}

export const plotWidth = (frame: { width: number }): number => Math.max(1, frame.width - GUTTER - RIGHT);

export function xOf({ span, width }: Pick<Frame, "span" | "width">, time: number): number {
  return GUTTER + ((time - span.from) / (span.to - span.from)) * plotWidth({ width });
}

export function timeAt({ span, width }: Pick<Frame, "span" | "width">, x: number): number {
  return span.from + ((x - GUTTER) / plotWidth({ width })) * (span.to - span.from);
}

/** A figure of more cores has tiles as coarse as on the screen: finer ones would take minutes to draw. */
const MOST_FINE = 512;

/** The tiles of one trace that are in sight; for a figure, those whose bins are a device pixel wide. */
export function visible(scene: Scene, source: Source): TileId[] {
  const perPixel = (scene.span.to - scene.span.from) / plotWidth(scene) / scene.ratio;
  const cores = scene.sources.reduce((sum, { info }) => sum + info.cores.length, 0);
  const level =
    scene.figure && cores <= MOST_FINE
      ? levelFor(perPixel, source.info.levels.coarsest)
      : levelOf(scene, source);
  return tilesOf(level, scene.span, source.info.duration);
}

export function levelOf(scene: Scene, source: Source): number {
  return levelFor((scene.span.to - scene.span.from) / plotWidth(scene), source.info.levels.coarsest);
}

/** A piece of time, and the tile that is drawn in it. */
export interface Piece {
  id: TileId;
  span: Span;
  tile: Tile;
}

/** The visible tiles, or the coarser ones that stand in for them. */
export function pieces(scene: Scene, source: Source, fields: readonly Field[]): Piece[] {
  return visible(scene, source).flatMap((id) => {
    const tile = source.tiles.standIn(id, fields);
    const { from, to } = tileSpan(id);
    return tile ? [{ id, span: { from, to: Math.min(to, source.info.duration) }, tile }] : [];
  });
}

/** Slices are drawn if their mean width is at least this many pixels; tiles otherwise. */
const LEAST_PIXELS = 5;

/** Loaded chunks whose slices are wide enough to be drawn. */
export function slicesHere(scene: Scene, source: Source): Chunk[] {
  const wanted = source.chunks.of(levelOf(scene, source), scene.span);
  return wanted.flatMap((id) => {
    const chunk = source.chunks.get(id);
    if (!chunk || chunk.dense) return [];
    const inside = Math.min(chunk.span.to, source.info.duration) - chunk.span.from;
    const pixels = (inside / (scene.span.to - scene.span.from)) * plotWidth(scene);
    return chunk.busiest * LEAST_PIXELS <= pixels ? [chunk] : [];
  });
}
