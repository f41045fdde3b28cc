// Mouse and keys, as in Perfetto.

import type { App } from "../app";
import { GUTTER, RIGHT } from "../model/layout";
import { COLOURS, zoom } from "../model/state";
import { timeAt } from "../draw/scene";
import { typing } from "./dom";
import type { Area } from "../model/state";
import type { Events } from "./events";
import type { Find } from "./find";
import { coresBetween, hit, type Follow } from "./follow";
import type { Search } from "./search";
import type { Sql } from "./sql";
import type { Tip } from "./tip";

/** Limit of movement during a click, in pixels. */
const SLACK = 4;
/** A drag that goes this far up or down marks the rows between. */
const ACROSS = 24;

interface Parts {
  app: App;
  follow: Follow;
  search: Search;
  tip: Tip;
  find: Find;
  sql: Sql;
  events: Events;
  mark: (area: Area | null) => void;
  help: () => void;
}

export function input(parts: Parts): void {
  pointer(parts);
  wheel(parts);
  keys(parts);
}

let pointerX: number | null = null;

function inside(app: App, x: number): number {
  return Math.max(GUTTER, Math.min(x, app.canvas.clientWidth - RIGHT));
}

function pointer({ app, follow, tip, mark }: Parts): void {
  const { canvas } = app;
  let drag: {
    x: number;
    y: number;
    moved: boolean;
    pan: boolean;
    span: { from: number; to: number };
    scroll: number;
    time: number;
  } | null = null;
  const at = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = at(event);
    if (event.button > 1) return;
    canvas.setPointerCapture(event.pointerId);
    drag = {
      x,
      y,
      moved: false,
      pan: event.shiftKey || event.button === 1 || x < GUTTER,
      span: { ...app.span },
      scroll: app.view.scroll,
      time: timeAt(app.scene, inside(app, x)),
    };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    pointerX = x;
    if (!drag) return tip.move(x, y, hit(app, x, y));
    if (!drag.moved && Math.hypot(x - drag.x, y - drag.y) < SLACK) return;
    drag.moved = true;
    tip.hide();
    if (drag.pan) {
      canvas.classList.add("moving");
      const by = (x - drag.x) * app.nsPerPixel;
      app.change({
        span: { from: drag.span.from - by, to: drag.span.to - by },
        scroll: Math.max(0, drag.scroll - (y - drag.y)),
      });
    } else {
      const other = timeAt(app.scene, inside(app, x));
      const [from, to] = [
        Math.max(0, Math.min(drag.time, other)),
        Math.min(app.end, Math.max(drag.time, other)),
      ];
      const cores = Math.abs(y - drag.y) < ACROSS ? {} : coresBetween(app, drag.y, y);
      if (to > from) app.change({ area: { from: Math.round(from), to: Math.round(to), ...cores } });
    }
  });
  const done = (event: PointerEvent) => {
    const was = drag;
    drag = null;
    canvas.classList.remove("moving");
    if (!was || event.type === "pointercancel") return;
    if (was.moved) return was.pan ? undefined : mark(app.view.area);
    const there = hit(app, ...at(event));
    if (there) void follow.pick(there);
    else if (app.view.selection) follow.clear();
  };
  canvas.addEventListener("pointerup", done);
  canvas.addEventListener("pointercancel", done);
  canvas.addEventListener("pointerleave", () => {
    tip.hide();
    pointerX = null;
  });
  canvas.addEventListener("dblclick", (event) =>
    app.change({ span: zoom(app.span, timeAt(app.scene, inside(app, at(event)[0])), 0.25) }),
  );
}

