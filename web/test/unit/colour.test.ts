import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BASELINE,
  DARK,
  INVERSION,
  LIGHT,
  OVERLOAD,
  UNKNOWN,
  css,
  frequency,
  hashed,
  inkOn,
  kind,
  looking,
  luminance,
  mix,
  numbered,
  queueShare,
  queued,
  rgb,
  setColour,
  type Rgb,
} from "../../src/model/colour";

/** Types of colour vision: normal, and the simulations of Machado et al. (2009) at severity 1. */
const SIGHT: Record<string, number[][]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const linear = (v: number) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);

/** Linear RGB as seen with a type of colour vision. */
function seen(colour: Rgb, sight: number[][]): [number, number, number] {
  const [r, g, b] = colour.map(linear) as [number, number, number];
  const at = ([x, y, z]: number[]) => Math.max(0, Math.min(1, x! * r + y! * g + z! * b));
  return [at(sight[0]!), at(sight[1]!), at(sight[2]!)];
}

function oklab([r, g, b]: readonly number[]): [number, number, number] {
  const l = Math.cbrt(0.4122214708 * r! + 0.5363325363 * g! + 0.0514459929 * b!);
  const m = Math.cbrt(0.2119034982 * r! + 0.6806995451 * g! + 0.1073969566 * b!);
  const s = Math.cbrt(0.0883024619 * r! + 0.2817188376 * g! + 0.6299787005 * b!);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** The OKLab distance of two colours for a type of colour vision. Black to white is 100. */
function distanceFor(sight: number[][], a: Rgb, b: Rgb): number {
  const [p, q] = [oklab(seen(a, sight)), oklab(seen(b, sight))];
  return 100 * Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

/** The smallest distance over all types of colour vision. */
const distance = (a: Rgb, b: Rgb) =>
  Math.min(...Object.values(SIGHT).map((sight) => distanceFor(sight, a, b)));

const ramp = Array.from({ length: 41 }, (_, i) => frequency(i / 40));
const kinds = [0, 1, 2, 3, 4, 5].map(kind);
const lightness = (colours: readonly Rgb[], sight: number[][]) =>
  colours.map((colour) => oklab(seen(colour, sight))[0]);

function apart(name: string, colour: Rgb, others: readonly Rgb[], least: number): void {
  for (const other of others) {
    const d = distance(colour, other);
    assert.ok(d >= least, `${name} ${css(colour)} and ${css(other)}: ${d.toFixed(1)} < ${least}`);
  }
}

test("higher frequencies are lighter for every type of colour vision", () => {
  for (const sight of Object.values(SIGHT)) {
    const light = lightness(ramp, sight);
    for (let i = 1; i < light.length; i++) assert.ok(light[i]! > light[i - 1]!, `${i} of ${light}`);
  }
});

test("both ends of the frequency ramp contrast with idle rows, light and dark", () => {
  for (const theme of [LIGHT, DARK]) apart("the row", theme.row, [ramp[0]!, ramp[40]!], 10);
});

test("overload differs from all other colours for every type of colour vision", () => {
  apart("overload", OVERLOAD, ramp, 12);
  apart("overload", OVERLOAD, [INVERSION, UNKNOWN, LIGHT.row, DARK.row], 10);
  apart("overload", OVERLOAD, kinds, 8);
  for (const theme of [LIGHT, DARK])
    apart(
      "overload",
      OVERLOAD,
      [1, 2, 4, 16].map((n) => queued(n, theme)),
      8,
    );
});

test("inversion and unknown differ from all frequencies", () => {
  apart("inversion", INVERSION, ramp, 7);
  apart("unknown", UNKNOWN, ramp, 7);
});

test("categories differ from each other and from the baseline", () => {
  kinds.forEach((colour, i) => apart("category", colour, [BASELINE, ...kinds.slice(0, i)], 7));
});

test("more runnable threads have more contrast for every type of colour vision", () => {
  const lengths = [1, 2, 3, 4, 8, 16];
  for (const theme of [LIGHT, DARK]) {
    for (const sight of Object.values(SIGHT)) {
      const light = lightness(
        lengths.map((n) => queued(n, theme)),
        sight,
      );
      for (let i = 1; i < light.length; i++)
        assert.ok(theme.dark ? light[i]! > light[i - 1]! : light[i]! < light[i - 1]!, `${light}`);
    }
  }
  assert.deepEqual([0, 1, 2, 4, 16, 99].map(queueShare), [0, 0, 0.25, 0.5, 1, 1]);
});

test("names are readable on the colours of threads", () => {
  const contrast = (a: number, b: number) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  for (let i = 0; i < 200; i++) {
    for (const theme of [LIGHT, DARK]) {
      const colour = hashed(i * 7919, theme);
      assert.ok(contrast(luminance(colour), luminance(rgb(inkOn(colour)))) >= 3.5, css(colour));
    }
  }
});

/**
 * Least distance of marks that are looked up in the legend one by one. Two colours side by side differ for most readers from
 * about 2 on; of lines of one to three pixels that lie apart, the eye sees a fraction of the colour, so it takes much more.
 */
const MARKS_APART = 15;

test("underload, spinning and a core in primary differ for every type of colour vision", () => {
  for (const theme of [LIGHT, DARK]) {
    const marks = [rgb(theme.underload), rgb(theme.spinning), setColour(0, theme)];
    marks.forEach((colour, i) => apart("mark", colour, marks.slice(0, i), MARKS_APART));
    // What spinning is drawn on, and beside.
    const tinted = [0, 1, 2, 3].map((set) => mix(theme.row, setColour(set, theme), theme.dark ? 0.2 : 0.16));
    apart("spinning", rgb(theme.spinning), [theme.row, ...tinted], MARKS_APART);
    apart("spinning", rgb(theme.spinning), [...ramp, OVERLOAD, INVERSION, setColour(1, theme)], MARKS_APART);
    apart("underload", rgb(theme.underload), [setColour(1, theme), rgb(theme.strip)], 12);
    apart("underload", rgb(theme.underload), [rgb(theme.paper)], MARKS_APART);
  }
});

test("dimmed threads and those that are not of the command are no idle rows, and have two looks", () => {
  for (const theme of [LIGHT, DARK]) {
    apart("foreign", theme.foreign, [theme.row], 10);
    const pale = [...ramp, ...numbers.map((number) => numbered(number, theme))].map((colour) =>
      looking(colour, "dimmed", theme),
    );
    apart("an idle row", theme.row, pale, 4);
    // Without one of the cones, some pale colours are nearly grey. Stripes tell these apart.
    for (const colour of pale) {
      const d = distanceFor(SIGHT.normal!, theme.foreign, colour);
      assert.ok(d >= 5, `foreign and ${css(colour)}: ${d.toFixed(1)}`);
    }
  }
});

const numbers = Array.from({ length: 39 }, (_, i) => i);

test("programs have 39 colours, whose first thirteen differ in hue", () => {
  for (const theme of [LIGHT, DARK]) {
    const colours = numbers.map((number) => numbered(number, theme));
    assert.equal(new Set(colours.map(css)).size, 39);
    assert.deepEqual(numbered(39, theme), colours[0]);
    colours.forEach((a, i) =>
      colours.slice(0, i).forEach((b) => assert.ok(distanceFor(SIGHT.normal!, a, b) > 3.5, css(a))),
    );
  }
});
