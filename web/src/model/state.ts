// The state of the view. The URL's fragment holds all of it, so a link restores the view.

import type { NamedView, TraceInfo } from "../data/api";
import type { Span } from "./levels";

export const COLOURS = ["frequency", "queue", "thread", "process", "reason"] as const;
export type Colour = (typeof COLOURS)[number];

export const MARKS = ["overload", "inversion", "fork", "exec", "exit", "migrate", "wakeup", "place"] as const;
export type Mark = (typeof MARKS)[number];

export const STRIPS = ["underload", "runnable", "cores_used", "sets", "power"] as const;
export type Strip = (typeof STRIPS)[number];

export const HEIGHTS = ["fit", "small", "normal", "large"] as const;
export type Height = (typeof HEIGHTS)[number];

export const ROWS = ["core", "thread", "process", "program"] as const;
export type Rows = (typeof ROWS)[number];

export const GROUPS = ["socket", "llc", "physical"] as const;
export type Group = (typeof GROUPS)[number];

/** Threads that are drawn in full colour; the others are dimmed. */
export interface Filter {
  traced?: boolean;
  name?: string;
  thread?: number[];
}

export interface Selection {
  trace: number;
  thread: number;
  /** Start and core of the selected slice, if there is one. */
  time?: number;
  core?: number;
}

/** A thread whose track stays in the picture. */
export interface Pin {
  trace: number;
  thread: number;
}

/** A marked time; `cores` restricts it to some cores of a trace. */
export interface Area extends Span {
  trace?: number;
  cores?: number[];
}

/** A query in SQL about a trace. */
export interface Sql {
  trace: number;
  query: string;
}

export interface View {
  /** The named view that was applied last. */
  named: string | null;
  /** The visible time; `null`: the whole run. */
  span: Span | null;
  colour: Colour;
  rows: Rows;
  group: Group[];
  marks: Mark[];
  strips: Strip[];
  height: Height;
  /** Whether cores that never ran a thread are shown. */
  unused: boolean;
  filter: Filter;
  selection: Selection | null;
  pins: Pin[];
  area: Area | null;
  /** Set while the box for queries is open. */
  sql: Sql | null;
  scroll: number;
  theme: "system" | "light" | "dark";
}

/** Limit of the pins of a link. */
const MOST_PINS = 20;

export function initial(): View {
  return {
    named: null,
    span: null,
    colour: "frequency",
    rows: "core",
    group: ["socket", "llc", "physical"],
    marks: [...MARKS],
    strips: STRIPS.filter((strip) => strip !== "power"),
    height: "fit",
    unused: false,
    filter: {},
    selection: null,
    pins: [],
    area: null,
    sql: null,
    scroll: 0,
    theme: "system",
  };
}

/**
 * The view that traces begin with. Power is in it if it was measured. If no frequency is known, colours are programs, and
 * threads that are not of the command are dimmed.
 */
export function startOf(
  traces: readonly Pick<TraceInfo, "energy_measured" | "frequency_known" | "traced_threads">[],
): View {
  const start = initial();
  if (traces.some((trace) => trace.energy_measured)) start.strips = [...STRIPS];
  if (traces.length === 0 || traces.some((trace) => trace.frequency_known)) return start;
  start.colour = "process";
  if (traces.every((trace) => trace.traced_threads > 0)) start.filter = { traced: true };
  return start;
}

/** The view with the values of a named one; fields that it lacks get the values of `start`. */
export function withNamed(view: View, named: NamedView | undefined, start: View): View {
  if (!named) return view;
  const some = <T>(list: T[] | undefined, otherwise: T[]) => (list && list.length > 0 ? list : otherwise);
  return {
    ...view,
    rows: named.rows ?? start.rows,
    colour: named.colour ?? start.colour,
    group: some(named.group, start.group),
    marks: some(named.marks, start.marks),
    strips: some(named.strips, start.strips),
    filter: { ...(named.filter ?? start.filter) },
    scroll: 0,
    named: named.name,
  };
}

