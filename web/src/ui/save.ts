// Saving the picture as a file.

import type { App } from "../app";
import { CanvasPainter, SvgPainter } from "../draw/painter";
import { drawPicture } from "../draw/picture";

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

export async function savePng(app: App): Promise<void> {
  const { clientWidth: w, clientHeight: h } = app.canvas;
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  const canvas = new OffscreenCanvas(w * ratio, h * ratio);
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  drawPicture(new CanvasPainter(context), app.compose(w, h));
  download(fileName(app, "png"), await canvas.convertToBlob({ type: "image/png" }));
}

export function saveSvg(app: App): void {
  const { clientWidth: w, clientHeight: h } = app.canvas;
  const measurer = new CanvasPainter(new OffscreenCanvas(1, 1).getContext("2d")!);
  const painter = new SvgPainter(w, h, measurer, dataUrl);
  drawPicture(painter, app.compose(w, h));
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
