// Slices in chunks of time, cached like tiles. A chunk with too many slices is marked as dense, and
// tiles are drawn instead.

import { tileSpan, tilesOf, type Span, type TileId } from "../model/levels";
import { events, type EventMark, type Slice, type TraceInfo } from "./api";
import { Lru } from "./cache";

export interface Chunk {
  span: Span;
  /** Whether it has too many events to draw each. */
  dense: boolean;
  /** Number of slices on the core with the most slices. */
  busiest: number;
  slices: Slice[];
  marks: EventMark[];
}

export const LIMIT = 5000;
/** Approximate size of an object in the answer, in bytes. */
const BYTES_EACH = 200;
const cache = new Lru<Chunk>(32 << 20);

export class Chunks {
  constructor(
    readonly trace: number,
    readonly info: TraceInfo,
  ) {}

  /** The chunks for a tile level; none if they are certainly too dense. */
  of(level: number, span: Span): TileId[] {
    const chunks = tilesOf(level + 1, span, this.info.duration);
    const width = chunks[0] ? tileSpan(chunks[0]).to - tileSpan(chunks[0]).from : 0;
    const expected = (this.info.events / Math.max(1, this.info.duration)) * width;
    return expected > 20 * LIMIT ? [] : chunks;
  }

  get(id: TileId): Chunk | undefined {
    return cache.get(this.key(id));
  }

  fetch(id: TileId, done: () => void): [string, (signal: AbortSignal) => Promise<void>] {
    const run = async (signal: AbortSignal) => {
      const span = tileSpan(id);
      const got = await events(
        this.trace,
        span.from,
        Math.min(span.to, this.info.duration + 1),
        LIMIT,
        signal,
      );
      const chunk = got.truncated
        ? { span, dense: true, busiest: 0, slices: [], marks: [] }
        : { span, dense: false, busiest: busiest(got.slices), slices: got.slices, marks: got.marks };
      cache.set(this.key(id), chunk, 500 + BYTES_EACH * (chunk.slices.length + chunk.marks.length));
      done();
    };
    return [this.key(id), run];
  }

  private key(id: TileId): string {
    return `events ${this.trace}/${id.level}/${id.index}`;
  }
}

export function busiest(slices: readonly Slice[]): number {
  const counts = new Map<number, number>();
  for (const { core } of slices) counts.set(core, (counts.get(core) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

/** The slices of adjacent chunks. Slices that the border cut are joined. */
export function join(chunks: readonly Chunk[]): Slice[] {
  const all = chunks
    .flatMap((chunk) => chunk.slices)
    .sort((a, b) => a.core - b.core || a.from - b.from || a.to - b.to);
  const borders = new Set(chunks.flatMap((chunk) => [chunk.span.from, chunk.span.to]));
  const out: Slice[] = [];
  for (const slice of all) {
    const last = out[out.length - 1];
    const one = last && last.core === slice.core && last.thread === slice.thread;
    const overlaps = one && slice.from < last.to;
    const cut = one && slice.from === last.to && borders.has(slice.from);
    if (!one || !(overlaps || cut)) out.push(slice);
    else if (slice.to > last.to) out[out.length - 1] = { ...last, to: slice.to, stop: slice.stop };
  }
  return out;
}