function wheel({ app, tip }: Parts): void {
  app.canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      tip.hide();
      const scale = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const [dx, dy] = [event.deltaX * scale, event.deltaY * scale];
      const box = app.canvas.getBoundingClientRect();
      const sideways = event.shiftKey ? dx || dy : Math.abs(dx) > Math.abs(dy) ? dx : 0;
      if (event.ctrlKey || event.metaKey || (!sideways && app.scrollMost === 0)) {
        app.change({
          span: zoom(
            app.span,
            timeAt(app.scene, inside(app, event.clientX - box.left)),
            2 ** (Math.max(-300, Math.min(300, dy)) / 240),
          ),
        });
      } else if (sideways) {
        const by = sideways * app.nsPerPixel;
        app.change({ span: { from: app.span.from + by, to: app.span.to + by } });
      } else app.change({ scroll: Math.max(0, Math.min(app.scrollMost, app.view.scroll + dy)) });
    },
    { passive: false },
  );
}

function keys({ app, follow, find, sql, events, search, mark, help }: Parts): void {
  const held = new Map<string, number>();
  let last = 0;
  const step = (now: number) => {
    if (held.size === 0) return;
    const passed = Math.min(60, now - last) / 1000;
    last = now;
    for (const key of held.keys()) move(key, passed);
    requestAnimationFrame(step);
  };
  /** Applies a key held for `seconds`: the window moves by its width in 1.2 s and halves in 0.35 s. */
  const move = (key: string, seconds: number) => {
    const { span } = app;
    const by = ((span.to - span.from) * seconds) / 1.2;
    const around = pointerX === null ? (span.from + span.to) / 2 : timeAt(app.scene, inside(app, pointerX));
    if (key === "a") app.change({ span: { from: span.from - by, to: span.to - by } });
    if (key === "d") app.change({ span: { from: span.from + by, to: span.to + by } });
    if (key === "w") app.change({ span: zoom(span, around, 2 ** (-seconds / 0.35)) });
    if (key === "s") app.change({ span: zoom(span, around, 2 ** (seconds / 0.35)) });
  };
  const MOVES: Record<string, string> = { w: "w", a: "a", s: "s", d: "d", ArrowLeft: "a", ArrowRight: "d" };
  document.addEventListener("keydown", (event) => {
    if (
      typing(event) ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector("dialog[open]")
    )
      return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const moves = MOVES[key];
    if (moves) {
      event.preventDefault();
      if (held.has(moves)) return;
      // A short press has an effect, too.
      move(moves, 0.12);
      held.set(moves, 1);
      last = performance.now();
      if (held.size === 1) requestAnimationFrame(step);
      return;
    }
    const action = actions[key];
    if (!action) return;
    event.preventDefault();
    action(event.shiftKey);
  });
  const release = (event: KeyboardEvent) => {
    const key = MOVES[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (key) held.delete(key);
  };
  document.addEventListener("keyup", release);
  window.addEventListener("blur", () => held.clear());

  const scroll = (by: number) =>
    app.change({ scroll: Math.max(0, Math.min(app.scrollMost, app.view.scroll + by)) });
  const actions: Record<string, (shift: boolean) => void> = {
    "0": () => app.change({ span: null }),
    Home: () => app.change({ span: null }),
    ArrowUp: () => scroll(-60),
    ArrowDown: () => scroll(60),
    PageUp: () => scroll(-400),
    PageDown: () => scroll(400),
    "/": () => search.focus(),
    "?": help,
    ",": () => void follow.jump("back"),
    ".": () => void follow.jump("forward"),
    l: (shift) => void find.go("wakeup", shift),
    o: (shift) => void find.go("overload", shift),
    q: () => sql.toggle(),
    f: () => follow.fit(),
    p: () => follow.pin(),
    e: () => void events.show(),
    m: () => {
      const slice = follow.followed?.slice;
      const { from, to } = app.span;
      mark(
        slice
          ? { from: slice.from, to: slice.to }
          : { from: Math.max(0, Math.round(from)), to: Math.min(app.end, Math.round(to)) },
      );
    },
    c: () => app.change({ colour: COLOURS[(COLOURS.indexOf(app.view.colour) + 1) % COLOURS.length]! }),
    Escape: () => (app.view.selection ? follow.clear() : mark(null)),
  };
}
