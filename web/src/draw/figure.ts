// A figure: the scene and its legend in one picture, with all rows.

import { AXIS } from "../model/layout";
import { compose, type Asked } from "./compose";
import { drawLegend, legendOf, placeLegend, type Placed } from "./legend";
import type { Painter } from "./painter";
import { drawPicture } from "./picture";
import type { Scene } from "./scene";

export interface Figure {
  scene: Scene;
  legend: Placed;
  width: number;
  height: number;
}

/** Pixels that a row has, and that all rows together have, if no height is asked for. */
const ROW = 24;
const ROWS = { few: 480, many: 1000 };

/** The figure of a width, and of a height: what is asked for, or what the content needs if that is more. */
export function figure(
  asked: Omit<Asked, "height" | "figure"> & { height: number | null },
  p: Painter,
): Figure {
  const view = { ...asked.view, scroll: 0 };
  const at = (height: number) => compose({ ...asked, view, height, figure: true });
  const least = at(0);
  const legend = placeLegend(legendOf(least.scene), asked.width, p);
  const rows = least.scene.panels.reduce((sum, panel) => sum + panel.rows.rows.length, 0);
  const natural = Math.min(ROW * rows, Math.max(ROWS.few, Math.min(rows, ROWS.many)));
  const fixed = least.content - least.scene.panels.reduce((sum, panel) => sum + panel.rows.height, 0);
  const room = asked.height === null ? fixed + natural : asked.height - legend.height - AXIS;
  const { scene, content } = at(AXIS + Math.max(room, least.content));
  const height = Math.ceil(AXIS + content);
  return { scene: { ...scene, height }, legend, width: asked.width, height: height + legend.height };
}

export function drawFigure(p: Painter, { scene, legend, width, height }: Figure): void {
  drawPicture(p, scene);
  p.rect(0, scene.height, width, height - scene.height, scene.theme.paper);
  drawLegend(p, scene, legend, scene.height);
}
