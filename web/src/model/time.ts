// The time axis: ticks, and times as text.

export const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A duration in the unit that fits: `1.25 ms`. */
export function length(ns: number, digits = 3): string {
  const size = Math.abs(ns);
  if (size === 0) return "0 s";
  const [unit, name] = UNITS.find(([unit]) => size >= unit * 0.9995) ?? [1, "ns"];
  const value = ns / unit;
  const whole = Math.max(1, Math.floor(Math.log10(Math.abs(value))) + 1);
  return `${trim(value.toFixed(unit === 1 ? 0 : Math.max(0, digits - whole)))} ${name}`;
}

/** A time in seconds, with digits in groups: `1.234 567 890 s`. */
export function moment(ns: number): string {
  const text = (Math.round(ns) / 1e9).toFixed(9);
  const [whole, fraction] = text.split(".") as [string, string];
  const groups = fraction.match(/.../g) ?? [];
  while (groups.length > 1 && groups[groups.length - 1] === "000") groups.pop();
  return `${whole}.${groups.join(" ")} s`;
}

/** A whole number with its digits in groups: `12,345`. The engine of `hearth picture` has no Intl. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

function trim(number: string): string {
  return number.includes(".") ? number.replace(/\.?0+$/, "") : number;
}

/** The smallest of 1, 2, 5 × 10ⁿ that is at least `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  for (const factor of [1, 2, 5]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

export interface Tick {
  time: number;
  label: string;
}

export interface Ticks {
  ticks: Tick[];
  /** The time that `+` labels are relative to; `null`: labels are absolute. */
  base: number | null;
  step: number;
}

/**
 * Ticks for a span of time, at least `spacing` pixels apart. If absolute labels would be too long, they
 * are relative to a base that is written once: `+2 µs` instead of `1.234567002 s`.
 */
export function ticks(from: number, to: number, width: number, spacing = 90): Ticks {
  const step = Math.max(1, niceStep(((to - from) / Math.max(1, width)) * spacing));
  const first = Math.ceil(from / step) * step;
  const largest = Math.max(Math.abs(from), Math.abs(to));
  // Absolute labels would have more than six significant digits.
  const relative = largest / step > 2e5;
  const base = relative ? Math.floor(from / (step * 1000)) * step * 1000 : null;
  const shown = relative ? to - (base ?? 0) : largest;
  const [unit, name] = UNITS.find(([unit]) => shown >= unit) ?? [1, "ns"];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  const all: Tick[] = [];
  for (let i = 0; first + i * step <= to && i < 1000; i++) {
    const time = first + i * step;
    const value = (time - (base ?? 0)) / unit;
    all.push({ time, label: `${base === null ? "" : "+"}${value.toFixed(decimals)} ${name}` });
  }
  return { ticks: all, base, step };
}
