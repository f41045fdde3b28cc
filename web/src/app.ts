// The page: it holds the view, fetches what the view needs, and draws it.

import * as api from "./data/api";
import type { Field, NamedView, Slice, TraceInfo } from "./data/api";
import { Fetches } from "./data/cache";
import { Chunks } from "./data/chunks";
import { Threads } from "./data/threads";
import { Tiles } from "./data/tiles";
import { rowsOf, stays, styleEpoch } from "./draw/cells";
import { CanvasPainter } from "./draw/painter";
import { drawPicture, keyOf } from "./draw/picture";
import { fieldsFor, type Style } from "./draw/raster";
import { levelOf, plotWidth, slicesHere, timeAt, visible, type Scene, type Source } from "./draw/scene";
import { STRIP_FIELDS } from "./draw/strips";
import { DARK, frequency, LIGHT, type Theme } from "./model/colour";
import { AXIS, layout, type Panel } from "./model/layout";
import { next, tilesOf, type Span } from "./model/levels";
import { clampSpan, fromHash, initial, toHash, type View } from "./model/state";
import { passes } from "./model/filter";

/** Prefetching starts after this many ms without input. */
const CALM = 100;

type Run = (signal: AbortSignal) => Promise<void>;

export class App {
  view: View = initial();
  readonly sources: Source[];
  /** The end of the longest trace. */
  readonly end: number;
  /** Cores that ever ran a thread; `null` until it is known. */
  private readonly used: (Uint8Array | null)[];
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
    this.sources = infos.map((info, index) => ({
      index,
      info,
      tiles: new Tiles(index, info),
      chunks: new Chunks(index, info),
      threads: new Threads(index, info.threads, () => this.redraw()),
    }));
    this.end = Math.max(1, ...infos.map((info) => info.duration));
    this.used = infos.map(() => null);
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
    this.view = fromHash(location.hash);
    if (this.view.span) this.view.span = clampSpan(this.view.span, this.end);
    if (this.view.selection && !this.sources[this.view.selection.trace]) this.view.selection = null;
    this.redraw();
  }

  /** Writes the view to the URL. */
  writeHash(): void {
    const hash = toHash(this.view);
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  get span(): Span {
    return this.view.span ?? { from: -this.end * 0.002, to: this.end * 1.002 };
  }

  get theme(): Theme {
    const dark =
      this.view.theme === "system"
        ? matchMedia("(prefers-color-scheme: dark)").matches
        : this.view.theme === "dark";
    return dark ? DARK : LIGHT;
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

  private style(source: Source): Style {
    const { view } = this;
    const [low, high] = this.mhz;
    return {
      colour: view.colour,
      marks: view.marks,
      theme: this.theme,
      frequency: (mhz) => frequency((mhz - low) / Math.max(1, high - low)),
      passes: passes(view, source.index, source.threads),
      process: (tid) => source.threads.get(tid)?.name ?? null,
      sets: view.rows === "core" ? source.info.sets.length : 0,
    };
  }

  /** The range of the scale of frequency, which all traces share. */
  get mhz(): [number, number] {
    const ranges = this.sources.map((s) => s.info.khz_range).filter(([low, high]) => high > 0 && high >= low);
    if (ranges.length === 0) return [0, 0];
    return [Math.min(...ranges.map((r) => r[0])) / 1000, Math.max(...ranges.map((r) => r[1])) / 1000];
  }

  compose(
    width = this.canvas.clientWidth,
    height = this.canvas.clientHeight,
    ratio = window.devicePixelRatio || 1,
  ): Scene {
    const { view, theme, span, end, sources } = this;
    const styles = sources.map((source) => this.style(source));
    const scene: Scene = { view, theme, span, end, sources, styles, width, height, ratio, panels: [] };
    const panels = sources.map((source) => {
      const others = view.rows === "core" ? null : this.otherRows(scene, source);
      return {
        info: source.info,
        shown: (core: number) => view.unused || (this.used[source.index]?.[core] ?? 1) > 0,
        others,
      };
    });
    const { panels: placed, height: content } = layout({
      panels,
      group: view.group,
      strips: view.strips,
      height: view.height,
      room: height - AXIS,
    });
    this.contentHeight = content;
    view.scroll = Math.max(0, Math.min(view.scroll, Math.max(0, content - (height - AXIS))));
    return { ...scene, panels: placed };
  }

  private otherRows(scene: Scene, source: Source): { key: number; label: string }[] {
    const all = stays(scene, source, keyOf(scene, source));
    source.threads.want(
      new Set(
        all
          .map((stay) => stay.thread)
          .filter((tid) => tid !== 0)
          .slice(0, 300),
      ),
    );
    const name = (thread: number) => source.threads.name(thread);
    return rowsOf(
      all.filter((stay) => stay.thread !== 0),
      (_, thread) => (scene.view.rows === "process" ? name(thread) : source.threads.label(thread)),
    );
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

  /** The fields that the picture needs of each tile. */
  private fields(scene: Scene, source: Source): Field[] {
    const fields = new Set<Field>(fieldsFor(scene.styles[source.index]!));
    for (const strip of STRIP_FIELDS) if (scene.view.strips.includes(strip as never)) fields.add(strip);
    if (scene.view.strips.includes("sets") && source.info.sets.length > 0) fields.add("set_sizes");
    if (scene.view.rows !== "core") fields.add("thread");
    return [...fields];
  }

  /** Requests missing data. Returns whether the picture is complete. */
  private want(scene: Scene): boolean {
    const wanted = new Map<string, Run>();
    const done = () => this.redraw();
    for (const source of this.sources) {
      const fields = this.fields(scene, source);
      const ids = visible(scene, source);
      const cold = ids.some((id) => !source.tiles.standIn(id, fields));
      const { coarsest } = source.info.levels;
      // The first picture is the whole trace in one tile.
      if (!this.used[source.index]) this.learnUsed(source);
      if (cold || !this.used[source.index])
        this.wantTile(wanted, source, { level: coarsest, index: 0 }, fields, done);
      const middle = (ids.length - 1) / 2 + (ids[0]?.index ?? 0);
      for (const id of [...ids].sort((a, b) => Math.abs(a.index - middle) - Math.abs(b.index - middle)))
        this.wantTile(wanted, source, id, fields, done);
      this.wantOverview(wanted, source, done);
    }
    for (const source of this.sources) this.wantSlices(wanted, scene, source, done);
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
      const fields = this.fields(scene, source);
      for (const id of next(
        levelOf(scene, source),
        scene.span,
        plotWidth(scene),
        middle,
        source.info.duration,
      ))
        this.wantTile(wanted, source, id, fields, done);
    }
  }

  private wantTile(
    wanted: Map<string, Run>,
    source: Source,
    id: { level: number; index: number },
    fields: Field[],
    done: () => void,
  ): void {
    const missing = source.tiles.missing(id, fields);
    if (missing.length === 0) return;
    const [key, run] = source.tiles.fetch(id, missing, done);
    wanted.set(key, run);
  }

  overviewTiles(source: Source): { level: number; index: number }[] {
    const level = Math.max(0, source.info.levels.coarsest - 1);
    return tilesOf(level, { from: 0, to: source.info.duration }, source.info.duration);
  }

  private wantOverview(wanted: Map<string, Run>, source: Source, done: () => void): void {
    for (const id of this.overviewTiles(source)) this.wantTile(wanted, source, id, ["cores_used"], done);
  }

  private wantSlices(wanted: Map<string, Run>, scene: Scene, source: Source, done: () => void): void {
    for (const id of source.chunks.of(levelOf(scene, source), scene.span)) {
      if (source.chunks.get(id)) continue;
      const [key, run] = source.chunks.fetch(id, done);
      wanted.set(key, run);
    }
    const { colour, filter } = scene.view;
    if (colour === "process" || filter.name || filter.traced !== undefined)
      for (const id of visible(scene, source)) source.threads.wantTile(source.tiles.get(id)?.fields.thread);
    const here = slicesHere(scene, source);
    if (here.length > 0)
      source.threads.want(
        new Set(
          here.flatMap((chunk) => chunk.slices.map((slice) => slice.thread)).filter((tid) => tid !== 0),
        ),
      );
  }

  private learnUsed(source: Source): void {
    const busy = source.tiles.get({ level: source.info.levels.coarsest, index: 0 })?.fields.busy;
    if (!busy) return;
    const used = new Uint8Array(source.info.cores.length);
    for (let cell = 0; cell < busy.length; cell++) if (busy[cell]) used[cell >> 8] = 1;
    this.used[source.index] = used;
    if (!this.view.unused) this.redraw();
  }

  private failed(error: unknown): void {
    const help = error instanceof api.ApiError && error.help ? `\n${error.help}` : "";
    this.showMessage(`${error instanceof Error ? error.message : String(error)}${help}`);
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
