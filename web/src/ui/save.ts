// Saving the picture as a figure.

import type { App } from "../app";
import { CanvasPainter, SvgPainter } from "../draw/painter";
import { complete, type Asked } from "../draw/compose";
import { drawFigure, figure, type Figure } from "../draw/figure";

function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A name that is valid on every file system. */
export function fileName(app: App, kind: string): string {
  const name = app.sources
    .map((s) =>
      s.info.name
        .replace(/^.*\//, "")
        .replace(/\.trace$/, "")
        .replace(/[^A-Za-z0-9._-]+/g, "_"),
    )
    .join("-and-");
  return `${name.slice(0, 80) || "trace"}.${kind}`;
}

/** Painter that only measures. */
const measurer = () => new CanvasPainter(new OffscreenCanvas(1, 1).getContext("2d")!);

/** The figure of the canvas's size, with all its data. */
async function figureOf(app: App): Promise<Figure> {
  const { view, sources, theme } = app;
  const { clientWidth: width, clientHeight: height } = app.canvas;
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  const asked = { view: { ...view, scroll: 0 }, sources, theme, width, height, ratio };
  await complete({ ...asked, figure: true } satisfies Asked);
  return figure(asked, measurer());
}

export async function savePng(app: App): Promise<void> {
  const drawn = await figureOf(app);
  const { ratio } = drawn.scene;
  const canvas = new OffscreenCanvas(drawn.width * ratio, drawn.height * ratio);
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  drawFigure(new CanvasPainter(context), drawn);
  download(fileName(app, "png"), await canvas.convertToBlob({ type: "image/png" }));
}

export async function saveSvg(app: App): Promise<void> {
  const drawn = await figureOf(app);
  const painter = new SvgPainter(drawn.width, drawn.height, measurer(), dataUrl);
  drawFigure(painter, drawn);
  download(
    fileName(app, "svg"),
    new Blob([painter.finish(app.sources.map((s) => s.info.name).join(" and "))], { type: "image/svg+xml" }),
  );
}

function dataUrl(source: OffscreenCanvas): string {
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height;
  canvas.getContext("2d")!.drawImage(source, 0, 0);
  return canvas.toDataURL("image/png");
}
