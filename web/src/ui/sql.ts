// The box for queries in SQL, below the picture. A row that names a time or a thread leads to it. Tables and columns are
// completed.

import type { App } from "../app";
import * as api from "../data/api";
import type { Table } from "../data/api";
import { complete, type Column, type Completion } from "../model/complete";
import { cellText, placeOf, type Place } from "../model/rows";
import { button, el } from "./dom";
import { bring } from "./find";
import type { Follow } from "./follow";

const EXAMPLES: readonly [string, string][] = [
  [
    "longest wake-up latencies",
    "SELECT name, latency, woken, ran, on_core, thread FROM latencies JOIN threads USING (thread)\nORDER BY latency DESC LIMIT 100",
  ],
  [
    "longest slices",
    "SELECT name, duration, start, ended, core, thread FROM slices JOIN threads USING (thread)\nORDER BY duration DESC LIMIT 100",
  ],
  [
    "CPU time by thread",
    "SELECT name, thread, sum(duration) / 1e6 AS ms, count(*) AS slices FROM slices JOIN threads USING (thread)\nGROUP BY ALL ORDER BY ms DESC",
  ],
  [
    "migrations between dies",
    "SELECT name, time, from_core, to_core, distance, thread FROM moves JOIN threads USING (thread)\nWHERE distance IN ('numa', 'machine') ORDER BY time",
  ],
  ["placements by reason", "SELECT reason, count(*) AS n FROM placements GROUP BY reason ORDER BY n DESC"],
  [
    "CPU time by process",
    "SELECT p.name, p.pid, sum(duration) / 1e6 AS ms, count(DISTINCT thread) AS threads, min(thread) AS thread\nFROM slices JOIN threads USING (thread) JOIN processes p USING (process)\nGROUP BY p.process, p.name, p.pid ORDER BY ms DESC",
  ],
  ["the tables and their columns", "SELECT * FROM columns"],
];

export class Sql {
  private readonly text = el("textarea", {
    rows: "3",
    spellcheck: "false",
    "aria-label": "Query in SQL",
    placeholder: "SELECT … (Ctrl-Enter runs it, Ctrl-Space completes)",
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": "sql-words",
  });
  private readonly words = el("ul", { id: "sql-words", role: "listbox", "aria-label": "Words", hidden: "" });
  /** The tables and columns; `null`: not asked for. */
  private columns: Promise<Column[]> | null = null;
  private completion: Completion | null = null;
  /** The chosen word, if the user moved to one. */
  private chosen: number | null = null;
  private readonly trace = el("select", { "aria-label": "Trace", id: "sql-trace" });
  private readonly said = el("p", { role: "status" });
  private readonly answer = el("div", { class: "answer", tabindex: "0", "aria-label": "Answer" });
  private running = new AbortController();

  constructor(
    private readonly app: App,
    private readonly follow: Follow,
    private readonly element: HTMLElement,
  ) {
    const traces = app.sources.filter(({ info }) => info.sql);
    for (const { index, info } of traces)
      this.trace.append(el("option", { value: String(index) }, info.name));
    this.trace.hidden = traces.length < 2;
    const examples = el(
      "select",
      { "aria-label": "Examples", id: "sql-examples" },
      el("option", { value: "" }, "Examples"),
      ...EXAMPLES.map(([name, query]) => el("option", { value: query }, name)),
    );
    examples.addEventListener("change", () => {
      this.text.value = examples.value;
      examples.value = "";
      this.text.focus();
      void this.run();
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.run();
      else if (event.key === " " && event.ctrlKey) void this.suggest(true);
      else if (this.completion) this.choose(event);
      else if (event.key === "Escape") this.text.blur();
      else return;
      if (event.key === " ") event.preventDefault();
    });
    this.text.addEventListener("input", () => void this.suggest(false));
    this.text.addEventListener("blur", () => this.close());
    this.text.addEventListener("click", () => this.close());
    element.append(
      el(
        "div",
        { class: "ask" },
        this.text,
        this.words,
        el(
          "div",
          { class: "acts" },
          button("Run", "Run the query (Ctrl-Enter)", () => void this.run(), { id: "sql-run" }),
          examples,
          this.trace,
          button("✕", "Close", () => this.toggle(), { class: "quiet close", "aria-label": "Close SQL" }),
        ),
      ),
      this.said,
      this.answer,
    );
  }

  /** Opens or closes the box. */
  toggle(): void {
    const first = this.app.sources.find(({ info }) => info.sql);
    if (!first) return;
    if (!this.element.hidden) this.running.abort();
    this.app.change({
      sql: this.element.hidden ? { trace: Number(this.trace.value), query: this.text.value } : null,
    });
    this.show();
    if (!this.element.hidden) this.text.focus();
  }

  /** Shows and runs the query of a link. */
  restore(): void {
    const { sql } = this.app.view;
    const there = sql && this.app.sources[sql.trace]?.info.sql;
    if (!there) this.app.view.sql = null;
    this.show();
    if (!there || !sql.query || sql.query === this.text.value) return;
    this.text.value = sql.query;
    this.trace.value = String(sql.trace);
    void this.run();
  }

  // ---- completion ----------------------------------------------------------------------------------

