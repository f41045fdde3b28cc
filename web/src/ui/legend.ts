// The legend of colours and signs.

import type { App } from "../app";
import { lostText } from "../draw/frame";
import { legendOf, patternAt, signAt, SQUARE, type Item } from "../draw/legend";
import { CanvasPainter } from "../draw/painter";
import { el } from "./dom";

let shown = "";

export function legend(app: App, element: HTMLElement): void {
  const items = legendOf(app.scene);
  const key = JSON.stringify([items, app.theme.dark]);
  if (key === shown) return;
  shown = key;
  element.replaceChildren(...items.map((item) => node(app, item)));
}

function node(app: App, item: Item): Node {
  switch (item.is) {
    case "text":
      return el("span", {}, item.text);
    case "ramp": {
      const bar = el("i", { class: "bar" });
      bar.style.background = `linear-gradient(90deg,${item.stops.join(",")})`;
      return el("span", {}, item.low, bar, item.high);
    }
    case "sign":
      return el(
        "span",
        {},
        square(14, (p) => signAt(p, item.mark, 7, 0, app.theme.ink, app.theme.paper)),
        item.text,
      );
    case "pattern": {
      const drawn = square(SQUARE, (p) => patternAt(p, item.pattern, 0, 0, app.theme));
      return el("span", { "data-pattern": item.pattern }, drawn, item.text);
    }
    case "inferred": {
      const title = "The kernel did not report them; they follow from their neighbours";
      return el("span", { class: "inferred", title, role: "note" }, item.text);
    }
    case "lost": {
      const all = app.sources
        .map(({ info }) => lostText(info) && `${info.name}: ${lostText(info)}`)
        .filter(Boolean)
        .join("\n");
      return el("span", { class: "lost", title: all, role: "note" }, `⚠ ${item.text}`);
    }
    default: {
      const square = el("i", item.is === "line" ? { class: "line" } : {});
      square.style.background = item.fill;
      return el("span", { title: item.text }, square, item.text);
    }
  }
}

function square(side: number, draw: (p: CanvasPainter) => void): HTMLElement {
  const ratio = window.devicePixelRatio || 1;
  const size = String(side * ratio);
  const canvas = el("canvas", { width: size, height: size, "aria-hidden": "true" });
  canvas.style.width = canvas.style.height = `${side}px`;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  draw(new CanvasPainter(context));
  return canvas;
}
