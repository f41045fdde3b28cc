// The states of the selected thread over time, in tiles.

import { BINS, binWidth, tileSpan, type TileId } from "../model/levels";
import * as api from "./api";
import { Lru } from "./cache";

export interface StateTile {
  from: number;
  bin: number;
  /** Shares of each bin. */
  running: Float32Array;
  ready: Float32Array;
}

const cache = new Lru<StateTile>(8 << 20);

export class States {
  constructor(readonly trace: number) {}

  private key(thread: number, { level, index }: TileId): string {
    return `${this.trace}/${thread}/${level}/${index}`;
  }

  get(thread: number, id: TileId): StateTile | undefined {
    return cache.get(this.key(thread, id));
  }

  /** A job that fetches a tile. */
  fetch(thread: number, id: TileId, done: () => void): [string, (signal: AbortSignal) => Promise<void>] {
    const key = this.key(thread, id);
    const bin = binWidth(id.level);
    const shares = (ns: number[]) => Float32Array.from(ns, (part) => part / bin);
    const run = async (signal: AbortSignal) => {
      const { running, ready } = await api.states(this.trace, thread, id, signal);
      const tile = { from: tileSpan(id).from, bin, running: shares(running), ready: shares(ready) };
      cache.set(key, tile, BINS * 8);
      done();
    };
    return [`states ${key}`, run];
  }
}
