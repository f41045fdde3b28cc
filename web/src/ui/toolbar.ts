// The toolbar.

import type { App } from "../app";
import { COLOURS, GROUPS, HEIGHTS, MARKS, ROWS, STRIPS, withNamed, type View } from "../model/state";
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
const ROW_NAME: Record<string, string> = { core: "cores", thread: "threads", process: "programs" };

function select<T extends string>(
  id: string,
  label: string,
  all: readonly T[],
  names: Record<string, string>,
  get: (view: View) => T,
  set: (value: T) => void,
): [HTMLElement, (view: View) => void] {
  const box = el("select", { id }, ...all.map((one) => el("option", { value: one }, names[one] ?? one)));
  box.addEventListener("change", () => {
    set(box.value as T);
    box.blur();
  });
  return [el("label", { for: id }, label, box), (view) => (box.value = get(view))];
}

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
  const add = ([node, sync]: [HTMLElement, (view: View) => void]): HTMLElement => {
    syncs.push(sync);
    return node;
  };
  const checks = <T extends string>(
    all: readonly T[],
    names: Record<string, string>,
    get: (view: View) => T[],
    set: (some: T[]) => void,
  ): HTMLElement[] =>
    all.map((one) => {
      const box = el("input", { type: "checkbox", "data-check": one });
      box.addEventListener("change", () =>
        set(all.filter((other) => (other === one ? box.checked : get(app.view).includes(other)))),
      );
      syncs.push((view) => (box.checked = get(view).includes(one)));
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
    ...checks(
      GROUPS,
      GROUP_NAME,
      (v) => v.group,
      (group) => app.change({ group }),
    ),
    el("b", {}, "Marks"),
    ...checks(
      MARKS,
      MARK_NAME,
      (v) => v.marks,
      (marks) => app.change({ marks }),
    ),
    el("b", {}, "Strips"),
    ...checks(
      STRIPS,
      { ...NAME, sets: "core sets (nests)" },
      (v) => v.strips,
      (strips) => app.change({ strips }),
    ),
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

  const named = app.named.length
    ? add(
        select(
          "named",
          "View",
          ["", ...app.named.map((v) => v.name)],
          { "": "—" },
          (view) => view.named ?? "",
          (chosen) => apply(app, chosen),
        ),
      )
    : null;
  const theme = button("", "", () => app.change({ theme: app.theme.dark ? "light" : "dark" }), {
    class: "quiet",
    id: "theme",
  });
  syncs.push(() => {
    theme.textContent = app.theme.dark ? "☀" : "☾";
    theme.title = app.theme.dark ? "Light" : "Dark";
    theme.setAttribute("aria-label", theme.title);
  });

  bar.append(
    el("span", { class: "name" }, el("i", { "aria-hidden": "true" }), "Hearth"),
    ...(named ? [named] : []),
    add(
      select(
        "colour",
        "Colour",
        COLOURS,
        COLOUR_NAME,
        (v) => v.colour,
        (colour) => app.change({ colour }),
      ),
    ),
    add(
      select(
        "rows",
        "Rows",
        ROWS,
        ROW_NAME,
        (v) => v.rows,
        (rows) => app.change({ rows, scroll: 0 }),
      ),
    ),
    add(
      select(
        "height",
        "Height",
        HEIGHTS,
        HEIGHT_NAME,
        (v) => v.height,
        (height) => app.change({ height }),
      ),
    ),
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
