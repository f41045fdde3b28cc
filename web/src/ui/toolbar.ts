// The toolbar.

import type { App } from "../app";
import {
  COLOURS,
  GROUPS,
  HEIGHTS,
  MARKS,
  ROWS,
  STRIPS,
  withNamed,
  type Rows,
  type View,
} from "../model/state";
import { NAME } from "../draw/strips";
import { length } from "../model/time";
import { button, byId, el } from "./dom";
import { LEAST, type Find } from "./find";

export interface Actions {
  whole(): void;
  help(): void;
  save(kind: "png" | "svg"): void;
  link(): void;
  find: Find;
  sql(): void;
}

const MARK_NAME: Record<string, string> = {
  wakeup: "wake-ups",
  place: "placements",
  fork: "forks",
  exec: "new programs (exec)",
  exit: "exits",
  migrate: "migrations",
  overload: "overload",
  inversion: "inversion",
};
const COLOUR_NAME: Record<string, string> = {
  queue: "run-queue length",
  process: "program",
  reason: "placement reason",
};
const GROUP_NAME: Record<string, string> = {
  socket: "sockets",
  llc: "dies (last-level cache)",
  physical: "SMT siblings",
};
const HEIGHT_NAME: Record<string, string> = { fit: "fit window" };
const ROW_NAME: Record<string, string> = {
  core: "cores",
  thread: "threads",
  process: "processes",
  program: "programs",
};

function menu(name: string, title: string, ...inside: Node[]): HTMLDetailsElement {
  const details = el("details", {}, el("summary", { title }, name), el("div", { class: "menu" }, ...inside));
  document.addEventListener("pointerdown", (event) => {
    if (!details.contains(event.target as Node)) details.open = false;
  });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation();
    details.open = false;
    details.querySelector("summary")!.focus();
  });
  return details;
}

