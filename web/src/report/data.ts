// The data of one execution trace. crates/report/src/page/{traces,encode}.rs write it.

import type { Fields } from "../data/api";
import { first } from "../model/bisect";
import { frequency, UNKNOWN, type Rgb } from "../model/colour";
import type { Span } from "../model/levels";

export interface TraceData {
  /** Seconds. */
  duration: number;
  /** Times are whole numbers of steps; this many are the duration. */
  steps: number;
  /** Bins of frequency: lowest edge and width in GHz, and their number. */
  low: number;
  step: number;
  bins: number;
  /** Label and socket of each core. */
  cores: [string, number][];
  rows: string;
  underload: string;
  /** Units of frequency (GHz) and of underload. */
  units: [number, number];
}

/** The busy times of a core, in order: times in ns, MHz (0: unknown), and load from 0 to 1. */
export interface Lane {
  from: Float64Array;
  to: Float64Array;
  mhz: Float32Array;
  busy: Float32Array;
}

export interface Decoded {
  /** Nanoseconds. */
  duration: number;
  cores: { label: string; socket: number }[];
  lanes: Lane[];
  /** Start in ns and value. A value holds until the next start. */
  underload: [number, number][];
}

/** LEB128 numbers and single bytes from base64. */
class Reader {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(base64: string) {
    this.bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  }

  get more(): boolean {
    return this.at < this.bytes.length;
  }

  byte(): number {
    return this.bytes[this.at++] ?? 0;
  }

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
}

export function decode(data: TraceData): Decoded {
  const duration = data.duration * 1e9;
  const step = duration / data.steps;
  const reader = new Reader(data.rows);
  const lanes = data.cores.map(() => {
    const n = reader.number();
    const lane: Lane = {
      from: new Float64Array(n),
      to: new Float64Array(n),
      mhz: new Float32Array(n),
      busy: new Float32Array(n),
    };
    for (let i = 0, end = 0; i < n; i++) {
      const begin = end + reader.number();
      end = begin + reader.number();
      lane.from[i] = begin * step;
      lane.to[i] = end * step;
      lane.mhz[i] = reader.byte() * data.units[0] * 1000;
      lane.busy[i] = reader.byte() / 255;
    }
    return lane;
  });
  const underload: [number, number][] = [];
  const series = new Reader(data.underload);
  for (let at = 0; series.more;) {
    at += series.number();
    underload.push([at * step, series.number() * data.units[1]]);
  }
  return { duration, cores: data.cores.map(([label, socket]) => ({ label, socket })), lanes, underload };
}

/** The index of the first busy time that ends after `time`. */
export function find(lane: Lane, time: number): number {
  return first(0, lane.to.length, (i) => lane.to[i]! > time);
}

/** Load and mean frequency in `columns` columns of a span, as the fields of a tile. */
export function cells(lanes: readonly Lane[], span: Span, columns: number): Fields {
  const fields = {
    busy: new Uint8Array(lanes.length * columns),
    mhz: new Uint16Array(lanes.length * columns),
  };
  const scale = columns / (span.to - span.from);
  // In each column: busy time, busy time at a known frequency, and that times MHz.
  const sums = [0, 0, 0].map(() => new Float64Array(columns)) as [Float64Array, Float64Array, Float64Array];
  lanes.forEach((lane, core) => {
    for (const sum of sums) sum.fill(0);
    for (let i = find(lane, span.from); i < lane.from.length && lane.from[i]! < span.to; i++) {
      let from = Math.max(0, (lane.from[i]! - span.from) * scale);
      let to = Math.min(columns, (lane.to[i]! - span.from) * scale);
      // Wide pieces get sharp ends.
      if (to - from >= 1) [from, to] = [Math.round(from), Math.round(to)];
      for (let x = Math.floor(from); x < to; x++) {
        const part = (Math.min(to, x + 1) - Math.max(from, x)) * lane.busy[i]!;
        sums[0][x]! += part;
        if (!lane.mhz[i]) continue;
        sums[1][x]! += part;
        sums[2][x]! += part * lane.mhz[i]!;
      }
    }
    for (let x = 0; x < columns; x++) {
      if (sums[0][x]! <= 0) continue;
      fields.busy[core * columns + x] = Math.max(1, Math.round(255 * Math.min(1, sums[0][x]!)));
      if (sums[1][x]! > 0) fields.mhz[core * columns + x] = Math.round(sums[2][x]! / sums[1][x]!);
    }
  });
  return fields;
}

/** Mean and maximum of the underload in `columns` columns of a span. */
export function underload(
  data: Decoded,
  span: Span,
  columns: number,
): { mean: Float32Array; peak: Float32Array } {
  const [mean, peak] = [new Float32Array(columns), new Float32Array(columns)];
  const scale = columns / (span.to - span.from);
  data.underload.forEach(([time, value], i) => {
    if (value === 0) return;
    const end = data.underload[i + 1]?.[0] ?? data.duration;
    const [from, to] = [
      Math.max(0, (time - span.from) * scale),
      Math.min(columns, (end - span.from) * scale),
    ];
    for (let x = Math.floor(from); x < to; x++) {
      mean[x]! += (Math.min(to, x + 1) - Math.max(from, x)) * value;
      peak[x] = Math.max(peak[x]!, value);
    }
  });
  return { mean, peak };
}

/** The colours of the legend's bins. Bin i holds (low + i·step, low + (i+1)·step] GHz. */
export function binned({ low, step, bins }: Pick<TraceData, "low" | "step" | "bins">): (mhz: number) => Rgb {
  return (mhz) => {
    if (mhz === 0) return UNKNOWN;
    const bin = Math.max(0, Math.min(bins - 1, Math.floor((mhz / 1000 - low - 1e-4) / step)));
    return frequency(bins > 1 ? bin / (bins - 1) : 1);
  };
}
