// Colours of the viewer and the report. The values are in crates/base/colours.json; Rust reads it, too.

import table from "../../../crates/base/colours.json";

export type Rgb = readonly [number, number, number];

export function rgb(hex: string): Rgb {
  const part = (at: number) => parseInt(hex.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}

/** Lightness grows from the first to the last colour, also for colour-blind readers. */
const FREQUENCY = table.frequency.map(rgb);
const KINDS = table.kinds.map(rgb);
const SETS = table.sets.map(rgb);

/** An unknown frequency, thread or reason. */
export const UNKNOWN = rgb(table.unknown);
export const BASELINE = rgb(table.baseline);
export const OVERLOAD = rgb(table.overload);
export const INVERSION = rgb(table.inversion);

export interface Theme {
  dark: boolean;
  paper: string;
  panel: string;
  ink: string;
  quiet: string;
  line: string;
  /** Vertical lines over the rows. */
  grid: string;
  /** Covers what is outside a marked area. */
  shade: string;
  accent: string;
  accentSoft: string;
  warn: string;
  /** An idle core. */
  row: Rgb;
  /** A thread that is not of the command. */
  foreign: Rgb;
  /** The idle loop of a core. */
  spinning: string;
  underload: string;
  /** Peaks behind means. */
  underloadSoft: string;
  strip: string;
  select: string;
  queue: readonly Rgb[];
  /** Lightness and chroma (OKLCH) of the colours of threads and programs. */
  names: readonly (readonly number[])[];
}

function theme(dark: boolean): Theme {
  const from = dark ? table.dark : table.light;
  return {
    ...from,
    dark,
    accentSoft: from.accent_soft,
    row: rgb(from.row),
    underloadSoft: from.underload_soft,
    foreign: rgb(from.foreign),
    queue: from.queue.map(rgb),
  };
}

export const LIGHT = theme(false);
export const DARK = theme(true);

export function css([r, g, b]: Rgb): string {
  return `rgb(${r},${g},${b})`;
}

/** An opaque pixel of an ImageData on a little-endian machine. */
export function pack([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * share);
  return [at(0), at(1), at(2)];
}

/** A ramp of evenly spaced colours at `share`, 0 to 1. */
function along(ramp: readonly Rgb[], share: number): Rgb {
  const x = Math.max(0, Math.min(1, share)) * (ramp.length - 1);
  const i = Math.min(ramp.length - 2, Math.floor(x));
  return mix(ramp[i]!, ramp[i + 1]!, x - i);
}

/** The colour of a frequency at `share` of the machine's range, 0 to 1. */
export function frequency(share: number): Rgb {
  return along(FREQUENCY, share);
}

/** The position of a number of runnable threads on its ramp: 1, 2, 3, 4, 8, and 16 or more differ. */
export function queueShare(length: number): number {
  return Math.min(1, Math.log2(Math.max(1, length)) / 4);
}

export function queued(length: number, theme: Theme): Rgb {
  return along(theme.queue, queueShare(length));
}

export function kind(index: number): Rgb {
  return KINDS[index % KINDS.length]!;
}

export function setColour(set: number, theme: Theme): Rgb {
  const colour = SETS[set % SETS.length]!;
  return theme.dark ? mix(colour, rgb(theme.ink), 0.12) : colour;
}

/**
 * The colour of a number: those below 39 differ, and the first 13 of them in hue. Red is left out: it means overload.
 * crates/view/src/server/programs.rs gives numbers to programs.
 */
export function numbered(number: number, theme: Theme): Rgb {
  const { hues } = table;
  const [light, chroma] = theme.names[Math.floor(number / hues.length) % theme.names.length]!;
  return oklch(light!, chroma!, hues[number % hues.length]!);
}

/** The colour of a thread, from its number. */
export function hashed(thread: number, theme: Theme): Rgb {
  return numbered(Math.imul(thread ^ (thread >>> 15), 0x2c1b3c6d) >>> 0, theme);
}

/** How a thread is drawn: in its colour, in a paler one, or as one that is not of the command. */
export type Look = "full" | "dimmed" | "foreign";

/** The colour of a thread that has `colour` in full. */
export function looking(colour: Rgb, look: Look, theme: Theme): Rgb {
  if (look === "foreign") return theme.foreign;
  return look === "full" ? colour : mix(colour, theme.row, 0.5);
}

/** FNV-1a. */
export function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Björn Ottosson's OKLCH in sRGB, clamped. */
export function oklch(light: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const gamma = (x: number) => {
    const v = x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.max(0, Math.min(1, v)));
  };
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** Relative luminance (WCAG). */
export function luminance([r, g, b]: Rgb): number {
  const linear = (v: number) => (v <= 10.31475 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** The more readable text colour on a background. */
export function inkOn(background: Rgb): string {
  return luminance(background) > 0.22 ? table.on_light : table.on_dark;
}
