// Tiles of a generated schedule, as the server computes them from events.

import { FIELDS, entries, type Field, type FieldArray } from "../../src/data/api";
import { BINS, binWidth, tileSpan } from "../../src/model/levels";
import type { Schedule } from "./schedule";

type Arrays = Record<Field, FieldArray>;

export function makeTile(s: Schedule, level: number, index: number): Arrays {
  const { cores, sets } = s.info;
  const arrays = {} as Arrays;
  for (const field of Object.keys(FIELDS) as Field[])
    arrays[field] = new FIELDS[field](entries(field, cores.length, sets.length));
  const { from, to } = tileSpan({ level, index });
  const width = binWidth(level);
  const cover = (a: number, b: number, visit: (bin: number, ns: number) => void): void => {
    const first = Math.max(0, Math.floor((a - from) / width));
    const last = Math.min(BINS - 1, Math.floor((b - 1 - from) / width));
    for (let bin = first; bin <= last; bin++)
      visit(bin, Math.min(b, from + (bin + 1) * width) - Math.max(a, from + bin * width));
  };
  const share = (old: number, ns: number) => Math.min(255, old + Math.max(1, Math.round((255 * ns) / width)));
  const running = new Float64Array(BINS);
  const ready = new Float64Array(BINS);
  for (let core = 0; core < cores.length; core++) {
    const best = new Float64Array(BINS);
    const busyNs = new Float64Array(BINS);
    const mhz = new Float64Array(BINS);
    for (const slice of s.slices[core]!) {
      if (slice.to <= from || slice.from >= to) continue;
      cover(slice.from, slice.to, (bin, ns) => {
        const cell = core * BINS + bin;
        busyNs[bin] = busyNs[bin]! + ns;
        mhz[bin] = mhz[bin]! + (slice.khz / 1000) * ns;
        if (ns > best[bin]!)
          [best[bin], arrays.thread[cell], arrays.reason[cell]] = [
            ns,
            slice.thread,
            (slice.reason ?? -1) + 1,
          ];
        if (slice.khz > 0 && slice.khz < 1_800_000)
          arrays.inverted[cell] = share(arrays.inverted[cell]!, ns * 0.7);
        arrays.wakeups[cell] = Math.min(255, arrays.wakeups[cell]! + 1);
      });
    }
    for (let bin = 0; bin < BINS; bin++) {
      const cell = core * BINS + bin;
      if (busyNs[bin]! <= 0) continue;
      arrays.busy[cell] = Math.max(1, Math.round((255 * busyNs[bin]!) / width));
      arrays.traced[cell] = arrays.busy[cell]!;
      arrays.mhz[cell] = Math.round(mhz[bin]! / busyNs[bin]!);
      arrays.queue[cell] = 1;
      arrays.cores_used[bin] = arrays.cores_used[bin]! + 1;
      running[bin] = running[bin]! + 1;
    }
    for (const wait of s.waiting[core]!) {
      cover(wait.from, wait.to, (bin, ns) => {
        const cell = core * BINS + bin;
        arrays.queue[cell] = Math.min(255, arrays.queue[cell]! + 1);
        arrays.overload[cell] = share(arrays.overload[cell]!, ns);
        ready[bin] = ready[bin]! + 1;
      });
    }
    for (const { set, from: a, to: b } of s.sets[core]!) {
      if (b <= from || a >= to) continue;
      cover(a, b, (bin) => {
        const cell = core * BINS + bin;
        if (!(arrays.sets[cell]! & (1 << set)))
          arrays.set_sizes[set * BINS + bin] = arrays.set_sizes[set * BINS + bin]! + 1;
        arrays.sets[cell] = arrays.sets[cell]! | (1 << set);
        if (set === 0) arrays.spin[cell] = Math.max(0, 60 - arrays.busy[cell]!);
      });
    }
  }
  for (let bin = 0; bin < BINS; bin++) {
    arrays.runnable[bin] = Math.round(running[bin]! * 0.7 + ready[bin]!);
    arrays.underload[bin] = Math.max(0, arrays.cores_used[bin]! - arrays.runnable[bin]!);
  }
  return arrays;
}

/** The fields in the requested order, each padded to 8 bytes. */
export function encodeTile(arrays: Arrays, fields: readonly Field[]): Uint8Array {
  const parts = fields.map((field) => arrays[field]);
  const lengths = parts.map((part) => Math.ceil(part.byteLength / 8) * 8);
  const out = new Uint8Array(lengths.reduce((a, b) => a + b, 0));
  let offset = 0;
  parts.forEach((part, i) => {
    out.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), offset);
    offset += lengths[i]!;
  });
  return out;
}