  /** Shows the words that fit; `asked`: also if nothing is typed of them. */
  private async suggest(asked: boolean): Promise<void> {
    const columns = await this.known();
    if (document.activeElement !== this.text) return;
    const { value, selectionEnd } = this.text;
    const found = complete(value, selectionEnd, columns);
    const begun = found.from < selectionEnd || value[selectionEnd - 1] === ".";
    if (found.words.length === 0 || (!asked && !begun)) return this.close();
    this.completion = found;
    this.chosen = null;
    this.words.replaceChildren(
      ...found.words.map(({ word, note }, nth) => {
        const item = el(
          "li",
          { role: "option", id: `sql-word-${nth}` },
          el("b", {}, word),
          el("span", {}, note),
        );
        item.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          this.accept(nth);
        });
        return item;
      }),
    );
    this.words.hidden = false;
    this.words.scrollTop = 0;
    this.mark();
  }

  /** The tables and columns. Without a database there are none, and the first query says so. */
  private known(): Promise<Column[]> {
    const first = this.app.sources.find(({ info }) => info.sql);
    const query = 'SELECT "table", "column", type, unit, meaning FROM columns';
    this.columns ??= api.sql(first!.index, query, new AbortController().signal).then(
      ({ rows }) =>
        (rows as [string, string | null, string | null, string | null, string][]).map(
          ([table, column, type, unit, meaning]) => ({ table, column, type, unit, meaning }),
        ),
      () => [],
    );
    return this.columns;
  }

  /** A key while words are shown. Enter takes a word only if the user moved to it. */
  private choose(event: KeyboardEvent): void {
    const last = this.completion!.words.length - 1;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const next = this.chosen === null ? (step > 0 ? 0 : last) : this.chosen + step;
      this.chosen = Math.max(0, Math.min(last, next));
      this.mark();
    } else if (event.key === "Tab" || (event.key === "Enter" && this.chosen !== null)) {
      this.accept(this.chosen ?? 0);
    } else if (event.key === "Escape") {
      this.close();
    } else {
      if (event.key === "ArrowLeft" || event.key === "ArrowRight" || event.key === "Enter") this.close();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private mark(): void {
    [...this.words.children].forEach((item, nth) => {
      item.setAttribute("aria-selected", String(nth === this.chosen));
      if (nth === this.chosen) item.scrollIntoView({ block: "nearest" });
    });
    this.text.setAttribute("aria-expanded", String(this.completion !== null));
    if (this.chosen === null) this.text.removeAttribute("aria-activedescendant");
    else this.text.setAttribute("aria-activedescendant", `sql-word-${this.chosen}`);
  }

  private accept(nth: number): void {
    const { from, words } = this.completion!;
    this.text.setRangeText(words[nth]!.word, from, this.text.selectionEnd, "end");
    this.close();
  }

  private close(): void {
    this.completion = this.chosen = null;
    this.words.hidden = true;
    this.mark();
  }

  private show(): void {
    this.element.hidden = this.app.view.sql === null;
    this.app.redraw();
  }

  private async run(): Promise<void> {
    const [trace, query] = [Number(this.trace.value), this.text.value.trim()];
    if (!query) return;
    this.app.change({ sql: { trace, query } });
    this.running.abort();
    const { signal } = (this.running = new AbortController());
    this.element.dataset.state = "running";
    this.said.className = "";
    this.said.textContent = "running …";
    const began = performance.now();
    try {
      const table = await api.sql(trace, query, signal);
      this.draw(trace, table, performance.now() - began);
      this.element.dataset.state = "ready";
    } catch (error) {
      if (signal.aborted) return;
      this.said.className = "wrong";
      this.said.textContent = api.errorText(error);
      this.answer.replaceChildren();
      this.element.dataset.state = "failed";
    }
  }

  private draw(trace: number, { columns, rows, truncated }: Table, ms: number): void {
    const places = rows.map((row) => placeOf(columns, row));
    const count = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`;
    const first = truncated ? `the first ${count}` : count;
    const leads = places.some((place) => place) ? "; a row leads to its place in the picture" : "";
    this.said.textContent = `${first} in ${(ms / 1000).toFixed(1)} s${leads}`;
    const numeric = columns.map((_, at) => rows.some((row) => typeof row[at] === "number"));
    const cell = (value: unknown, at: number) =>
      el("td", numeric[at] ? { class: "number" } : {}, cellText(value));
    const body = rows.map((row, nth) => {
      const place = places[nth];
      const go = place ? () => void this.go(trace, place) : null;
      const line = el(
        "tr",
        go ? { class: "leads" } : {},
        el("td", {}, go && button("→", "Show it in the picture", go, { class: "link" })),
        ...row.map(cell),
      );
      if (go) line.addEventListener("click", (event) => event.target instanceof HTMLButtonElement || go());
      return line;
    });
    const head = el(
      "tr",
      {},
      el("th"),
      ...columns.map((name, at) => el("th", numeric[at] ? { class: "number" } : {}, name)),
    );
    this.answer.replaceChildren(el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
    this.answer.scrollTop = 0;
  }

  /** Goes to a place, and selects its thread. */
  private async go(trace: number, { from, to, thread, core }: Place): Promise<void> {
    if (from === null) {
      await this.follow.select(trace, thread!, null);
      return this.follow.first();
    }
    bring(this.app, { from, to: to ?? from });
    if (thread !== null) await this.follow.selectNear(trace, thread, core, from);
    else if (core !== null) await this.follow.selectAt(trace, core, from);
  }
}
