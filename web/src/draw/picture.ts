// The whole picture, from a scene.

import { AXIS, GUTTER, type Panel, type Row } from "../model/layout";
import { hashName } from "../model/colour";
import {
  drawCells,
  drawEmptyRows,
  drawMarks,
  drawSets,
  drawStays,
  drawWhole,
  rowsSeen,
  stays,
} from "./cells";
import { drawArea, drawAxis, drawEnd, drawGrid, drawGutter, drawTitle } from "./frame";
import type { Rows } from "../model/state";
import type { Painter } from "./painter";
import { levelOf, plotWidth, slicesHere, xOf, type Scene, type Source } from "./scene";
import { drawArrows, drawGlyphs, drawSlices, shownSlices, type RowOf } from "./slices";
import { drawStrips, stripData } from "./strips";
import { drawTrack } from "./track";

const ROWS_NAME: Record<Rows, string> = { core: "core", thread: "thread", process: "program" };

/** The row's key of a thread, for rows that are threads or programs. */
export function keyOf(scene: Pick<Scene, "view">, source: Source): (thread: number) => number {
  return scene.view.rows === "process"
    ? (thread) => hashName(source.threads.name(thread))
    : (thread) => thread;
}

export function drawPicture(p: Painter, scene: Scene): void {
  const { theme } = scene;
  p.rect(0, 0, scene.width, scene.height, theme.paper);
  const strips = stripData(scene);
  p.clip(0, AXIS, scene.width, scene.height - AXIS, () => {
    for (const panel of scene.panels) {
      const y0 = AXIS + panel.y - scene.view.scroll;
      if (y0 > scene.height || y0 + panel.height < AXIS) continue;
      const source = scene.sources[panel.trace]!;
      if (panel.trace > 0) p.line(0, y0 - 4.5, scene.width, y0 - 4.5, theme.line);
      const rows = rowsSeen(scene, panel, AXIS);
      drawGutter(p, scene, source, panel, y0 + panel.rowsY, rows);
      p.clip(GUTTER, AXIS, plotWidth(scene), scene.height - AXIS, () => {
        drawRows(p, scene, source, panel, y0 + panel.rowsY, rows);
        drawGrid(p, scene, y0 + panel.rowsY, panel.height - panel.rowsY - 14);
      });
      drawTrack(p, scene, source, panel, y0);
      drawStrips(p, scene, source, panel, y0, strips);
      drawEnd(p, scene, source.info.duration, y0 + panel.rowsY, panel.height - panel.rowsY - 14);
    }
    drawArea(p, scene);
    for (const panel of scene.panels)
      drawTitle(p, scene, scene.sources[panel.trace]!, panel, AXIS + panel.y - scene.view.scroll);
  });
  drawAxis(p, scene, scene.figure ? ROWS_NAME[scene.view.rows] : "");
  if (scene.view.area) p.clip(0, 0, scene.width, AXIS, () => drawArea(p, scene));
}

function drawRows(
  p: Painter,
  scene: Scene,
  source: Source,
  panel: Panel,
  y0: number,
  rows: readonly Row[],
): void {
  if (rows.length === 0) return;
  drawEmptyRows(p, scene, source, panel, y0, rows);
  const byCore = scene.view.rows === "core";
  const by = new Map(rows.map((row) => [row.key, row]));
  const key = keyOf(scene, source);
  const rowOf: RowOf = byCore ? (core) => by.get(core) : (_, thread) => by.get(key(thread));
  const chunks = slicesHere(scene, source);
  const whole =
    chunks.length > 0 && chunks.length === source.chunks.of(levelOf(scene, source), scene.span).length;
  if (!whole) {
    if (byCore) (scene.figure ? drawWhole : drawCells)(p, scene, source, y0, rows);
    else drawStays(p, scene, source, y0, rows, stays(scene, source, key));
  }
  if (chunks.length === 0) return;
  const shown = shownSlices(scene, chunks);
  const inside = () => {
    if (!whole) for (const chunk of chunks) drawEmptyPiece(p, scene, source, panel, y0, rows, chunk.span);
    if (byCore) drawSets(p, scene, source, y0, rows);
    drawSlices(p, scene, source, y0, rowOf, shown);
    if (byCore) drawMarks(p, scene, source, y0, rows);
  };
  // A dense chunk may lie between loaded ones, so each is drawn separately.
  if (whole) inside();
  else
    for (const { span } of chunks)
      p.clip(xOf(scene, span.from), AXIS, xOf(scene, span.to) - xOf(scene, span.from), scene.height, inside);
  drawGlyphs(p, scene, y0, source, rowOf, shown.marks);
  drawArrows(p, scene, source, y0, rowOf, shown.slices);
}

function drawEmptyPiece(
  p: Painter,
  scene: Scene,
  source: Source,
  panel: Panel,
  y0: number,
  rows: readonly Row[],
  span: { from: number; to: number },
): void {
  const x = xOf(scene, span.from);
  p.clip(x, AXIS, xOf(scene, span.to) - x, scene.height, () => {
    p.rect(x, y0, xOf(scene, span.to) - x, panel.rows.height, scene.theme.paper);
    drawEmptyRows(p, scene, source, panel, y0, rows);
  });
}
