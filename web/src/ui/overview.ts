// The overview of the whole run, with the window.

import type { App } from "../app";
import { BINS, tileWidth } from "../model/levels";
import { GUTTER, RIGHT } from "../model/layout";

export function overview(app: App, canvas: HTMLCanvasElement): void {
  const context = canvas.getContext("2d")!;
  const timeOf = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    return ((event.clientX - box.left - GUTTER) / Math.max(1, box.width - GUTTER - RIGHT)) * app.end;
  };
  let grip: number | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    const { span } = app;
    const time = timeOf(event);
    const width = span.to - span.from;
    grip = time > span.from && time < span.to && app.view.span ? time - span.from : width / 2;
    canvas.setPointerCapture(event.pointerId);
    move(time);
  });
  canvas.addEventListener("pointermove", (event) => grip !== null && move(timeOf(event)));
  canvas.addEventListener("pointerup", () => (grip = null));
  const move = (time: number) => {
    const width = app.span.to - app.span.from;
    if (app.view.span) app.change({ span: { from: time - grip!, to: time - grip! + width } });
  };

  app.onDraw(() => {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, 30];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { theme, span } = app;
    context.fillStyle = theme.panel;
    context.fillRect(0, 0, width, height);
    const plot = Math.max(1, width - GUTTER - RIGHT);
    const x = (time: number) => GUTTER + (time / app.end) * plot;
    const lane = height / app.sources.length;
    context.fillStyle = theme.strip;
    app.sources.forEach((source, i) => {
      const bins: [number, number, number][] = [];
      for (const id of app.overviewTiles(source)) {
        const used = source.tiles.get(id)?.fields.cores_used;
        const bin = tileWidth(id.level) / BINS;
        if (used) for (let b = 0; b < BINS; b++) bins.push([(id.index * BINS + b) * bin, bin, used[b]!]);
      }
      const most = bins.reduce((m, [, , n]) => Math.max(m, n), 1);
      for (const [time, bin, n] of bins) {
        if (n === 0 || time > source.info.duration) continue;
        const h = Math.max(1, (n / most) * (lane - 4));
        context.fillRect(x(time), (i + 1) * lane - 1 - h, Math.max(0.6, (bin / app.end) * plot), h);
      }
    });
    context.fillStyle = theme.quiet;
    context.font = "10.5px Inter, system-ui, sans-serif";
    context.textAlign = "right";
    context.fillText("whole run", GUTTER - 8, height / 2 + 4);
    if (!app.view.span) return;
    const [a, b] = [Math.max(GUTTER, x(span.from)), Math.min(GUTTER + plot, x(span.to))];
    context.fillStyle = theme.shade;
    context.fillRect(GUTTER, 0, a - GUTTER, height);
    context.fillRect(b, 0, GUTTER + plot - b, height);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(Math.min(a, b - 3), 1, Math.max(3, b - a), height - 2);
  });
}
