// The panel on the right: the selected thread or the marked area.

import type { App } from "../app";
import type { Family, Seen, Usage, Used, Why } from "../data/api";
import { processText } from "../data/threads";
import type { Source } from "../draw/scene";
import { watts } from "../model/energy";
import type { Area } from "../model/state";
import { length, moment, place, ghz, latency, reasonText, setsText, STOPS, threadText } from "./words";
import { button, el, facts } from "./dom";
import type { Follow, Followed } from "./follow";
import type { Sums } from "./area";

/** What is known of the marked area in one trace. */
export interface Marked {
  source: Source;
  sums: Sums;
  usage: Usage | null;
}

/** Mean power of the machine, if it is known anywhere in the area. */
function power({ info }: Source, { from, to }: Area): string | null {
  const mean = watts(info.energy, from, to);
  return Number.isNaN(mean) ? null : `${mean.toPrecision(3)} W`;
}

/** Rows of a list of relatives. */
const SHOWN = 12;

export class Details {
  private marked: readonly Marked[] | null = null;

  constructor(
    private readonly app: App,
    private readonly element: HTMLElement,
    private readonly follow: () => Follow,
    private readonly noArea: () => void,
    private readonly events: () => void,
  ) {}

  area(marked: readonly Marked[] | null): void {
    this.marked = marked;
    this.update();
  }

  update(): void {
    const { followed } = this.follow();
    const { area } = this.app.view;
    const shown = !!followed || !!area;
    if (this.element.hidden === shown) {
      this.element.hidden = !shown;
      this.app.redraw();
    }
    if (!shown) return;
    this.element.replaceChildren(
      ...(followed ? this.thread(followed) : []),
      ...(area ? this.areaFacts(area) : []),
    );
  }

  private threadLink(trace: number, tid: number | null | undefined, id?: string): Node | string | null {
    const source = this.app.sources[trace]!;
    const text = threadText(source, tid);
    if (text === null || !tid) return text;
    const follow = this.follow();
    return button(
      text,
      "Select this thread",
      () => void follow.select(trace, tid, null).then(() => follow.first()),
      { class: "link", ...(id ? { id } : {}) },
    );
  }

  private thread({ trace, thread, slice, at, why, usage, family }: Followed): Node[] {
    const follow = this.follow();
    const source = this.app.sources[trace]!;
    const pinned = this.app.view.pins.some((pin) => pin.trace === trace && pin.thread === thread.thread);
    const names = (thread.names ?? []).filter((name) => name !== thread.name);
    const nodes: Node[] = [
      button("✕", "Close (Esc)", () => follow.clear(), { class: "quiet close", "aria-label": "Close" }),
      el("h2", {}, thread.name || `thread ${thread.thread}`),
      el(
        "p",
        { class: "sub" },
        `thread ${thread.thread}${this.app.sources.length > 1 ? ` in ${source.info.name}` : ""}`,
      ),
      el(
        "div",
        { class: "row" },
        button("‹ previous", "Previous slice (,)", () => void follow.jump("back")),
        button("next ›", "Next slice (.)", () => void follow.jump("forward")),
        button("fit", "Fit the slice into the window (f)", () => follow.fit()),
        button(pinned ? "unpin" : "pin", "Keep its track below the rows (p)", () => follow.pin(), {
          id: "pin",
        }),
        button("events", "Its events, one by one (e)", this.events, { id: "raw" }),
      ),
      facts([
        ["parent", thread.parent ? this.threadLink(trace, thread.parent, "parent") : "none known"],
        ["part of the command", thread.traced ? "yes" : "no"],
        ["names before", names.length ? names.join(", ") : null],
        ["tid", thread.tid === null ? null : String(thread.tid)],
        ["process", thread.process && processText(thread.process)],
      ]),
      ...(family ? this.family(trace, family) : []),
    ];
    if (!slice) return [...nodes, ...totals(source, thread.thread, usage)];
    const wake =
      slice.wake ??
      (at?.wake_time !== null && at?.wake_time !== undefined
        ? { time: at.wake_time, waker: at.waker ?? null }
        : null);
    nodes.push(
      el("h3", {}, "This slice"),
      facts([
        ["on", place(source, slice.core)],
        ["from", moment(slice.from)],
        ["to", moment(slice.to)],
        ["length", length(slice.to - slice.from, 4)],
        ["frequency", ghz(slice.khz || at?.khz) ?? "unknown"],
        ["then", slice.stop ? (STOPS[String(slice.stop).toLowerCase()] ?? String(slice.stop)) : null],
      ]),
    );
    if (wake) {
      nodes.push(
        el("h3", {}, "Woken"),
        facts([
          ["by", this.threadLink(trace, wake.waker, "waker")],
          ["at", moment(wake.time)],
          ["latency", latency(slice, at)],
        ]),
      );
    }
    if (at) nodes.push(...reasons(source, why, !!wake));
    const wakees = follow.wakees();
    if (wakees.length > 0) {
      const list = el("ul", { "aria-label": "Threads that it woke" });
      for (const s of wakees.slice(0, 30))
        list.append(
          el(
            "li",
            {},
            this.threadLink(trace, s.thread),
            el("small", {}, `core ${s.core}, after ${length(s.from - s.wake!.time)}`),
          ),
        );
      nodes.push(el("h3", {}, `It woke ${wakees.length}`), list);
    }
    return [...nodes, ...totals(source, thread.thread, usage)];
  }

