// All that a picture is made of. Drawing asks for nothing else, so that the canvas, a PNG and an
// SVG show the same.

import type { TraceInfo } from "../data/api";
import type { Chunk, Chunks } from "../data/chunks";
import type { Threads } from "../data/threads";
import type { Tile, Tiles } from "../data/tiles";
import type { Field } from "../data/api";
import type { Theme } from "../model/colour";
import { GUTTER, RIGHT, type Panel } from "../model/layout";
import { levelFor, tilesOf, type Span, type TileId } from "../model/levels";
import type { View } from "../model/state";
import type { Style } from "./raster";

export interface Source {
  index: number;
  info: TraceInfo;
  tiles: Tiles;
  chunks: Chunks;
  threads: Threads;
}

export interface Scene {
  view: View;
  span: Span;
  /** The end of the longest trace. */
  end: number;
  width: number;
  height: number;
  /** Pixels of the screen to one CSS pixel. */
  ratio: number;
  theme: Theme;
  sources: readonly Source[];
  panels: readonly Panel[];
  styles: readonly Style[];
}

export const plotWidth = (scene: { width: number }): number => Math.max(1, scene.width - GUTTER - RIGHT);

export function xOf(scene: Scene, time: number): number {
  return GUTTER + ((time - scene.span.from) / (scene.span.to - scene.span.from)) * plotWidth(scene);
}

export function timeAt(scene: Scene, x: number): number {
  return scene.span.from + ((x - GUTTER) / plotWidth(scene)) * (scene.span.to - scene.span.from);
}

/** Tiles that the picture wants of one trace. */
export function visible(scene: Scene, source: Source): TileId[] {
  const level = levelOf(scene, source);
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

/** What there is to draw for the visible tiles: themselves, or coarser ones. */
export function pieces(scene: Scene, source: Source, fields: readonly Field[]): Piece[] {
  return visible(scene, source).flatMap((id) => {
    const tile = source.tiles.standIn(id, fields);
    if (!tile) return [];
    const width = 2 ** (18 + 2 * id.level);
    return [
      {
        id,
        span: { from: id.index * width, to: Math.min((id.index + 1) * width, source.info.duration) },
        tile,
      },
    ];
  });
}

/** Narrower slices than this are better told by tiles. */
const LEAST_PIXELS = 5;

/** Chunks of real slices that are here and have room. */
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
