// The page: it holds the view, fetches what the view needs, and draws it.

import { errorText, type NamedView, type Slice, type TraceInfo } from "./data/api";
import { Fetches } from "./data/cache";
import { styleEpoch } from "./draw/cells";
import {
  compose,
  endOf,
  fieldsOf,
  mhzOf,
  sourcesOf,
  spanOf,
  themeOf,
  usedCores,
  wantSlices,
  wantStates,
  wantTile,
  wantTiles,
  wholeTile,
  type Run,
} from "./draw/compose";
import { CanvasPainter } from "./draw/painter";
import { drawPicture } from "./draw/picture";
import { levelOf, plotWidth, slicesHere, timeAt, visible, type Scene, type Source } from "./draw/scene";
import type { Theme } from "./model/colour";
import { AXIS, type Panel } from "./model/layout";
import { next, tilesOf, type Span } from "./model/levels";
import { clampSpan, fromHash, startOf, toHash, type View } from "./model/state";

/** Prefetching starts after this many ms without input. */
const CALM = 100;

export class App {
  view: View;
  /** The view of a link without values. */
  readonly start: View;
  readonly sources: Source[];
  /** The end of the longest trace. */
  readonly end: number;
  /** The traces whose unused cores are known. */
  private readonly learnt = new Set<Source>();
  private readonly painter: CanvasPainter;
  private readonly context: CanvasRenderingContext2D;
  private readonly fetches: Fetches;
  private readonly listeners: ((app: App) => void)[] = [];
  private frame = 0;
  private hashTimer: ReturnType<typeof setTimeout> | undefined;
  private contentHeight = 0;
  private picture: Scene | null = null;
  private drawn = false;
  /** Whether the last picture had all its data. */
  private complete = false;
  /** Time of the last change of the view. */
  private moved = 0;
  private calmTimer: ReturnType<typeof setTimeout> | undefined;
  /** The pointer's x; the user will zoom there. */
  private pointer: number | null = null;

  constructor(
    readonly canvas: HTMLCanvasElement,
    infos: readonly TraceInfo[],
    readonly named: readonly NamedView[],
    private readonly showMessage: (message: string | null) => void,
  ) {
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.painter = new CanvasPainter(this.context);
    this.sources = sourcesOf(infos, () => this.redraw());
    this.end = endOf(this.sources);
    this.start = startOf(infos);
    this.view = { ...this.start };
    this.fetches = new Fetches(6, (_, error) => this.failed(error));
    canvas.addEventListener("pointermove", (event) => (this.pointer = event.offsetX));
    canvas.addEventListener("pointerleave", () => (this.pointer = null));
    this.readHash();
  }

  /** Registers a listener that runs after each picture. */
  onDraw(listener: (app: App) => void): void {
    this.listeners.push(listener);
  }

  change(patch: Partial<View>): void {
    this.moved = performance.now();
    Object.assign(this.view, patch);
    if (patch.span)
      this.view.span = this.whole(clampSpan(patch.span, this.end)) ? null : clampSpan(patch.span, this.end);
    this.redraw();
    clearTimeout(this.hashTimer);
    this.hashTimer = setTimeout(() => this.writeHash(), 150);
  }

  private whole(span: Span): boolean {
    return span.from <= 0 && span.to >= this.end && span.to - span.from > this.end * 1.03;
  }

  readHash(): void {
    this.moved = performance.now();
    this.view = fromHash(location.hash, this.start);
    if (this.view.span) this.view.span = clampSpan(this.view.span, this.end);
    if (this.view.selection && !this.sources[this.view.selection.trace]) this.view.selection = null;
    this.redraw();
  }

