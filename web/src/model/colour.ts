// Colours. Scales that order something grow lighter all the way, so that the order survives colour
// blindness and grey print. None of them comes near red: red is overload, and nothing else.

export type Rgb = readonly [number, number, number];

/** Cold blue to warm amber, by way of green; evenly spaced, linear between. */
const SCALE: readonly Rgb[] = [
  [52, 64, 158],
  [34, 103, 178],
  [22, 139, 171],
  [43, 172, 142],
  [128, 196, 100],
  [205, 212, 72],
  [255, 221, 87],
];

/** Okabe and Ito's, without their vermilion and black; told apart by the colour-blind. */
const KINDS: readonly Rgb[] = [
  [86, 180, 233],
  [230, 159, 0],
  [0, 158, 115],
  [204, 121, 167],
  [0, 114, 178],
  [240, 228, 66],
  [140, 110, 200],
  [140, 140, 120],
];

export const OVERLOAD: Rgb = [224, 30, 44];
export const INVERSION: Rgb = [190, 60, 214];

export interface Theme {
  dark: boolean;
  paper: string;
  panel: string;
  ink: string;
  quiet: string;
  line: string;
  faint: string;
  accent: string;
  warn: string;
  /** A core that does nothing. */
  row: Rgb;
  /** A thread that is not looked for (filter, selection), and an unknown frequency. */
  unknown: Rgb;
  dimmed: Rgb;
  strip: string;
  stripPeak: string;
  select: string;
}

export const LIGHT: Theme = {
  dark: false,
  paper: "#ffffff",
  panel: "#f6f7f9",
  ink: "#1b1e24",
  quiet: "#5d6470",
  line: "#dfe2e7",
  faint: "#eef0f3",
  accent: "#b8520a",
  warn: "#b3122a",
  row: [244, 245, 247],
  unknown: [150, 155, 165],
  dimmed: [212, 216, 222],
  strip: "#8d98aa",
  stripPeak: "#c3cad5",
  select: "#11141a",
};

export const DARK: Theme = {
  dark: true,
  paper: "#15171b",
  panel: "#1b1e23",
  ink: "#e6e8ec",
  quiet: "#9ca3af",
  line: "#343841",
  faint: "#23262c",
  accent: "#f2a65a",
  warn: "#ff8a80",
  row: [30, 33, 39],
  unknown: [120, 126, 137],
  dimmed: [58, 63, 73],
  strip: "#8b97ab",
  stripPeak: "#434c5c",
  select: "#ffffff",
};

export function css([r, g, b]: Rgb, alpha = 1): string {
  return alpha === 1 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${alpha})`;
}

/** As one pixel of an ImageData on a little-endian machine. */
export function pack([r, g, b]: Rgb, alpha = 255): number {
  return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * share);
  return [at(0), at(1), at(2)];
}

/** A colour of the ordered scale, 0 to 1. In the dark, its dark end is lifted off the page. */
export function ordered(share: number, dark = false): Rgb {
  const x = Math.max(0, Math.min(1, share)) * (SCALE.length - 1);
  const i = Math.min(SCALE.length - 2, Math.floor(x));
  const colour = mix(SCALE[i]!, SCALE[i + 1]!, x - i);
  return dark ? mix(colour, [120, 150, 255], 0.22 * (1 - share)) : colour;
}

/** Runnable threads on a core: 1, 2, 3, 4, 8, 16 and more are told apart. */
export function queueShare(length: number): number {
  return Math.min(1, Math.log2(Math.max(1, length)) / 4);
}

/** One thread is the usual: it stays quiet, and more stand out from the page. */
const QUEUE: readonly Rgb[] = [
  [176, 207, 230],
  [116, 168, 214],
  [72, 121, 190],
  [68, 74, 160],
  [58, 32, 112],
];

export function queued(length: number, dark: boolean): Rgb {
  const share = queueShare(length);
  if (dark) return ordered(0.15 + 0.85 * share, true);
  const x = share * (QUEUE.length - 1);
  const i = Math.min(QUEUE.length - 2, Math.floor(x));
  return mix(QUEUE[i]!, QUEUE[i + 1]!, x - i);
}

export function kind(index: number): Rgb {
  return KINDS[index % KINDS.length]!;
}

/** One of 48 colours for a number or a name; no reds. */
export function hashed(hash: number, dark: boolean): Rgb {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  const hue = 50 + ((mixed % 16) * 290) / 16;
  const tone = (mixed >>> 8) % 3;
  const light = dark ? [0.58, 0.68, 0.78][tone]! : [0.52, 0.63, 0.74][tone]!;
  return oklch(light, [0.13, 0.11, 0.1][tone]!, hue);
}

export function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Björn Ottosson's OKLCH, into sRGB, clamped. */
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

/** Relative luminance, as WCAG has it. */
export function luminance([r, g, b]: Rgb): number {
  const linear = (v: number) => (v <= 10.31475 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Black or white, whichever is better to read on a colour. */
export function inkOn(colour: Rgb): string {
  return luminance(colour) > 0.22 ? "#101216" : "#ffffff";
}
