// Sums over a marked area, from 256 to 1024 bins of the index.

import * as api from "../data/api";
import type { Field, Fields, TraceInfo } from "../data/api";
import { BINS, binWidth, levelForSums, tilesOf, tileSpan, type Span } from "../model/levels";
import type { Area } from "../model/state";

export interface Sums {
  bin: number;
  busy: number;
  used: number;
  runnable: number;
  khz: number;
  underload: number;
  /** Core-nanoseconds. */
  overload: number;
  inverted: number;
  wakeups: number;
  migrations: number;
  forks: number;
  /** Whether a cell reached its limit of 255: the counts are then lower bounds. */
  capped: boolean;
}

const FIELDS: Field[] = [
  "busy",
  "mhz",
  "overload",
  "inverted",
  "wakeups",
  "migrations",
  "forks",
  "underload",
  "runnable",
  "cores_used",
];

export async function sumUp(trace: number, info: TraceInfo, area: Area, signal: AbortSignal): Promise<Sums> {
  const level = levelForSums(area, info.levels.coarsest);
  const ids = tilesOf(level, area, info.duration);
  const tiles = await Promise.all(ids.map((id) => api.tile(trace, info, id.level, id.index, FIELDS, signal)));
  return addTiles(
    tiles.map((fields, i) => ({ fields, from: tileSpan(ids[i]!).from })),
    level,
    area,
    area.cores?.filter((core) => core < info.cores.length) ?? info.cores.map((_, core) => core),
  );
}

export function addTiles(
  tiles: readonly { fields: Fields; from: number }[],
  level: number,
  area: Span,
  cores: readonly number[],
): Sums {
  const bin = binWidth(level);
  const sums: Sums = {
    bin,
    busy: 0,
    used: 0,
    runnable: 0,
    khz: 0,
    underload: 0,
    overload: 0,
    inverted: 0,
    wakeups: 0,
    migrations: 0,
    forks: 0,
    capped: false,
  };
  let time = 0;
  let weighted = 0;
  let known = 0;
  for (const { fields: f, from } of tiles) {
    for (let b = 0; b < BINS; b++) {
      // Bins at the edges count in part.
      const inside = Math.min(area.to, from + (b + 1) * bin) - Math.max(area.from, from + b * bin);
      if (inside <= 0) continue;
      time += inside;
      sums.underload += f.underload![b]! * inside;
      sums.used = Math.max(sums.used, f.cores_used![b]!);
      sums.runnable = Math.max(sums.runnable, f.runnable![b]!);
      for (const core of cores) {
        const cell = core * BINS + b;
        const busy = (f.busy![cell]! / 255) * inside;
        sums.busy += busy;
        if (f.mhz![cell]!) {
          weighted += f.mhz![cell]! * busy;
          known += busy;
        }
        sums.overload += (f.overload![cell]! / 255) * inside;
        sums.inverted += (f.inverted![cell]! / 255) * inside;
        sums.wakeups += f.wakeups![cell]!;
        sums.migrations += f.migrations![cell]!;
        sums.forks += f.forks![cell]!;
        sums.capped ||= f.wakeups![cell] === 255 || f.migrations![cell] === 255 || f.forks![cell] === 255;
      }
    }
  }
  sums.busy /= Math.max(1, time);
  sums.underload /= Math.max(1, time);
  sums.khz = known > 0 ? (weighted / known) * 1000 : 0;
  return sums;
}
