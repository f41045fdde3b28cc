// The execution traces of one machine and governor. They share the window and all scales.

import { drawAxis, drawBrackets, drawEnd, drawGrid, drawLabels } from "../draw/frame";
import { CanvasPainter } from "../draw/painter";
import { raster, type Style } from "../draw/raster";
import { plotWidth, timeAt, type Frame } from "../draw/scene";
import { bars, drawScale, hatch, niceTop } from "../draw/strips";
import { DARK, LIGHT, type Theme } from "../model/colour";
import {
  AXIS,
  BELOW_ROWS,
  coreUnits,
  GUTTER,
  labelled,
  place,
  RIGHT,
  rowAt,
  STRIP,
  type Rows,
} from "../model/layout";
import type { Span } from "../model/levels";
import { zoom } from "../model/state";
import { moment } from "../model/time";
import { el, facts } from "../ui/dom";
import { placeTip } from "../ui/tip";
import { binned, cells, decode, find, underload, type Decoded } from "./data";

/** Pixels that all rows of a trace together aim at; the limits are those of one row. */
const ROOM = 260;
const ROW = { least: 3, most: 14 };
/** Where the rows begin: below the axis, with room for the first label. */
const TOP = AXIS + 6;
/** A shorter drag is a click. */
const SLACK = 4;

export class TraceGroup {
  private readonly panels: Panel[];
  /** The longest trace, in ns. */
  private readonly end: number;
  private readonly mostUnderload: number;
  private readonly unused: HTMLInputElement;
  private readonly whole: HTMLButtonElement;
  private asked = 0;
  span: Span;

  constructor(
    details: HTMLElement,
    readonly tip: HTMLElement,
  ) {
    this.unused = details.querySelector("input")!;
    this.whole = details.querySelector("button")!;
    this.panels = [...details.querySelectorAll<HTMLElement>(".trace")].map(
      (figure) => new Panel(this, figure),
    );
    this.end = Math.max(1, ...this.panels.map((panel) => panel.data.duration));
    this.span = { from: 0, to: this.end };
    const values = this.panels.flatMap((panel) => panel.data.underload.map(([, value]) => value));
    this.mostUnderload = niceTop(values.reduce((a, b) => Math.max(a, b), 1));
    this.whole.addEventListener("click", () => this.show({ from: 0, to: this.end }));
    this.unused.addEventListener("change", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(details);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    this.draw();
  }

  /** Shows a span, or as much of it as the run has. */
  show({ from, to }: Span): void {
    const width = Math.min(this.end, Math.max(this.end * 1e-5, to - from));
    const start = Math.min(Math.max(0, from), this.end - width);
    this.span = { from: start, to: start + width };
    this.whole.disabled = width >= this.end;
    this.redraw();
  }

  zoom(around: number, factor: number): void {
    this.show(zoom(this.span, around, factor));
  }

  /** Moves by a share of the window. */
  move(share: number): void {
    const by = share * (this.span.to - this.span.from);
    this.show({ from: this.span.from + by, to: this.span.to + by });
  }

  redraw(): void {
    this.asked ||= requestAnimationFrame(() => this.draw());
  }

  /** `printing`: on white paper, whatever the screen's theme is. */
  draw(printing = false): void {
    this.asked = 0;
    const dark = !printing && matchMedia("(prefers-color-scheme: dark)").matches;
    const shown = (panel: Panel) => (core: number) => this.unused.checked || panel.used(core);
    const units = this.panels.map((panel) => panel.units(shown(panel)));
    const most = Math.max(1, ...units.map((all) => all.length));
    const height = Math.min(ROW.most, Math.max(ROW.least, Math.floor(ROOM / most)));
    this.panels.forEach((panel, i) =>
      panel.draw(dark ? DARK : LIGHT, place(units[i]!, height), this.mostUnderload),
    );
  }

  /** A line at the same time in all traces. */
  point(x: number | null): void {
    for (const { cursor } of this.panels) {
      cursor.hidden = x === null;
      cursor.style.left = `${x ?? 0}px`;
    }
  }
}

class Panel {
  readonly data: Decoded;
  readonly cursor = el("div", { class: "cursor", hidden: "" });
  private readonly brush = el("div", { class: "brush", hidden: "" });
  private readonly canvas: HTMLCanvasElement;
  private readonly painter: CanvasPainter;
  private readonly frequency: Style["frequency"];
  private rows: Rows = { rows: [], brackets: [], height: 0 };

