// Search for threads by name or number (`/`).

import type { App } from "../app";
import * as api from "../data/api";
import type { Thread } from "../data/api";
import { el } from "./dom";

const MOST = 50;

export class Search {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list: HTMLUListElement;
  private found: { trace: number; thread: Thread }[] = [];
  private chosen = 0;
  private abort = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly app: App,
    private readonly pick: (trace: number, thread: number) => void,
  ) {
    this.input = el("input", {
      type: "search",
      id: "query",
      placeholder: "Search  /",
      "aria-label": "Search threads by name or number",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "found",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.list = el("ul", { id: "found", role: "listbox", "aria-label": "Threads found", hidden: "" });
    this.element = el("div", { id: "search" }, this.input, this.list);
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.ask(), 120);
    });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("focus", () => this.input.value && void this.ask());
    this.input.addEventListener("blur", () => setTimeout(() => this.open(false), 150));
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  private async ask(): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    const text = this.input.value.trim();
    if (!text) return this.open(false);
    try {
      const lists = await Promise.all(
        this.app.sources.map((source) => api.search(source.index, text, MOST, signal)),
      );
      this.found = lists.flatMap((threads, trace) => threads.map((thread) => ({ trace, thread })));
      lists.forEach((threads, trace) => this.app.sources[trace]!.threads.learn(threads));
    } catch {
      if (signal.aborted) return;
      this.found = [];
    }
    this.chosen = 0;
    this.show();
  }

  private show(): void {
    const several = this.app.sources.length > 1;
    const items = this.found.map(({ trace, thread }, i) => {
      const where = several
        ? `${this.app.sources[trace]!.info.name} · ${thread.thread}`
        : String(thread.thread);
      const item = el(
        "li",
        { role: "option", id: `found-${i}`, "aria-selected": String(i === this.chosen) },
        el("span", { class: "who" }, thread.name || `thread ${thread.thread}`),
        el("small", {}, where),
      );
      item.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.take(i);
      });
      return item;
    });
    this.list.replaceChildren(...(items.length ? items : [el("li", { class: "none" }, "No thread matches")]));
    this.input.setAttribute("aria-activedescendant", items.length ? `found-${this.chosen}` : "");
    this.open(true);
  }

  private open(open: boolean): void {
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (moves[event.key] && this.found.length) {
      event.preventDefault();
      this.chosen = (this.chosen + moves[event.key]! + this.found.length) % this.found.length;
      this.show();
      this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      if (this.list.hidden || this.found.length === 0) void this.ask();
      else this.take(this.chosen);
    } else if (event.key === "Escape") {
      this.open(false);
      this.app.canvas.focus();
    }
    event.stopPropagation();
  }

  private take(i: number): void {
    const found = this.found[i];
    if (!found) return;
    this.open(false);
    this.app.canvas.focus();
    this.pick(found.trace, found.thread.thread);
  }
}
