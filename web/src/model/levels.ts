// Levels and tiles. A bin of level L is 2^(10+2L) ns wide; a tile is 256 bins of all cores.

/** Bins of a tile. */
export const BINS = 256;
/** Limit of the level. A bin of level 20 is 2^50 ns, or 13 days. */
export const MOST_LEVEL = 20;

/** A span of time in nanoseconds. */
export interface Span {
  from: number;
  to: number;
}

export interface TileId {
  level: number;
  index: number;
}

export function binWidth(level: number): number {
  return 2 ** (10 + 2 * level);
}

export function tileWidth(level: number): number {
  return BINS * binWidth(level);
}

export function tileSpan(tile: TileId): Span {
  const width = tileWidth(tile.level);
  return { from: tile.index * width, to: (tile.index + 1) * width };
}

/** The level whose bins are closest to one pixel: between half a pixel and two. */
export function levelFor(nsPerPixel: number, coarsest: number): number {
  const level = Math.round((Math.log2(nsPerPixel) - 10) / 2);
  return Math.max(0, Math.min(level, coarsest));
}

/** The tiles of a level that overlap a span, for a trace of this duration. */
export function tilesOf(level: number, span: Span, duration: number): TileId[] {
  const width = tileWidth(level);
  const first = Math.max(0, Math.floor(span.from / width));
  const last = Math.min(Math.ceil(span.to / width), Math.ceil(duration / width)) - 1;
  const tiles: TileId[] = [];
  for (let index = first; index <= last; index++) tiles.push({ level, index });
  return tiles;
}

/**
 * The tiles that the next step is likely to need: the neighbours on both sides of the window, and the
 * finer tiles around the time at which the user would zoom in.
 */
export function next(
  level: number,
  window: Span,
  pixels: number,
  moment: number,
  duration: number,
): TileId[] {
  const here = tilesOf(level, window, duration);
  const width = tileWidth(level);
  const around = tilesOf(level, { from: window.from - width, to: window.to + width }, duration);
  const sides = around.filter((tile) => !here.some((other) => other.index === tile.index));
  // The widest window that is drawn at the finer level; `moment` keeps its place.
  const share = Math.min(1, (pixels * binWidth(level)) / 2 / (window.to - window.from));
  const part = (time: number) => moment + (time - moment) * share;
  const finer =
    level > 0 ? tilesOf(level - 1, { from: part(window.from), to: part(window.to) }, duration) : [];
  return [...finer, ...sides];
}

/** The tile of a coarser level that contains a tile. */
export function ancestor(tile: TileId, level: number): TileId {
  return { level, index: Math.floor(tile.index / 4 ** (level - tile.level)) };
}

/** The level for sums over a marked area: the area has 256 to 1024 bins. */
export function levelForSums(span: Span, coarsest: number): number {
  return levelFor((span.to - span.from) / 512, coarsest);
}