  constructor(
    private readonly group: TraceGroup,
    figure: HTMLElement,
  ) {
    const json = JSON.parse(figure.querySelector("script")!.textContent!);
    this.data = decode(json);
    this.frequency = binned(json);
    this.canvas = figure.querySelector("canvas")!;
    this.canvas.parentElement!.append(this.cursor, this.brush);
    this.painter = new CanvasPainter(this.canvas.getContext("2d", { alpha: false })!);
    this.pointer();
    this.keys();
  }

  used(core: number): boolean {
    return this.data.lanes[core]!.from.length > 0;
  }

  units(shown: (core: number) => boolean): ReturnType<typeof coreUnits> {
    const { cores } = this.data;
    const places = cores.map(({ socket }, i) => ({ physical: i, llc: socket, numa: socket, socket }));
    return coreUnits(places, ["socket"], shown).map((unit) => ({ ...unit, label: cores[unit.key]!.label }));
  }

  get width(): number {
    return this.canvas.clientWidth;
  }

  private get stripTop(): number {
    return TOP + Math.max(this.rows.height, 20) + BELOW_ROWS;
  }

  draw(theme: Theme, rows: Rows, mostUnderload: number): void {
    this.rows = rows;
    const { canvas, painter: p, data } = this;
    const [width, height] = [this.width, this.stripTop + STRIP + 2];
    if (width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    p.c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const frame: Frame = { span: this.group.span, width, height, theme };
    p.rect(0, 0, width, height, theme.paper);
    drawBrackets(p, frame, rows.brackets, TOP);
    drawLabels(p, frame, labelled(rows.rows), TOP, 58, () => false);
    if (rows.rows.length === 0) p.text(GUTTER + 6, TOP + 14, "No core was busy.", { fill: theme.quiet });
    p.clip(GUTTER, AXIS, plotWidth(frame), height, () => {
      this.drawRows(frame, ratio);
      drawGrid(p, frame, AXIS, this.stripTop + STRIP - AXIS);
    });
    this.drawUnderload(frame, mostUnderload);
    drawEnd(p, frame, data.duration, AXIS, this.stripTop + STRIP - AXIS);
    drawAxis(p, frame);
  }

  private drawRows(frame: Frame, ratio: number): void {
    const { rows } = this.rows;
    if (rows.length === 0) return;
    const columns = Math.max(1, Math.round(plotWidth(frame) * ratio));
    const style: Style = {
      colour: "frequency",
      marks: [],
      theme: frame.theme,
      frequency: this.frequency,
      look: null,
      selected: null,
      program: () => null,
      sets: 0,
    };
    const pixels = raster(cells(this.data.lanes, frame.span, columns), rows, ratio, style, columns);
    const picture = new OffscreenCanvas(pixels.width, pixels.height);
    picture.getContext("2d")!.putImageData(pixels, 0, 0);
    const [y, h] = [TOP + rows[0]!.y, pixels.height / ratio];
    this.painter.image(picture, 0, columns, GUTTER, y, plotWidth(frame), h);
    // The page shows between the sockets, not the colour of an idle core.
    const { brackets } = this.rows;
    brackets.slice(1).forEach((bracket, i) => {
      const above = brackets[i]!.y + brackets[i]!.h;
      this.painter.rect(GUTTER, TOP + above, plotWidth(frame), bracket.y - above, frame.theme.paper);
    });
  }

  private drawUnderload(frame: Frame, most: number): void {
    const [top, bottom] = [this.stripTop, this.stripTop + STRIP];
    const { theme } = frame;
    drawScale(this.painter, frame, top, bottom, most, [["underload", theme.quiet]]);
    const { mean, peak } = underload(this.data, frame.span, Math.ceil(plotWidth(frame)));
    const yOf = (value: number) => bottom - (value / most) * (STRIP - 2);
    bars(this.painter, peak, yOf, bottom, theme.underloadSoft);
    bars(this.painter, mean, yOf, bottom, theme.underload);
    hatch(this.painter, GUTTER, peak, yOf, bottom, theme.paper);
  }

  // ---- pointer and keys ------------------------------------------------------------------------------

  private inside(x: number): number {
    return Math.max(GUTTER, Math.min(x, this.width - RIGHT));
  }

  private timeAt(x: number): number {
    return timeAt({ span: this.group.span, width: this.width }, this.inside(x));
  }

  private pointer(): void {
    const { canvas, brush, group } = this;
    let start: number | null = null;
    const stop = () => {
      start = null;
      brush.hidden = true;
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button || event.offsetX < GUTTER) return;
      start = this.inside(event.offsetX);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const x = this.inside(event.offsetX);
      group.point(x);
      if (start !== null) {
        brush.hidden = Math.abs(x - start) < SLACK;
        brush.style.left = `${Math.min(x, start)}px`;
        brush.style.width = `${Math.abs(x - start)}px`;
      }
      this.tell(event);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (start !== null && !brush.hidden) {
        const [a, b] = [this.timeAt(start), this.timeAt(event.offsetX)];
        group.show({ from: Math.min(a, b), to: Math.max(a, b) });
      }
      stop();
    });
    canvas.addEventListener("pointercancel", stop);
    canvas.addEventListener("pointerleave", () => {
      group.tip.hidden = true;
      group.point(null);
    });
    canvas.addEventListener("dblclick", () => group.show({ from: 0, to: Infinity }));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** The wheel alone scrolls the page. */
  private wheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey)
      this.group.zoom(this.timeAt(event.offsetX), 2 ** (event.deltaY / 240));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.group.move(event.deltaX / plotWidth(this));
    else return;
    event.preventDefault();
  }

  private keys(): void {
    const { group } = this;
    const middle = () => (group.span.from + group.span.to) / 2;
    const actions: Record<string, () => void> = {
      "+": () => group.zoom(middle(), 0.5),
      "-": () => group.zoom(middle(), 2),
      ArrowLeft: () => group.move(-0.2),
      ArrowRight: () => group.move(0.2),
      "0": () => group.show({ from: 0, to: Infinity }),
    };
    // The viewer's keys, too.
    Object.assign(actions, {
      "=": actions["+"],
      w: actions["+"],
      s: actions["-"],
      a: actions.ArrowLeft,
      d: actions.ArrowRight,
    });
    this.canvas.addEventListener("keydown", (event) => {
      const action = actions[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      action();
      event.preventDefault();
    });
  }

  private tell(event: PointerEvent): void {
    const { tip } = this.group;
    const content = event.offsetX < GUTTER ? null : this.describe(event.offsetX, event.offsetY);
    tip.hidden = content === null;
    if (!content) return;
    tip.replaceChildren(...content);
    const { clientWidth: right, clientHeight: bottom } = document.documentElement;
    placeTip(tip, event.clientX, event.clientY, { left: 0, right, bottom });
  }

  private describe(x: number, y: number): Node[] | null {
    const { data, group } = this;
    const time = this.timeAt(x);
    if (time > data.duration) return null;
    const row = rowAt(this.rows.rows, y - TOP);
    if (!row) {
      const value = y < this.stripTop ? undefined : data.underload.findLast(([start]) => start <= time)?.[1];
      const text = value === undefined ? null : String(Math.round(value * 10) / 10);
      return [
        facts([
          ["at", moment(time)],
          ["underload", text],
        ]),
      ];
    }
    const lane = data.lanes[row.key]!;
    // A piece within a pixel counts: short ones are hard to hit.
    const near = (group.span.to - group.span.from) / plotWidth(this);
    const i = find(lane, time - near);
    const busy = i < lane.from.length && lane.from[i]! <= time + near;
    const { label, socket } = data.cores[row.key]!;
    const ghz = !busy ? null : lane.mhz[i] ? `${(lane.mhz[i]! / 1000).toFixed(2)} GHz` : "unknown";
    const load = busy ? `${Math.round(lane.busy[i]! * 100)}%` : "idle";
    return [
      el("b", {}, `core ${label}, socket ${socket}`),
      facts([
        ["at", moment(time)],
        ["frequency", ghz],
        ["load", load],
      ]),
    ];
  }
}