/** The values that differ from `start`, as `key=value&…`. */
export function toHash(view: View, start: View): string {
  const out = new URLSearchParams();
  if (view.named) out.set("view", view.named);
  if (view.span) out.set("t", spanText(view.span));
  if (view.colour !== start.colour) out.set("colour", view.colour);
  if (view.rows !== start.rows) out.set("rows", view.rows);
  if (!same(view.group, start.group)) out.set("group", view.group.join("."));
  if (!same(view.marks, start.marks)) out.set("marks", view.marks.join("."));
  if (!same(view.strips, start.strips)) out.set("strips", view.strips.join("."));
  if (view.height !== start.height) out.set("height", view.height);
  if (view.unused) out.set("unused", "1");
  const { traced } = view.filter;
  if (traced !== start.filter.traced) out.set("traced", traced === undefined ? "any" : traced ? "1" : "0");
  if (view.filter.name) out.set("name", view.filter.name);
  if (view.filter.thread?.length) out.set("threads", view.filter.thread.join("."));
  const s = view.selection;
  if (s)
    out.set("select", [s.trace, s.thread, ...(s.time === undefined ? [] : [s.time, s.core ?? 0])].join("."));
  if (view.pins.length) out.set("pin", view.pins.map((pin) => `${pin.trace}.${pin.thread}`).join("-"));
  if (view.area) out.set("area", spanText(view.area));
  if (view.area?.cores) out.set("cores", [view.area.trace ?? 0, ...view.area.cores].join("."));
  if (view.sql?.query) out.set("sql", `${view.sql.trace}.${view.sql.query}`);
  if (view.scroll) out.set("scroll", String(Math.round(view.scroll)));
  if (view.theme !== "system") out.set("theme", view.theme);
  return out.toString();
}

/** The view of a link to traces that begin with `start`. Links are untrusted: invalid values are ignored. */
export function fromHash(hash: string, start: View): View {
  const view: View = { ...start, filter: { ...start.filter } };
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const text = (key: string) => given.get(key);
  view.named = text("view");
  view.span = parseSpan(text("t"));
  view.area = parseSpan(text("area"));
  const [trace, ...cores] = numbers(text("cores")) ?? [];
  if (view.area && cores.length > 0) view.area = { ...view.area, trace: trace!, cores };
  view.colour = oneOf(COLOURS, text("colour")) ?? view.colour;
  view.rows = oneOf(ROWS, text("rows")) ?? view.rows;
  view.height = oneOf(HEIGHTS, text("height")) ?? view.height;
  view.theme = oneOf(["system", "light", "dark"] as const, text("theme")) ?? view.theme;
  view.group = someOf(GROUPS, text("group")) ?? view.group;
  view.marks = someOf(MARKS, text("marks")) ?? view.marks;
  view.strips = someOf(STRIPS, text("strips")) ?? view.strips;
  view.unused = text("unused") === "1";
  const traced = oneOf(["0", "1", "any"] as const, text("traced"));
  if (traced === "any") delete view.filter.traced;
  else if (traced) view.filter.traced = traced === "1";
  if (text("name")) view.filter.name = text("name")!;
  const threads = numbers(text("threads"));
  if (threads?.length) view.filter.thread = threads;
  const s = numbers(text("select"));
  if (s && s.length >= 2) {
    view.selection = { trace: s[0]!, thread: s[1]! };
    if (s.length >= 4) Object.assign(view.selection, { time: s[2], core: s[3] });
  }
  const pins = (text("pin") ?? "").split("-").slice(0, MOST_PINS).map(numbers);
  view.pins = pins.flatMap((pin) => (pin?.length === 2 ? [{ trace: pin[0]!, thread: pin[1]! }] : []));
  const sql = /^(\d{1,2})\.(.+)$/s.exec(text("sql") ?? "");
  if (sql) view.sql = { trace: Number(sql[1]), query: sql[2]! };
  const scroll = Number(text("scroll"));
  view.scroll = Number.isFinite(scroll) && scroll > 0 ? scroll : 0;
  return view;
}

function spanText(span: Span): string {
  return `${Math.round(span.from)}-${Math.round(span.to)}`;
}

function parseSpan(text: string | null): Span | null {
  const match = /^(\d{1,16})-(\d{1,16})$/.exec(text ?? "");
  if (!match) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return to > from ? { from, to } : null;
}

function numbers(text: string | null): number[] | null {
  if (!text || !/^\d{1,16}(\.\d{1,16})*$/.test(text)) return null;
  return text.split(".").map(Number);
}

function oneOf<T extends string>(all: readonly T[], text: string | null): T | null {
  return all.find((one) => one === text) ?? null;
}

function someOf<T extends string>(all: readonly T[], text: string | null): T[] | null {
  if (text === null) return null;
  const given = text.split(".");
  return all.filter((one) => given.includes(one));
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.join() === b.join();
}

/** Moves a span into `[0, end]` plus a 2% margin. It keeps its length if it fits. */
export function clampSpan(span: Span, end: number): Span {
  const air = 0.02 * end;
  const least = 100;
  const width = Math.min(Math.max(span.to - span.from, least), end + 2 * air);
  const middle = (span.from + span.to) / 2;
  let from = middle - width / 2;
  from = Math.max(-air, Math.min(from, end + air - width));
  return { from, to: from + width };
}

export function zoom(span: Span, around: number, factor: number): Span {
  return { from: around - (around - span.from) * factor, to: around + (span.to - around) * factor };
}
