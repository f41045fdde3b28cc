// The whole picture, from a scene.

import { AXIS, GUTTER } from "../model/layout";
import { hashName } from "../model/colour";
import type { Span } from "../model/levels";
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
import { levelOf, plotWidth, slicesHere, xOf, type Drawing, type Scene, type Source } from "./scene";
import { drawArrows, drawGlyphs, drawSlices, shownSlices, type RowOf } from "./slices";
import { drawStrips, stripData } from "./strips";
import { drawTrack } from "./track";

const ROWS_NAME: Record<Rows, string> = {
  core: "core",
  thread: "thread",
  process: "process",
  program: "program",
};

/** The row's key of a thread. A thread of an unknown process counts for its program: all threads of its name. */
export function keyOf(scene: Pick<Scene, "view">, { threads }: Source): (thread: number) => number {
  const program = (thread: number) => hashName(threads.name(thread));
  switch (scene.view.rows) {
    case "process":
      return (thread) => {
        const process = threads.get(thread)?.process;
        return process ? -1 - process.process : program(thread);
      };
    case "program":
      return program;
    default:
      return (thread) => thread;
  }
}

export function drawPicture(p: Painter, scene: Scene): void {
  const { theme } = scene;
  p.rect(0, 0, scene.width, scene.height, theme.paper);
  const strips = stripData(scene);
  p.clip(0, AXIS, scene.width, scene.height - AXIS, () => {
    for (const panel of scene.panels) {
      const top = AXIS + panel.y - scene.view.scroll;
      if (top > scene.height || top + panel.height < AXIS) continue;
      const source = scene.sources[panel.trace]!;
      if (panel.trace > 0) p.line(0, top - 4.5, scene.width, top - 4.5, theme.line);
      const y0 = top + panel.rowsY;
      const drawing = { p, scene, source, panel, top, y0, rows: rowsSeen(scene, panel, AXIS) };
      const below = panel.height - panel.rowsY - 14;
      drawGutter(drawing);
      p.clip(GUTTER, AXIS, plotWidth(scene), scene.height - AXIS, () => {
        drawRows(drawing);
        drawGrid(p, scene, y0, below);
      });
      drawTrack(drawing);
      drawStrips(drawing, strips);
      drawEnd(p, scene, source.info.duration, y0, below);
    }
    drawArea(p, scene);
    for (const panel of scene.panels)
      drawTitle(p, scene, scene.sources[panel.trace]!, panel, AXIS + panel.y - scene.view.scroll);
  });
  drawAxis(p, scene, scene.figure ? ROWS_NAME[scene.view.rows] : "");
  if (scene.view.area) p.clip(0, 0, scene.width, AXIS, () => drawArea(p, scene));
}

function drawRows(drawing: Drawing): void {
  const { p, scene, source, rows } = drawing;
  if (rows.length === 0) return;
  drawEmptyRows(drawing);
  const byCore = scene.view.rows === "core";
  const by = new Map(rows.map((row) => [row.key, row]));
  const key = keyOf(scene, source);
  const rowOf: RowOf = byCore ? (core) => by.get(core) : (_, thread) => by.get(key(thread));
  const chunks = slicesHere(scene, source);
  const whole =
    chunks.length > 0 && chunks.length === source.chunks.of(levelOf(scene, source), scene.span).length;
  if (!whole) {
    if (byCore) (scene.figure ? drawWhole : drawCells)(drawing);
    else drawStays(drawing, stays(scene, source, key));
  }
  if (chunks.length === 0) return;
  const shown = shownSlices(scene, chunks);
  const inside = () => {
    if (!whole) for (const chunk of chunks) drawEmptyPiece(drawing, chunk.span);
    if (byCore) drawSets(drawing);
    drawSlices(drawing, rowOf, shown);
    if (byCore) drawMarks(drawing);
  };
  // A dense chunk may lie between loaded ones, so each is drawn separately.
  if (whole) inside();
  else
    for (const { span } of chunks)
      p.clip(xOf(scene, span.from), AXIS, xOf(scene, span.to) - xOf(scene, span.from), scene.height, inside);
  drawGlyphs(drawing, rowOf, shown.marks);
  drawArrows(drawing, rowOf, shown.slices);
}

function drawEmptyPiece(drawing: Drawing, span: Span): void {
  const { p, scene, panel, y0 } = drawing;
  const x = xOf(scene, span.from);
  p.clip(x, AXIS, xOf(scene, span.to) - x, scene.height, () => {
    p.rect(x, y0, xOf(scene, span.to) - x, panel.rows.height, scene.theme.paper);
    drawEmptyRows(drawing);
  });
}