  /** Writes the view to the URL. */
  writeHash(): void {
    const hash = toHash(this.view, this.start);
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  get span(): Span {
    return spanOf(this.view, this.end);
  }

  get theme(): Theme {
    const dark =
      this.view.theme === "system"
        ? matchMedia("(prefers-color-scheme: dark)").matches
        : this.view.theme === "dark";
    return themeOf(dark);
  }

  get scrollMost(): number {
    return Math.max(0, this.contentHeight - (this.canvas.clientHeight - AXIS));
  }

  get scene(): Scene {
    return this.picture ?? this.compose();
  }

  redraw(): void {
    this.picture = null;
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  // ---- composing -----------------------------------------------------------------------------------

  /** The range of the scale of frequency, which all traces share. */
  get mhz(): [number, number] {
    return mhzOf(this.sources);
  }

  compose(
    width = this.canvas.clientWidth,
    height = this.canvas.clientHeight,
    ratio = window.devicePixelRatio || 1,
  ): Scene {
    const { view, theme, sources } = this;
    const { scene, content } = compose({ view, theme, sources, width, height, ratio, figure: false });
    this.contentHeight = content;
    view.scroll = Math.max(0, Math.min(view.scroll, Math.max(0, content - (height - AXIS))));
    return scene;
  }

  private draw(): void {
    this.frame = 0;
    const began = performance.now();
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (width === 0 || height === 0) return;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    const scene = this.compose(width, height, ratio);
    this.picture = scene;
    this.styles(scene);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawPicture(this.painter, scene);
    const complete = this.want(scene);
    this.note(scene, began, complete);
    for (const listener of this.listeners) listener(this);
  }

  /** Cached pictures depend on names only if the colours or the filter do. */
  private styles(scene: Scene): void {
    const { view } = scene;
    const names =
      view.colour === "process" || view.filter.name || view.filter.traced !== undefined
        ? this.sources.map((s) => s.threads.version)
        : [];
    const rows = scene.panels.map((p: Panel) => [p.rows.rows.length, p.rows.rows[0]?.h, p.rows.height]);
    styleEpoch(
      JSON.stringify([
        view.colour,
        view.marks,
        view.group,
        view.filter,
        view.selection?.trace,
        view.selection?.thread,
        view.rows,
        scene.theme.dark,
        scene.ratio,
        names,
        rows,
      ]),
    );
  }

  private note(scene: Scene, began: number, complete: boolean): void {
    performance.measure("hearth:draw", { start: began });
    const anything = this.sources.every((s) => visible(scene, s).some((id) => s.tiles.standIn(id, ["busy"])));
    if (anything && !this.drawn) {
      this.drawn = true;
      performance.mark("hearth:first-picture");
    }
    document.documentElement.dataset.state = complete ? "ready" : "loading";
    if (complete) performance.mark("hearth:complete");
    if (performance.getEntriesByType("measure").length > 400) {
      performance.clearMeasures();
      performance.clearMarks("hearth:complete");
    }
  }

  // ---- fetching ------------------------------------------------------------------------------------

  /** Requests missing data. Returns whether the picture is complete. */
  private want(scene: Scene): boolean {
    const wanted = new Map<string, Run>();
    const done = () => this.redraw();
    for (const source of this.sources) {
      const fields = fieldsOf(scene, source);
      const cold = visible(scene, source).some((id) => !source.tiles.standIn(id, fields));
      // The first picture is the whole trace in one tile.
      const used = usedCores(source);
      if (used && !this.learnt.has(source)) {
        this.learnt.add(source);
        if (!this.view.unused) this.redraw();
      }
      if (cold || !used) wantTile(wanted, source, wholeTile(source), fields, done);
      wantTiles(wanted, scene, source, done);
      this.wantOverview(wanted, source, done);
    }
    for (const source of this.sources) {
      wantSlices(wanted, scene, source, done);
      wantStates(wanted, scene, source, done);
    }
    this.complete = wanted.size === 0;
    if (this.complete) this.lookAhead(wanted, scene);
    this.fetches.want(wanted);
    return this.complete;
  }

  /** Prefetches what the next step is likely to need. The next picture's requests cancel it. */
  private lookAhead(wanted: Map<string, Run>, scene: Scene): void {
    const calm = performance.now() - this.moved;
    clearTimeout(this.calmTimer);
    if (calm < CALM) {
      this.calmTimer = setTimeout(() => void this.want(this.scene), CALM - calm + 1);
      return;
    }
    const middle =
      this.pointer === null ? (scene.span.from + scene.span.to) / 2 : timeAt(scene, this.pointer);
    // The tile may be visible when it arrives.
    const done = () => this.complete || this.redraw();
    for (const source of this.sources) {
      const fields = fieldsOf(scene, source);
      for (const id of next(
        levelOf(scene, source),
        scene.span,
        plotWidth(scene),
        middle,
        source.info.duration,
      ))
        wantTile(wanted, source, id, fields, done);
    }
  }

  overviewTiles(source: Source): { level: number; index: number }[] {
    const level = Math.max(0, source.info.levels.coarsest - 1);
    return tilesOf(level, { from: 0, to: source.info.duration }, source.info.duration);
  }

  private wantOverview(wanted: Map<string, Run>, source: Source, done: () => void): void {
    for (const id of this.overviewTiles(source)) wantTile(wanted, source, id, ["cores_used"], done);
  }

  private failed(error: unknown): void {
    this.showMessage(errorText(error));
    document.documentElement.dataset.state = "failed";
  }

  // ---- slices --------------------------------------------------------------------------------------

  /** The slice of a core at a time, if slices are drawn there. */
  sliceAt(source: Source, core: number, time: number): Slice | null {
    for (const chunk of slicesHere(this.scene, source)) {
      const found = chunk.slices.find(
        (s) => s.core === core && s.thread !== 0 && s.from <= time && time < s.to,
      );
      if (found) return found;
    }
    return null;
  }

  /** Moves the window so that a time is inside it and not near its edge. */
  show(from: number, to: number): void {
    const { span } = this;
    const width = span.to - span.from;
    const margin = width * 0.1;
    if (from >= span.from + margin && Math.min(to, from + width * 0.5) <= span.to - margin) return;
    const middle = to - from > width * 0.6 ? from + width * 0.4 : (from + to) / 2;
    this.change({ span: { from: middle - width / 2, to: middle + width / 2 } });
  }

  get nsPerPixel(): number {
    return (this.span.to - this.span.from) / plotWidth({ width: this.canvas.clientWidth });
  }

  get idle(): boolean {
    return this.fetches.idle;
  }
}
