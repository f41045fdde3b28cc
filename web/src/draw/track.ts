// Tracks of the pinned threads and of the selected one: when they ran, were ready, and were blocked.

import { css, mix, rgb } from "../model/colour";
import { GUTTER } from "../model/layout";
import { BINS } from "../model/levels";
import { plotWidth, visible, xOf, type Drawing, type Scene, type Source } from "./scene";
import type { Painter } from "./painter";
import { bars } from "./strips";

export interface Track {
  running: Float32Array;
  /** Running or ready. */
  runnable: Float32Array;
}

/** The shares in each pixel column; NaN where they are not loaded. */
export function trackOf(scene: Scene, source: Source, thread: number): Track {
  const width = Math.ceil(plotWidth(scene));
  const running = new Float32Array(width).fill(NaN);
  const runnable = new Float32Array(width).fill(NaN);
  const perPixel = (scene.span.to - scene.span.from) / plotWidth(scene);
  for (const id of visible(scene, source)) {
    const tile = source.states.get(thread, id);
    if (!tile) continue;
    const end = Math.min(tile.from + BINS * tile.bin, source.info.duration);
    const first = Math.max(0, Math.floor(xOf(scene, tile.from) - GUTTER));
    const last = Math.min(width, Math.ceil(xOf(scene, end) - GUTTER));
    for (let x = first; x < last; x++) {
      const at = (scene.span.from + x * perPixel - tile.from) / tile.bin;
      const [from, to] = [Math.max(0, at), Math.min(BINS, at + perPixel / tile.bin)];
      if (to <= from) continue;
      const share = (of: Float32Array) => mean(of, from, to);
      // A column on the edge of two tiles gets part of each.
      const part = ((to - from) * tile.bin) / perPixel;
      const ran = share(tile.running);
      running[x] = (running[x] || 0) + ran * part;
      runnable[x] = (runnable[x] || 0) + (ran + share(tile.ready)) * part;
    }
  }
  return { running, runnable };
}

function mean(values: Float32Array, from: number, to: number): number {
  let sum = 0;
  for (let bin = Math.floor(from); bin < to; bin++)
    sum += values[bin]! * (Math.min(to, bin + 1) - Math.max(from, bin));
  return sum / (to - from);
}

/** Colours of running and ready. */
export function trackColours(scene: Pick<Scene, "theme">): { running: string; ready: string } {
  const { theme } = scene;
  return { running: theme.accent, ready: css(mix(rgb(theme.paper), rgb(theme.ink), 0.38)) };
}

export function drawTrack({ p, scene, source, panel, top: y0 }: Drawing): void {
  for (const track of panel.tracks) drawOne(p, scene, source, y0, track);
}

function drawOne(
  p: Painter,
  scene: Scene,
  source: Source,
  y0: number,
  { thread, y, h }: { thread: number; y: number; h: number },
): void {
  const { theme } = scene;
  const [top, bottom] = [y0 + y, y0 + y + h];
  const colours = trackColours(scene);
  const { running, runnable } = trackOf(scene, source, thread);
  const yOf = (share: number) => bottom - Math.max(share > 0 ? 1 : 0, Math.min(1, share) * (bottom - top));
  bars(p, runnable, yOf, bottom, colours.ready);
  bars(p, running, yOf, bottom, colours.running);
  p.line(GUTTER, bottom + 0.5, GUTTER + plotWidth(scene), bottom + 0.5, theme.line);
  const label = { anchor: "end", fill: theme.ink, size: 10.5, most: GUTTER - 16 } as const;
  p.text(GUTTER - 8, (top + bottom) / 2 + 4, source.threads.name(thread), label);
}
