// Energy of a whole machine over time.

/** Pairs of a time and the energy from the beginning until then, in microjoules. In order of time. */
export type Energy = readonly (readonly [time: number, uj: number])[];

/** The energy until a time, in microjoules: between two samples in proportion to the time. */
export function energyAt(samples: Energy, time: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples[middle]![0] < time) low = middle + 1;
    else high = middle;
  }
  const [from, before] = low > 0 ? samples[low - 1]! : [0, 0];
  const [to, after] = low < samples.length ? samples[low]! : [from, before];
  return to > from ? before + ((after - before) * Math.max(0, time - from)) / (to - from) : before;
}

/** Mean power in watts; NaN where it is unknown. */
export function watts(samples: Energy, from: number, to: number): number {
  const end = samples.length > 0 ? samples[samples.length - 1]![0] : 0;
  const [first, last] = [Math.max(0, from), Math.min(end, to)];
  if (last <= first) return NaN;
  return ((energyAt(samples, last) - energyAt(samples, first)) / (last - first)) * 1e3;
}
