// The events of the selection, one by one, below the picture.

import type { App } from "../app";
import * as api from "../data/api";
import type { RawEvent } from "../data/api";
import type { Source } from "../draw/scene";
import { moment } from "../model/time";
import { button, el } from "./dom";
import type { Follow } from "./follow";

/** Rows of the list; the server has at most 1000. */
const MOST = 500;
/** What the second thread of an event is. */
const OTHER: Record<string, string> = { switch: "then", wakeup: "woken by", fork: "child" };

export class Events {
  private turn = 0;

  constructor(
    private readonly app: App,
    private readonly follow: Follow,
    private readonly element: HTMLElement,
  ) {}

  close(): void {
    this.turn++;
    this.element.hidden = true;
    this.app.redraw();
  }

  /** Lists the events of the area or the selected slice, or of the window; of the selected thread only, if there is one. */
  async show(): Promise<void> {
    const { area, selection } = this.app.view;
    const trace = selection?.trace ?? area?.trace ?? 0;
    const source = this.app.sources[trace]!;
    const slice = selection ? this.follow.followed?.slice : null;
    const span = area ?? slice ?? this.app.span;
    const cores = area?.cores && (area.trace ?? 0) === trace ? area.cores : undefined;
    const turn = ++this.turn;
    this.element.hidden = false;
    this.element.dataset.state = "running";
    this.app.redraw();
    try {
      const found = await api.raw(trace, span, { cores, thread: selection?.thread }, MOST);
      if (turn !== this.turn) return;
      source.threads.want(found.events.flatMap(({ thread, other }) => [thread ?? 0, other ?? 0]));
      await source.threads.settled();
      if (turn !== this.turn) return;
      const where = area ? "the marked area" : slice ? "the selected slice" : "the window";
      const of = selection ? `${source.threads.label(selection.thread)}, ` : "";
      const count = found.events.length.toLocaleString("en");
      const first = found.truncated || found.until < Math.min(span.to, source.info.duration);
      this.fill(`${first ? `The first ${count}` : count} events of ${of}${where}`, source, found.events);
      this.element.dataset.state = "ready";
    } catch (error) {
      if (turn !== this.turn) return;
      this.fill(api.errorText(error), source, []);
      this.element.dataset.state = "failed";
    }
  }

  private fill(title: string, source: Source, events: readonly RawEvent[]): void {
    const heads = ["time", "core", "event", "thread", "", "to core", "detail"].map((name) =>
      el("th", {}, name),
    );
    this.element.replaceChildren(
      el(
        "div",
        { class: "ask" },
        el("p", { role: "status" }, title),
        button("✕", "Close", () => this.close(), { class: "quiet close", "aria-label": "Close events" }),
      ),
      el(
        "div",
        { class: "answer", tabindex: "0", "aria-label": "Events" },
        el(
          "table",
          {},
          el("thead", {}, el("tr", {}, ...heads)),
          el("tbody", {}, ...this.rows(source, events)),
        ),
      ),
    );
  }

  private rows(source: Source, events: readonly RawEvent[]): Node[] {
    const thread = (tid: number | null) => {
      if (!tid) return tid === 0 ? "idle" : "";
      const select = () => void this.follow.select(source.index, tid, null);
      return button(source.threads.label(tid), "Select this thread", select, { class: "link" });
    };
    return events.map((event) => {
      const other = el(
        "td",
        {},
        event.other === null ? "" : `${OTHER[event.kind] ?? ""} `,
        thread(event.other),
      );
      return el(
        "tr",
        { "data-seq": String(event.seq) },
        el(
          "td",
          { class: "number" },
          button(moment(event.time), "Show this time", () => this.go(event.time), { class: "link" }),
        ),
        el("td", { class: "number" }, String(event.core)),
        el("td", {}, event.kind),
        el("td", {}, thread(event.thread)),
        other,
        el("td", { class: "number" }, event.target === null ? "" : String(event.target)),
        el("td", {}, event.detail ?? ""),
      );
    });
  }

  private go(time: number): void {
    this.app.show(time, time);
  }
}