export function toolbar(app: App, actions: Actions, search: HTMLElement): void {
  const bar = byId("bar");
  const syncs: ((view: View) => void)[] = [];
  /** A list to choose a value of the view from. */
  const choice = (
    key: "named" | "colour" | "rows" | "height",
    label: string,
    all: readonly string[],
    names: Record<string, string>,
    set = (value: string) => app.change({ [key]: value }),
  ): HTMLElement => {
    const box = el(
      "select",
      { id: key },
      ...all.map((one) => el("option", { value: one }, names[one] ?? one)),
    );
    box.addEventListener("change", () => {
      set(box.value);
      box.blur();
    });
    syncs.push((view) => (box.value = view[key] ?? ""));
    return el("label", { for: key }, label, box);
  };
  /** Boxes to check for a list of the view. */
  const checks = (
    key: "group" | "marks" | "strips",
    all: readonly string[],
    names: Record<string, string>,
  ): HTMLElement[] =>
    all.map((one) => {
      const box = el("input", { type: "checkbox", "data-check": one });
      const has = (view: View, other: string) => (view[key] as string[]).includes(other);
      box.addEventListener("change", () =>
        app.change({ [key]: all.filter((other) => (other === one ? box.checked : has(app.view, other))) }),
      );
      syncs.push((view) => (box.checked = has(view, one)));
      return el("label", {}, box, names[one] ?? one);
    });

  const name = el("input", {
    type: "text",
    id: "filter-name",
    placeholder: "name (regular expression)",
    "aria-label": "Only threads with this name",
    spellcheck: "false",
    autocomplete: "off",
  });
  name.addEventListener("input", () =>
    app.change({
      filter: name.value ? { ...app.view.filter, name: name.value } : without(app.view.filter, "name"),
    }),
  );
  syncs.push((view) => document.activeElement !== name && (name.value = view.filter.name ?? ""));
  const traced = el("input", { type: "checkbox", id: "filter-traced" });
  traced.addEventListener("change", () =>
    app.change({
      filter: traced.checked ? { ...app.view.filter, traced: true } : without(app.view.filter, "traced"),
    }),
  );
  syncs.push((view) => (traced.checked = view.filter.traced === true));
  const unused = el("input", { type: "checkbox", id: "unused" });
  unused.addEventListener("change", () => app.change({ unused: unused.checked, scroll: 0 }));
  syncs.push((view) => (unused.checked = view.unused));

  const show = menu(
    "Show",
    "Parts of the picture",
    el("b", {}, "Rows"),
    el("label", {}, unused, "unused cores"),
    ...checks("group", GROUPS, GROUP_NAME),
    el("b", {}, "Marks"),
    ...checks("marks", MARKS, MARK_NAME),
    el("b", {}, "Strips"),
    ...checks("strips", STRIPS, { ...NAME, sets: "core sets (nests)" }),
  );
  const only = menu("Only", "Filter of threads", el("label", {}, traced, "threads of the command"), name);
  const { find } = actions;
  const least = el(
    "select",
    { id: "least" },
    ...LEAST.map((ns) => el("option", { value: String(ns) }, length(ns))),
  );
  least.value = String(find.least);
  least.addEventListener("change", () => {
    find.least = Number(least.value);
    least.blur();
  });
  const jump = (what: "wakeup" | "overload", back: boolean) => {
    const key = `${back ? "Shift " : ""}${what === "wakeup" ? "L" : "O"}`;
    const name = what === "wakeup" ? "wake-up" : "overload";
    const label = back ? `‹ previous ${name}` : `next ${name} ›`;
    const title = `${back ? "Previous" : "Next"} ${name} of at least this length (${key})`;
    return button(label, title, () => void find.go(what, back), {
      id: `${back ? "previous" : "next"}-${what}`,
    });
  };
  const seek = menu(
    "Find",
    "Long wake-ups and overloads",
    el("label", { for: "least" }, "at least", least),
    ...(["wakeup", "overload"] as const).flatMap((what) => [jump(what, false), jump(what, true)]),
  );
  const save = menu(
    "Save",
    "Save the picture",
    button("Picture (PNG)", "Save the picture as PNG", () => actions.save("png"), { id: "save-png" }),
    button("Drawing (SVG)", "Save the picture as SVG", () => actions.save("svg"), { id: "save-svg" }),
    button("Copy link", "Copy a link to this view", () => actions.link(), {
      id: "copy-link",
    }),
  );
  save.classList.add("right");

  const theme = button("", "", () => app.change({ theme: app.theme.dark ? "light" : "dark" }), {
    class: "quiet",
    id: "theme",
  });
  syncs.push(() => {
    theme.textContent = app.theme.dark ? "☀" : "☾";
    theme.title = app.theme.dark ? "Light" : "Dark";
    theme.setAttribute("aria-label", theme.title);
  });

  const names = app.named.map((view) => view.name);
  bar.append(
    el("span", { class: "name" }, el("i", { "aria-hidden": "true" }), "Hearth"),
    ...(app.named.length
      ? [choice("named", "View", ["", ...names], { "": "—" }, (name) => apply(app, name))]
      : []),
    choice("colour", "Colour", COLOURS, COLOUR_NAME),
    choice("rows", "Rows", ROWS, ROW_NAME, (rows) => app.change({ rows: rows as Rows, scroll: 0 })),
    choice("height", "Height", HEIGHTS, HEIGHT_NAME),
    show,
    only,
    seek,
    ...(app.sources.some(({ info }) => info.sql)
      ? [button("SQL", "Query a trace (q)", () => actions.sql(), { id: "show-sql" })]
      : []),
    button("Whole run", "Show the whole run (0)", () => actions.whole(), { id: "whole" }),
    el("span", { class: "space" }),
    search,
    save,
    theme,
    button("?", "Keys (?)", () => actions.help(), { class: "quiet", id: "show-help", "aria-label": "Keys" }),
  );
  app.onDraw(() => syncs.forEach((sync) => sync(app.view)));
}

function without<T extends object, K extends keyof T>(object: T, key: K): T {
  const rest = { ...object };
  delete rest[key];
  return rest;
}

/** Applies a named view, or the initial one; the window stays. */
export function apply(app: App, name: string): void {
  const named = app.named.find((view) => view.name === name) ?? { name: "" };
  app.change({ ...withNamed(app.view, named, app.start), named: named.name || null });
}
