// What the colours and signs of a scene mean: for the page's legend and for the legend of a figure.

import { grouped } from "../model/time";
import {
  css,
  frequency,
  INVERSION,
  kind,
  looking,
  numbered,
  OVERLOAD,
  queued,
  setColour,
  UNKNOWN,
  type Theme,
} from "../model/colour";
import { teeth } from "./cells";
import { mhzOf } from "./compose";
import { drawWarning, inferredText, lostEvents } from "./frame";
import type { Painter } from "./painter";
import { slicesHere, visible, type Scene } from "./scene";
import { glyph, stripes } from "./slices";
import { hatch } from "./strips";
import { trackColours } from "./track";

/** What has a pattern. */
export type Pattern = "selected" | "dimmed" | "foreign" | "spinning" | "underload";

export type Item =
  | { is: "text"; text: string }
  | { is: "swatch" | "line"; fill: string; text: string }
  | { is: "ramp"; low: string; high: string; stops: string[] }
  | { is: "sign"; mark: string; text: string }
  | { is: "pattern"; pattern: Pattern; text: string }
  | { is: "inferred" | "lost"; text: string };

const SIGN: Record<string, string> = { wakeup: "wake-up", place: "placement", migrate: "migration" };

export function legendOf(scene: Scene): Item[] {
  const { view, theme, sources } = scene;
  const items = colours(scene);
  const { traced, name, thread } = view.filter;
  const pattern = (pattern: Pattern, text: string) => items.push({ is: "pattern", pattern, text });
  if (view.selection) {
    pattern("selected", "selected");
    pattern("dimmed", "others");
  } else if (traced === false || name || thread?.length) pattern("dimmed", "filtered out");
  if (traced) pattern("foreign", "not of the command");
  const line = (fill: string, text: string) => items.push({ is: "line", fill, text });
  if (view.rows === "core") {
    const sets = new Map(sources.flatMap((s) => s.info.sets.map((name, i) => [name, i] as const)));
    for (const [name, i] of sets) line(css(setColour(i, theme)), `in ${name}`);
  }
  if (view.marks.includes("overload")) items.push({ is: "swatch", fill: css(OVERLOAD), text: "overload" });
  if (view.marks.includes("inversion") && sources.some(({ info }) => info.frequency_known))
    line(css(INVERSION), "inversion");
  if (view.rows === "core") pattern("spinning", "spinning");
  if (view.strips.includes("underload")) pattern("underload", "underload");
  if (sources.some((source) => slicesHere(scene, source).length > 0))
    for (const mark of ["fork", "exec", "exit", "migrate", "wakeup", "place"] as const)
      if (view.marks.includes(mark)) items.push({ is: "sign", mark, text: SIGN[mark] ?? mark });
  if (!scene.figure && view.selection) {
    const { running, ready } = trackColours(scene);
    items.push({ is: "swatch", fill: running, text: "selected: running" });
    items.push({ is: "swatch", fill: ready, text: "ready" });
  }
  const inferred = sources.reduce((sum, { info }) => sum + info.inferred, 0);
  if (inferred > 0) items.push({ is: "inferred", text: inferredText(inferred) });
  const lost = sources.reduce((sum, { info }) => sum + lostEvents(info), 0);
  const gaps = [
    lost > 0 && `${grouped(lost)} events lost`,
    sources.some(({ info }) => !info.complete) && "incomplete",
  ];
  const text = gaps.filter(Boolean).join(", ");
  if (text) items.push({ is: "lost", text });
  return items;
}

function colours(scene: Scene): Item[] {
  const { view, theme, sources } = scene;
  const swatch = (fill: string, text: string): Item => ({ is: "swatch", fill, text });
  switch (view.colour) {
    case "frequency": {
      const [low, high] = mhzOf(sources);
      if (high <= 0) return [swatch(css(UNKNOWN), "frequency unknown")];
      const stops = Array.from({ length: 9 }, (_, i) => css(frequency(i / 8)));
      const ghz = (mhz: number) => (mhz / 1000).toFixed(1);
      return [
        { is: "ramp", low: ghz(low), high: `${ghz(high)} GHz`, stops },
        swatch(css(UNKNOWN), "unknown"),
      ];
    }
    case "queue":
      return [
        { is: "text", text: "runnable on the core:" },
        ...[1, 2, 3, 4, 8, 16].map((n) =>
          swatch(css(queued(n, theme)), n === 16 ? "16 and more" : String(n)),
        ),
      ];
    case "reason": {
      const names = new Set(sources.flatMap((s) => s.info.reasons.map((name, i) => `${i}\n${name}`)));
      return [...names]
        .map((text) => text.split("\n") as [string, string])
        .map(([i, name]) => swatch(css(kind(Number(i))), name));
    }
    case "thread":
      return [{ is: "text", text: "colours identify threads" }, swatch(css(UNKNOWN), "unknown")];
    case "process":
      return topPrograms(scene).map(([name, number]) => swatch(css(numbered(number, theme)), name));
  }
}

