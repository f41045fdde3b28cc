// The selected thread: selecting it and following it from slice to slice.

import type { App } from "../app";
import * as api from "../data/api";
import type { At, Family, Slice, Thread, Usage, Why } from "../data/api";
import { unknownThread } from "../data/threads";
import { AXIS, GUTTER, rowAt, type Row } from "../model/layout";
import type { Area } from "../model/state";
import { plotWidth, slicesHere, timeAt, type Source } from "../draw/scene";
import { cellAt } from "../draw/cells";
import { keyOf } from "../draw/picture";

export interface Hit {
  source: Source;
  core: number;
  /** Set if rows are threads. */
  thread: number | null;
  row: Row;
  time: number;
}

/** The trace, core and time at a point of the canvas. */
export function hit(app: App, x: number, y: number): Hit | null {
  const scene = app.scene;
  if (x < GUTTER || x > GUTTER + plotWidth(scene) || y < AXIS) return null;
  for (const panel of scene.panels) {
    const y0 = AXIS + panel.y + panel.rowsY - scene.view.scroll;
    const row = rowAt(panel.rows.rows, y - y0);
    if (!row) continue;
    const source = scene.sources[panel.trace]!;
    const time = timeAt(scene, x);
    if (time < 0 || time >= source.info.duration) return null;
    if (scene.view.rows === "core") return { source, core: row.key, thread: null, row, time };
    const key = keyOf(scene, source);
    const core = source.info.cores.findIndex(
      (_, core) => key(cellAt(scene, source, "thread", core, time)) === row.key,
    );
    return { source, core, thread: scene.view.rows === "thread" ? row.key : null, row, time };
  }
  return null;
}

/** The cores whose rows are between two heights of the canvas, of the trace at the first. */
export function coresBetween(app: App, y: number, other: number): Pick<Area, "trace" | "cores"> {
  const { view, panels } = app.scene;
  if (view.rows !== "core") return {};
  for (const { trace, y: panelY, rowsY, rows } of panels) {
    const top = AXIS + panelY + rowsY - view.scroll;
    if (y < top || y >= top + rows.height) continue;
    const [low, high] = [Math.min(y, other) - top, Math.max(y, other) - top];
    const cores = rows.rows.filter((row) => row.y + row.h > low && row.y < high).map((row) => row.key);
    return { trace, cores };
  }
  return {};
}

export interface Followed {
  trace: number;
  thread: Thread;
  slice: Slice | null;
  at: At | null;
  /** `null`: not known, or not yet. */
  why: Why | null;
  /** The totals of the thread in the whole run. */
  usage: Usage | null;
  /** The relatives of its process; `null`: not known, or not yet. */
  family: Family | null;
}

export class Follow {
  followed: Followed | null = null;
  private turn = 0;

  constructor(
    private readonly app: App,
    private readonly changed: (followed: Followed | null) => void,
    private readonly said: (text: string) => void,
  ) {}

  clear(): void {
    this.turn++;
    this.followed = null;
    this.app.change({ selection: null });
    this.changed(null);
  }

  /** Selects the slice at a point. */
  async pick(at: Hit): Promise<void> {
    const { source, time } = at;
    if (at.thread !== null && at.core < 0) return this.select(source.index, at.thread, null);
    const slice = this.app.sliceAt(source, at.core, time);
    if (slice) return this.select(source.index, slice.thread, slice);
    const turn = ++this.turn;
    const there = await api.at(source.index, at.core, time).catch(() => null);
    if (turn !== this.turn) return;
    const thread = at.thread ?? there?.thread ?? 0;
    if (!thread) return this.clear();
    return this.select(source.index, thread, there?.thread === thread ? sliceOf(there) : null);
  }

  async select(trace: number, tid: number, slice: Slice | null): Promise<void> {
    const turn = ++this.turn;
    const source = this.app.sources[trace]!;
    const selection = { trace, thread: tid, ...(slice ? { time: slice.from, core: slice.core } : {}) };
    this.app.change({ selection });
    const known = source.threads.get(tid) ?? unknownThread(tid);
    const last = this.followed?.trace === trace && this.followed.thread.thread === tid ? this.followed : null;
    const family = last?.family ?? null;
    this.followed = { trace, thread: known, slice, at: null, why: null, usage: last?.usage ?? null, family };
    this.changed(this.followed);
    if (!last?.usage) void this.sumUp(trace, tid);
    const [thread, at, why] = await Promise.all([
      api.thread(trace, tid).catch(() => known),
      slice ? api.at(trace, slice.core, slice.from).catch(() => null) : null,
      slice ? api.why(trace, slice.core, slice.from).catch(() => null) : null,
    ]);
    if (turn !== this.turn) return;
    source.threads.learn([thread]);
    // A chunk may have cut the slice; this is its real start.
    const whole =
      slice && at && at.thread === tid
        ? { ...slice, from: at.from ?? slice.from, to: at.to ?? slice.to, stop: at.stop ?? slice.stop }
        : slice;
    if (whole && whole.from !== slice?.from)
      this.app.change({ selection: { trace, thread: tid, time: whole.from, core: whole.core } });
    const { usage } = this.followed;
    const shown = { trace, thread, slice: whole, at, why: why?.thread === tid ? why : null, usage };
    this.followed = { ...shown, family: this.followed.family };
    if (!this.followed.family && thread.process) void this.meet(trace, tid, thread.process.process);
    source.threads.want([thread.parent, slice?.wake?.waker, at?.waker].filter((tid): tid is number => !!tid));
    this.said(`${thread.name}, thread ${tid} selected`);
    this.changed(this.followed);
  }

