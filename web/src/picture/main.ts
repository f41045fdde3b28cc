// The script of `hearth picture`, which runs it in an embedded engine.

import { host, type Canvas } from "./engine";
import * as api from "../data/api";
import { complete, endOf, sourcesOf, themeOf } from "../draw/compose";
import { drawFigure, figure } from "../draw/figure";
import { SvgPainter } from "../draw/painter";
import type { Source } from "../draw/scene";
import { fromHash, startOf, withNamed, type View } from "../model/state";
import { ListPainter } from "./painter";

/** What crates/view/src/picture asks for. */
interface Request {
  /** The part of a viewer's address after `#`. */
  link: string;
  /** The view that applies, before the link's own values. */
  named: string | null;
  /** Values that replace those of view and link. */
  replace: Partial<View>;
  /** Start and end of the window in ns. */
  from: number | null;
  to: number | null;
  width: number;
  height: number | null;
  ratio: number;
  svg: boolean;
}

interface Answer {
  width: number;
  height: number;
  /** The SVG file, or else the operations. */
  svg?: string;
  list?: object[];
}

async function picture(text: string): Promise<string> {
  const request = JSON.parse(text) as Request;
  const sources = sourcesOf(await api.traces(), () => {});
  const view = await viewOf(request, sources);
  const { width, height, ratio } = request;
  const asked = { view, sources, theme: themeOf(view.theme === "dark"), width, ratio };
  await complete({ ...asked, height: height ?? 600, figure: true });
  const list = new ListPainter();
  const drawn = figure({ ...asked, height }, list);
  const answer: Answer = { width: drawn.width, height: drawn.height };
  if (request.svg) {
    const png = (canvas: OffscreenCanvas) => {
      const { width, height, pixels } = canvas as unknown as Canvas;
      return host.png(width, height, pixels);
    };
    const svg = new SvgPainter(drawn.width, drawn.height, list, png);
    drawFigure(svg, drawn);
    answer.svg = svg.finish(sources.map(({ info }) => info.name).join(" and "));
  } else {
    drawFigure(list, drawn);
    answer.list = list.list;
  }
  return JSON.stringify(answer);
}

async function viewOf(request: Request, sources: readonly Source[]): Promise<View> {
  const start = startOf(sources.map(({ info }) => info));
  let view = fromHash(request.link, start);
  const name = request.named ?? view.named;
  const named = name === null ? undefined : (await api.views()).find((one) => one.name === name);
  if (request.named || !/(^|[#&])(colour|rows)=/.test(request.link)) view = withNamed(view, named, start);
  if (request.from !== null || request.to !== null)
    view.span = {
      from: request.from ?? view.span?.from ?? 0,
      to: request.to ?? view.span?.to ?? endOf(sources),
    };
  return { ...view, ...request.replace };
}

Object.assign(globalThis, { picture });
