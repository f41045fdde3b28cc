// The legend of colours and signs.

import type { App } from "../app";
import { lostText } from "../draw/frame";
import { CanvasPainter } from "../draw/painter";
import { glyph } from "../draw/slices";
import { visible, slicesHere } from "../draw/scene";
import {
  css,
  frequency,
  hashed,
  hashName,
  INVERSION,
  kind,
  OVERLOAD,
  queued,
  setColour,
  SPIN,
  UNKNOWN,
} from "../model/colour";
import { el } from "./dom";

let shown = "";

export function legend(app: App, element: HTMLElement): void {
  const { view, theme } = app;
  const slices = app.sources.some((source) => slicesHere(app.scene, source).length > 0);
  const programs = view.colour === "process" ? topPrograms(app) : [];
  const key = JSON.stringify([view.colour, view.marks, theme.dark, slices, programs, view.rows]);
  if (key === shown) return;
  shown = key;
  const swatch = (fill: string, text: string, cls = "") => {
    const square = el("i", cls ? { class: cls } : {});
    square.style.background = fill;
    return el("span", { title: text }, square, text);
  };
  const nodes: Node[] = colours(app, swatch, programs);
  const inSets =
    view.rows === "core"
      ? new Map(app.sources.flatMap((s) => s.info.sets.map((name, i) => [name, i] as const)))
      : new Map<string, number>();
  for (const [name, i] of inSets) nodes.push(swatch(css(setColour(i, theme)), `in ${name}`, "line"));
  if (view.marks.includes("overload")) nodes.push(swatch(css(OVERLOAD), "overload"));
  if (view.marks.includes("inversion")) nodes.push(swatch(css(INVERSION), "inversion", "line"));
  if (view.rows === "core") nodes.push(swatch(css(SPIN), "spinning", "line"));
  if (slices)
    for (const mark of ["fork", "exec", "exit", "migrate", "wakeup", "place"] as const)
      if (view.marks.includes(mark)) nodes.push(sign(mark, theme.ink, theme.paper));
  const lost = app.sources.reduce((sum, { info }) => sum + info.lost.reduce((a, b) => a + b, 0), 0);
  const short = [
    lost > 0 && `${lost.toLocaleString("en")} events lost`,
    app.sources.some(({ info }) => !info.complete) && "incomplete",
  ]
    .filter(Boolean)
    .join(", ");
  const all = app.sources
    .map(({ info }) => lostText(info) && `${info.name}: ${lostText(info)}`)
    .filter(Boolean)
    .join("\n");
  if (short) nodes.push(el("span", { class: "lost", title: all, role: "note" }, `⚠ ${short}`));
  element.replaceChildren(...nodes);
}

type Swatch = (fill: string, text: string, cls?: string) => HTMLElement;

function colours(app: App, swatch: Swatch, programs: readonly string[]): Node[] {
  const { view, theme } = app;
  switch (view.colour) {
    case "frequency": {
      const [low, high] = app.mhz;
      if (high <= 0) return [swatch(css(UNKNOWN), "frequency unknown")];
      const stops = Array.from({ length: 9 }, (_, i) => css(frequency(i / 8))).join(",");
      const bar = el("i", { class: "bar" });
      bar.style.background = `linear-gradient(90deg,${stops})`;
      return [
        el("span", {}, `${(low / 1000).toFixed(1)}`, bar, `${(high / 1000).toFixed(1)} GHz`),
        swatch(css(UNKNOWN), "unknown"),
      ];
    }
    case "queue":
      return [
        el("span", {}, "runnable on the core:"),
        ...[1, 2, 3, 4, 8, 16].map((n) =>
          swatch(css(queued(n, theme)), n === 16 ? "16 and more" : String(n)),
        ),
      ];
    case "reason": {
      const names = [
        ...new Set(app.sources.flatMap((s) => s.info.reasons.map((name, i) => `${i}\n${name}`))),
      ];
      return names
        .map((text) => text.split("\n") as [string, string])
        .map(([i, name]) => swatch(css(kind(Number(i))), name));
    }
    case "thread":
      return [el("span", {}, "colours identify threads"), swatch(css(UNKNOWN), "unknown")];
    case "process":
      return programs.map((name) => swatch(css(hashed(hashName(name), theme)), name));
  }
}

/** The programs with the most visible cells. */
function topPrograms(app: App): string[] {
  const sums = new Map<string, number>();
  for (const source of app.sources) {
    for (const id of visible(app.scene, source)) {
      const threads = source.tiles.get(id)?.fields.thread;
      if (!threads) continue;
      for (let i = 0; i < threads.length; i += 7) {
        const thread = threads[i]!;
        if (thread === 0) continue;
        const name = source.threads.get(thread)?.name;
        if (!name) continue;
        sums.set(name, (sums.get(name) ?? 0) + 1);
      }
    }
  }
  return [...sums]
    .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
    .slice(0, 8)
    .map(([name]) => name);
}

const SIGN: Record<string, string> = { wakeup: "wake-up", place: "placement", migrate: "migration" };

function sign(mark: string, ink: string, paper: string): HTMLElement {
  const ratio = window.devicePixelRatio || 1;
  const canvas = el("canvas", {
    width: String(14 * ratio),
    height: String(14 * ratio),
    "aria-hidden": "true",
  });
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  glyph(
    new CanvasPainter(context),
    mark,
    7,
    mark === "wakeup" ? 4 : mark === "place" ? -3 : 0,
    14,
    ink,
    paper,
  );
  return el("span", {}, canvas, SIGN[mark] ?? mark);
}
