// The tiles of one trace: loaded ones, missing ones, and coarser ones that stand in.

import { ancestor, tileSpan, type Span, type TileId } from "../model/levels";
import { FIELDS, entries, tile as fetchTile, type Field, type Fields, type TraceInfo } from "./api";
import { Lru } from "./cache";

export interface Tile extends TileId {
  span: Span;
  fields: Fields;
  /** Grows when fields are added. */
  version: number;
}

const BUDGET = 160 << 20;
const cache = new Lru<Tile>(BUDGET);

export const cachedBytes = () => cache.bytes;

const keyOf = (trace: number, tile: TileId) => `${trace}/${tile.level}/${tile.index}`;

export class Tiles {
  constructor(
    readonly trace: number,
    readonly info: TraceInfo,
  ) {}

  get(id: TileId): Tile | undefined {
    return cache.get(keyOf(this.trace, id));
  }

  /** The tile, or the nearest coarser loaded one with these fields. */
  standIn(id: TileId, fields: readonly Field[]): Tile | undefined {
    for (let level = id.level; level <= this.info.levels.coarsest; level++) {
      const tile = this.get(ancestor(id, level));
      if (tile && has(tile, fields)) return tile;
    }
    return undefined;
  }

  missing(id: TileId, fields: readonly Field[]): Field[] {
    const tile = this.get(id);
    return fields.filter((field) => !tile?.fields[field]);
  }

  /** A job that fetches these fields. */
  fetch(
    id: TileId,
    fields: readonly Field[],
    done: () => void,
  ): [string, (signal: AbortSignal) => Promise<void>] {
    const key = keyOf(this.trace, id);
    const run = async (signal: AbortSignal) => {
      const fetched = await fetchTile(this.trace, this.info, id.level, id.index, fields, signal);
      const old = this.get(id);
      const all = { ...old?.fields, ...fetched };
      const tile = { ...id, span: tileSpan(id), fields: all, version: (old?.version ?? 0) + 1 };
      cache.set(key, tile, this.bytes(all));
      done();
    };
    return [`${key}?${fields.join()}`, run];
  }

  private bytes(fields: Fields): number {
    const { cores, sets } = this.info;
    return (Object.keys(fields) as Field[])
      .map((field) => FIELDS[field].BYTES_PER_ELEMENT * entries(field, cores.length, sets.length))
      .reduce((a, b) => a + b, 0);
  }
}

export function has(tile: Tile, fields: readonly Field[]): boolean {
  return fields.every((field) => tile.fields[field] !== undefined);
}