  /** Fetches the relatives of the thread's process. */
  private async meet(trace: number, thread: number, process: number): Promise<void> {
    const family = await api.family(trace, process).catch(() => null);
    const now = this.followed;
    if (now?.trace !== trace || now.thread.thread !== thread) return;
    this.app.sources[trace]!.threads.want(family?.threads ?? []);
    this.followed = { ...now, family };
    this.changed(this.followed);
  }

  private async sumUp(trace: number, thread: number): Promise<void> {
    const whole = { from: 0, to: Math.max(1, this.app.sources[trace]!.info.duration) };
    const usage = await api.usage(trace, whole, { thread }).catch(() => null);
    const now = this.followed;
    if (now?.trace !== trace || now.thread.thread !== thread) return;
    this.followed = { ...now, usage };
    this.changed(this.followed);
  }

  /** Selects the slice of a core at a time. */
  async selectAt(trace: number, core: number, time: number): Promise<void> {
    const at = await api.at(trace, core, time).catch(() => null);
    if (at?.thread) await this.select(trace, at.thread, sliceOf(at));
  }

  /** Selects a thread's slice on a core at a time, or its next one. */
  async selectNear(trace: number, thread: number, core: number | null, time: number): Promise<void> {
    const at = core === null ? null : await api.at(trace, core, time).catch(() => null);
    if (at?.thread === thread) return this.select(trace, thread, sliceOf(at));
    const next = await api.nextSlice(trace, thread, Math.max(0, time - 1), "forward").catch(() => null);
    await this.select(trace, thread, next);
  }

  /** Restores the selection of a link. */
  async restore(): Promise<void> {
    const selection = this.app.view.selection;
    if (!selection) {
      this.followed = null;
      return this.changed(null);
    }
    const { trace, thread, time, core } = selection;
    const at =
      time === undefined || core === undefined ? null : await api.at(trace, core, time).catch(() => null);
    await this.select(trace, thread, at && at.thread === thread ? sliceOf(at) : null);
  }

  /** Goes to the thread's first visible slice, or to its first slice. */
  async first(): Promise<void> {
    const selection = this.app.view.selection;
    if (!selection) return;
    const from = (time: number) =>
      api.nextSlice(selection.trace, selection.thread, Math.max(0, time), "forward").catch(() => null);
    const slice = (await from(this.app.span.from)) ?? (await from(0));
    if (!slice) return this.said("It never ran");
    this.app.show(slice.from, slice.to);
    await this.select(selection.trace, selection.thread, slice);
  }

  /** Goes to the next or previous slice of the selected thread. */
  async jump(direction: "forward" | "back"): Promise<void> {
    const selection = this.app.view.selection;
    if (!selection) return this.said("Select a thread first");
    const now = this.followed?.slice ?? null;
    const middle = (this.app.span.from + this.app.span.to) / 2;
    const from = now ? now.from : Math.max(0, middle);
    const next = await api.nextSlice(selection.trace, selection.thread, from, direction).catch(() => null);
    if (!next) return this.said(direction === "forward" ? "No later slice" : "No earlier slice");
    this.app.show(next.from, next.to);
    await this.select(selection.trace, selection.thread, next);
  }

  /** Pins the selected thread's track below the rows, or removes it. */
  pin(): void {
    const { selection, pins } = this.app.view;
    if (!selection) return this.said("Select a thread first");
    const { trace, thread } = selection;
    const others = pins.filter((pin) => pin.trace !== trace || pin.thread !== thread);
    const pinned = others.length < pins.length;
    this.app.change({ pins: pinned ? others : [...pins, { trace, thread }] });
    this.said(pinned ? "Unpinned" : "Pinned");
    this.changed(this.followed);
  }

  /** Fits the marked area, the selected slice, or everything. */
  fit(): void {
    const { area, selection } = this.app.view;
    const slice = this.followed?.slice;
    const span = selection && slice ? { from: slice.from, to: slice.to } : area;
    if (!span) return this.app.change({ span: null });
    const air = Math.max(200, (span.to - span.from) * (slice && selection ? 0.6 : 0.03));
    this.app.change({ span: { from: span.from - air, to: span.to + air } });
  }

  /** The visible slices that the selected slice woke. */
  wakees(): Slice[] {
    const { followed } = this;
    if (!followed?.slice) return [];
    const { slice, thread, trace } = followed;
    const source = this.app.sources[trace]!;
    const all = slicesHere(this.app.scene, source).flatMap((chunk) => chunk.slices);
    const woken = all.filter(
      (s) => s.wake && s.wake.waker === thread.thread && s.wake.time >= slice.from && s.wake.time <= slice.to,
    );
    return [...new Map(woken.map((s) => [`${s.core} ${s.from}`, s])).values()];
  }
}

function sliceOf(at: At): Slice {
  const wake =
    at.wake_time === undefined || at.wake_time === null
      ? null
      : { time: at.wake_time, waker: at.waker ?? null, core: at.core };
  return {
    core: at.core,
    thread: at.thread,
    from: at.from ?? at.time,
    to: at.to ?? at.time,
    khz: at.khz ?? 0,
    stop: at.stop ?? null,
    wake,
    reason: typeof at.reason === "number" ? at.reason : null,
  };
}
