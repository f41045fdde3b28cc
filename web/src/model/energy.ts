// Energy of a whole machine over time.

import { first } from "./bisect";

/** Pairs of a time and the energy from the beginning until then, in microjoules. In order of time. */
export type Energy = readonly (readonly [time: number, uj: number])[];

/** The energy until a time, in microjoules: between two samples in proportion to the time. */
export function energyAt(samples: Energy, time: number): number {
  const next = first(0, samples.length, (i) => samples[i]![0] >= time);
  const [from, before] = samples[next - 1] ?? [0, 0];
  const [to, after] = samples[next] ?? [from, before];
  return to > from ? before + ((after - before) * Math.max(0, time - from)) / (to - from) : before;
}

/** Mean power in watts; NaN where it is unknown. */
export function watts(samples: Energy, from: number, to: number): number {
  const end = samples.length > 0 ? samples[samples.length - 1]![0] : 0;
  const [first, last] = [Math.max(0, from), Math.min(end, to)];
  if (last <= first) return NaN;
  return ((energyAt(samples, last) - energyAt(samples, first)) / (last - first)) * 1e3;
}
