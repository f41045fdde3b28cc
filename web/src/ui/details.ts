// The panel on the right: the selected thread or the marked area.

import type { App } from "../app";
import { length, moment, place, ghz, latency, reasonText, STOPS, threadText } from "./words";
import { button, el, facts } from "./dom";
import type { Follow, Followed } from "./follow";
import type { Sums } from "./area";

export class Details {
  private sums: Sums[] | null = null;

  constructor(
    private readonly app: App,
    private readonly element: HTMLElement,
    private readonly follow: () => Follow,
    private readonly noArea: () => void,
  ) {}

  area(sums: Sums[] | null): void {
    this.sums = sums;
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

  private thread({ trace, thread, slice, at }: Followed): Node[] {
    const follow = this.follow();
    const source = this.app.sources[trace]!;
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
      ),
      facts([
        ["parent", thread.parent ? this.threadLink(trace, thread.parent, "parent") : "none known"],
        ["part of the command", thread.traced ? "yes" : "no"],
        ["names before", names.length ? names.join(", ") : null],
      ]),
    ];
    if (!slice) return nodes;
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
          ["placed", reasonText(source, at?.reason ?? slice.reason)],
          ["frequency seen", ghz(at?.seen_khz)],
        ]),
      );
    }
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
    return nodes;
  }

  private areaFacts(area: { from: number; to: number }): Node[] {
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
      ]),
    ];
    if (!this.sums) return [...nodes, el("p", { class: "sub" }, "adding up …")];
    this.sums.forEach((sums, i) => {
      if (this.sums!.length > 1) nodes.push(el("h3", {}, this.app.sources[i]!.info.name));
      const few = (n: number) => `${sums.capped ? "≥ " : ""}${n.toLocaleString("en")}`;
      nodes.push(
        facts([
          ["cores busy, mean", sums.busy.toFixed(2)],
          ["cores used, most", String(sums.used)],
          ["runnable, most", String(sums.runnable)],
          ["frequency, mean", ghz(sums.khz) ?? "unknown"],
          ["underload, mean", sums.underload.toFixed(2)],
          ["overload", `${(sums.overload / 1e6).toFixed(2)} core-ms`],
          ["inversion", `${(sums.inverted / 1e6).toFixed(2)} core-ms`],
          ["wake-ups", few(sums.wakeups)],
          ["migrations", few(sums.migrations)],
          ["forks", few(sums.forks)],
        ]),
      );
    });
    nodes.push(el("p", { class: "sub" }, `From the index: cells of ${length(this.sums[0]?.bin ?? 0)}.`));
    return nodes;
  }
}