/** The programs with the most visible cells, and the numbers of their colours. */
function topPrograms(scene: Scene): [string, number][] {
  const sums = new Map<string, number>();
  const numbers = new Map<string, number>();
  for (const source of scene.sources) {
    const { look } = scene.styles[source.index]!;
    for (const id of visible(scene, source)) {
      const threads = source.tiles.get(id)?.fields.thread;
      if (!threads) continue;
      for (let i = 0; i < threads.length; i += 7) {
        const thread = threads[i]!;
        if (thread === 0 || (look && look(thread) !== "full")) continue;
        const { name, colour } = source.threads.get(thread) ?? {};
        if (!name || typeof colour !== "number") continue;
        sums.set(name, (sums.get(name) ?? 0) + 1);
        numbers.set(name, colour);
      }
    }
  }
  return [...sums]
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, 8)
    .map(([name]) => [name, numbers.get(name)!]);
}

// ---- the legend of a figure ------------------------------------------------------------------------

const LINE = 18;
const LEFT = 10;
const GAP = 16;
const BAR = 90;

const TEXT = { fill: "", size: 11 };

/** Where the items are, and the height of all. */
export interface Placed {
  items: { item: Item; x: number; y: number }[];
  height: number;
}

/** Puts the items into lines of a width. */
export function placeLegend(items: readonly Item[], width: number, p: Pick<Painter, "measure">): Placed {
  const out: Placed["items"] = [];
  let [x, y] = [LEFT, 0];
  for (const item of items) {
    const w = widthOf(item, p);
    if (x > LEFT && x + w > width - LEFT) [x, y] = [LEFT, y + LINE];
    out.push({ item, x, y });
    x += w + GAP;
  }
  return { items: out, height: out.length ? y + LINE + 10 : 0 };
}

function widthOf(item: Item, p: Pick<Painter, "measure">): number {
  const text = (text: string) => p.measure(text, TEXT);
  if (item.is === "text") return text(item.text);
  if (item.is === "ramp") return text(item.low) + BAR + text(item.high) + 12;
  return (item.is === "inferred" ? 0 : 15) + text(item.text);
}

export function drawLegend(p: Painter, scene: Scene, placed: Placed, y0: number): void {
  const { theme } = scene;
  const style = { ...TEXT, fill: theme.ink };
  for (const { item, x, y: line } of placed.items) {
    const y = y0 + line + 13;
    switch (item.is) {
      case "text":
      case "inferred":
        p.text(x, y, item.text, { ...style, fill: theme.quiet });
        continue;
      case "ramp": {
        const left = x + p.measure(item.low, style) + 6;
        p.text(x, y, item.low, style);
        // Steps overlap: a seam would show the paper.
        const steps = 45;
        for (let i = 0; i < steps; i++)
          p.rect(
            left + (i * BAR) / steps,
            y - 9,
            BAR - (i * BAR) / steps,
            10,
            css(frequency(i / (steps - 1))),
          );
        p.text(left + BAR + 6, y, item.high, style);
        continue;
      }
      case "swatch":
        p.rect(x, y - 9, 10, 10, item.fill);
        break;
      case "line":
        p.rect(x, y - 5.5, 10, 3, item.fill);
        break;
      case "pattern":
        patternAt(p, item.pattern, x, y - 9, theme);
        break;
      case "sign":
        signAt(p, item.mark, x + 5, y - 11, theme.ink, theme.paper);
        break;
      case "lost":
        drawWarning(p, x, y, theme.warn, theme.paper);
    }
    p.text(x + 15, y, item.text, item.is === "lost" ? { ...style, fill: theme.warn } : style);
  }
}

/** Side of the square of a pattern in the legend. */
export const SQUARE = 11;

/** A pattern in a square. */
export function patternAt(p: Painter, pattern: Pattern, x: number, y: number, theme: Theme): void {
  const square = (fill: string) => p.rect(x, y, SQUARE, SQUARE, fill);
  const example = frequency(0.35);
  switch (pattern) {
    case "selected":
      square(css(example));
      return p.frame(x, y, SQUARE, SQUARE, theme.select, 1.5);
    case "dimmed":
      return square(css(looking(example, "dimmed", theme)));
    case "foreign":
      square(css(theme.foreign));
      return stripes(p, x, y, SQUARE, SQUARE, theme);
    case "spinning":
      square(css(theme.row));
      return p.clip(x, y, SQUARE, SQUARE, () => teeth(p, x, SQUARE, y + SQUARE, SQUARE, theme.spinning));
    case "underload":
      square(theme.underload);
      return hatch(p, x, new Float32Array(SQUARE).fill(1), () => y, y + SQUARE, theme.paper);
  }
}

/** The sign of an event in a square of 14 pixels. */
export function signAt(p: Painter, mark: string, x: number, y: number, ink: string, paper: string): void {
  glyph(p, mark, x, y + (mark === "wakeup" ? 4 : mark === "place" ? -3 : 0), 14, ink, paper);
}