  /** The process among its relatives, and its threads. */
  private family(trace: number, { ancestors, children, child_count, threads, thread_count }: Family): Node[] {
    const list = (name: string, items: Node[], all: number) => {
      const more = all - items.length;
      const rest = more > 0 ? [el("li", {}, `and ${more.toLocaleString("en")} more`)] : [];
      return items.length ? [el("ul", { "aria-label": name }, ...items, ...rest)] : [];
    };
    const forked = children.slice(0, SHOWN).map((child) => el("li", {}, processText(child)));
    const own = threads.slice(0, SHOWN).map((tid) => el("li", {}, this.threadLink(trace, tid)));
    const others = thread_count > 1;
    return [
      facts([["forked by", ancestors.map(processText).join(" ‹ ") || null]]),
      ...(child_count > 0 ? [el("h3", {}, `Its process forked ${child_count.toLocaleString("en")}`)] : []),
      ...list("Processes that it forked", forked, child_count),
      ...(others ? [el("h3", {}, `${thread_count.toLocaleString("en")} threads of the process`)] : []),
      ...(others ? list("Threads of the process", own, thread_count) : []),
    ];
  }

  private areaFacts(area: Area): Node[] {
    const nodes: Node[] = [
      button("✕", "Remove the area (Esc)", this.noArea, {
        class: "quiet close",
        "aria-label": "Remove the area",
      }),
      el("h3", {}, "Marked area"),
      facts([
        ["length", length(area.to - area.from, 5)],
        ["from", moment(area.from)],
        ["to", moment(area.to)],
        ["cores", area.cores ? ranges(area.cores) : null],
      ]),
      el("div", { class: "row" }, button("events", "Its events, one by one (e)", this.events)),
    ];
    if (!this.marked) return [...nodes, el("p", { class: "sub" }, "adding up …")];
    for (const { source, sums, usage } of this.marked) {
      if (this.app.sources.length > 1) nodes.push(el("h3", {}, source.info.name));
      const few = (n: number) => `${sums.capped ? "≥ " : ""}${n.toLocaleString("en")}`;
      const all = (text: string | null) => (area.cores ? null : text);
      nodes.push(
        facts([
          ["cores busy, mean", sums.busy.toFixed(2)],
          ["cores used, most", all(String(sums.used))],
          ["runnable, most", all(String(sums.runnable))],
          ["frequency, mean", ghz(sums.khz) ?? "unknown"],
          ["power, mean", all(power(source, area))],
          ["underload, mean", all(waiting(source, sums.underload.toFixed(2)))],
          ["overload", waiting(source, `${(sums.overload / 1e6).toFixed(2)} core-ms`)],
          ["inversion", `${(sums.inverted / 1e6).toFixed(2)} core-ms`],
          ["wake-ups", woken(source, few(sums.wakeups))],
          ["migrations", few(sums.migrations)],
          ["forks", few(sums.forks)],
        ]),
        el("p", { class: "sub" }, `From the index: cells of ${length(sums.bin)}.`),
        ...this.threads(source, area, usage),
      );
    }
    return nodes;
  }

  private threads(source: Source, area: Area, usage: Usage | null): Node[] {
    if (!usage) return [el("p", { class: "sub" }, "counting threads …")];
    const rows = usage.threads.map((one) =>
      el(
        "tr",
        {},
        el("td", {}, this.threadLink(source.index, one.thread)),
        el("td", {}, length(one.running)),
        el("td", {}, percent(one.running / Math.max(1, usage.running))),
        el("td", {}, one.slices.toLocaleString("en")),
        el("td", {}, woken(source, one.wakeups.toLocaleString("en"))),
      ),
    );
    source.threads.want(usage.threads.map((one) => one.thread));
    const heads = ["thread", "ran", "share", "slices", "woken"].map((name) => el("th", {}, name));
    const notes = [
      usage.count > rows.length &&
        `The ${rows.length} of ${usage.count.toLocaleString("en")} that ran longest.`,
      usage.until < Math.min(area.to, source.info.duration) && `Counted up to ${length(usage.until, 5)}.`,
    ].filter(Boolean);
    return [
      el("h3", {}, usage.count === 1 ? "1 thread" : `${usage.count.toLocaleString("en")} threads`),
      el("table", { class: "threads" }, el("tr", {}, ...heads), ...rows),
      el("p", { class: "sub" }, notes.join(" ")),
    ];
  }
}

const percent = (share: number) => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)}%`;

/** Numbers as `0-3, 8`. */
export function ranges(numbers: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const open = runs[runs.length - 1];
    if (open && open[1] === n - 1) open[1] = n;
    else runs.push([n, n]);
  }
  return runs.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(", ");
}

/** What follows from how long threads wait, unless the recording lacks the events for it. */
const waiting = (source: Source, text: string) => (source.info.waiting_known ? text : "unknown");
const woken = (source: Source, text: string) => (source.info.wakeups_known ? text : "unknown");

/** The totals of a thread in the whole run. */
function totals(source: Source, thread: number, usage: Usage | null): Node[] {
  const used: Used | undefined = usage?.threads.find((one) => one.thread === thread);
  if (!usage) return [];
  const until = usage.until < source.info.duration ? `Up to ${length(usage.until, 5)}` : "Whole run";
  if (!used) return [el("h3", {}, until), el("p", { class: "sub" }, "It never ran.")];
  return [
    el("h3", {}, until),
    facts([
      ["running", length(used.running, 4)],
      ["ready", waiting(source, length(used.ready, 4))],
      ["blocked", waiting(source, length(Math.max(0, used.to - used.from - used.running - used.ready), 4))],
      ["slices", used.slices.toLocaleString("en")],
      ["wake-ups", woken(source, used.wakeups.toLocaleString("en"))],
      ["longest wake-up latency", waiting(source, length(used.longest_latency))],
      ["migrations", used.migrations.toLocaleString("en")],
      ["cores used", String(used.cores)],
    ]),
  ];
}

/** The decision that put a slice on its core, and what the policy saw. */
export function reasons(source: Source, why: Why | null, woken: boolean): Node[] {
  const heading = el("h3", {}, "Why here");
  const none = (text: string) => [heading, el("p", { class: "sub" }, text)];
  const moved = why?.migrated;
  const move = moved ? `core ${moved.from} to ${moved.to} at ${moment(moved.time)}` : null;
  if (source.info.reasons.length === 0)
    return none("This trace has no placement decisions: only policies of Hearth report them.");
  if (!why?.placed) {
    if (move) return none(`No decision: load balancing moved it from ${move}.`);
    return none(
      woken ? "The trace has no decision for this wake-up." : "No decision: it was preempted on this core.",
    );
  }
  const { placed, before, previous } = why;
  const seen = (at: Seen | null | undefined) =>
    at &&
    [
      at.queue === 0 ? "idle" : `${at.queue} runnable`,
      ghz(at.khz),
      setsText(source, at.sets) ?? (source.info.sets.length ? "in no set" : null),
    ]
      .filter(Boolean)
      .join(", ");
  const sizes = before?.set_sizes.map((size, set) => `${source.info.sets[set] ?? set} ${size}`).join(", ");
  return [
    heading,
    facts([
      ["placed", reasonText(source, placed.reason)],
      ["decided", `${moment(placed.time)}, on core ${placed.core}`],
      [`core ${placed.target}`, seen(before?.target) ?? null],
      ["frequency seen", ghz(placed.seen_khz)],
      [
        `before on core ${previous}`,
        previous === null || previous === placed.target ? null : (seen(before?.previous) ?? null),
      ],
      ["idle cores", before ? `${before.idle} of ${source.info.cores.length}` : null],
      ["sets", sizes || null],
      ["then moved", move && `from ${move}`],
    ]),
  ];
}
