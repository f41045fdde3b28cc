// The viewer's page.

import { App } from "./app";
import * as api from "./data/api";
import { apply, toolbar } from "./ui/toolbar";
import { sumUp } from "./ui/area";
import { Details, type Marked } from "./ui/details";
import { byId } from "./ui/dom";
import { Events } from "./ui/events";
import { Find } from "./ui/find";
import { Follow } from "./ui/follow";
import { help } from "./ui/help";
import { input } from "./ui/input";
import { legend } from "./ui/legend";
import { overview } from "./ui/overview";
import { savePng, saveSvg } from "./ui/save";
import { Sql } from "./ui/sql";
import { Search } from "./ui/search";
import { Tip } from "./ui/tip";
import { length } from "./model/time";
import type { Area } from "./model/state";

let silence: ReturnType<typeof setTimeout> | undefined;

function tell(text: string | null): void {
  const message = byId("message");
  message.hidden = text === null;
  message.textContent = text ?? "";
  clearTimeout(silence);
  if (text !== null) silence = setTimeout(() => (message.hidden = true), 15_000);
}

function say(text: string): void {
  byId("said").textContent = text;
}

async function start(): Promise<void> {
  // The playground shows this page in a frame, under a bar of its own.
  document.documentElement.classList.toggle("embedded", window.parent !== window);
  const [traces, views] = await Promise.all([api.traces(), api.views().catch(() => [])]);
  if (traces.length === 0) return tell("no trace is open\nopen one with: hearth view T");
  document.title = `${traces.map((t) => t.name).join(" and ")} – Hearth`;
  const canvas = byId<HTMLCanvasElement>("picture");
  const app = new App(canvas, traces, views, tell);

  // These refer to each other, but only from event handlers.
  const follow: Follow = new Follow(app, () => details.update(), say);
  const details: Details = new Details(
    app,
    byId("details"),
    () => follow,
    () => mark(null),
    () => void events.show(),
  );
  const tip = new Tip(app, byId("tip"), byId("cursor"));
  const search = new Search(
    app,
    (trace, thread) => void follow.select(trace, thread, null).then(() => follow.first()),
  );
  const keys = byId<HTMLDialogElement>("help");
  help(keys);

  let adding = new AbortController();
  const mark = (area: Area | null): void => {
    adding.abort();
    adding = new AbortController();
    const { signal } = adding;
    app.change({ area });
    details.area(null);
    if (!area) return;
    say(`Marked ${length(area.to - area.from)}`);
    const failed = (error: unknown) => signal.aborted || tell(String(error));
    const sources = app.sources.filter(({ index }) => !area.cores || index === area.trace);
    const sums = sources.map(async (source): Promise<Marked> => ({
      source,
      sums: await sumUp(source.index, source.info, area, signal),
      usage: null,
    }));
    const count = async (marked: Marked[]): Promise<void> => {
      details.area(marked);
      for (const one of marked) {
        one.usage = await api.usage(one.source.index, area, { cores: area.cores }, signal);
        details.update();
      }
    };
    Promise.all(sums).then(count).catch(failed);
  };

  const find = new Find(app, follow, mark, tell);
  const sql = new Sql(app, follow, byId("sql"));
  const events = new Events(app, follow, byId("events"));

  const link = async (): Promise<void> => {
    app.writeHash();
    await navigator.clipboard.writeText(location.href).then(
      () => say("Link copied"),
      () => tell(`the clipboard is not available; copy this link:\n${location.href}`),
    );
  };
  toolbar(
    app,
    {
      whole: () => app.change({ span: null }),
      help: () => keys.showModal(),
      save: (kind) =>
        void (kind === "png" ? savePng : saveSvg)(app).catch((error: unknown) => tell(String(error))),
      link: () => void link(),
      find,
      sql: () => sql.toggle(),
    },
    search.element,
  );
  overview(app, byId<HTMLCanvasElement>("overview"));
  input({ app, follow, find, search, tip, sql, events, mark, help: () => keys.showModal() });

  let names = 0;
  app.onDraw(() => {
    // The details show names of threads.
    const known = app.sources.reduce((sum, source) => sum + source.threads.version, 0);
    if (known !== names) details.update();
    names = known;
    document.documentElement.dataset.theme = app.theme.dark ? "dark" : "light";
    legend(app, byId("legend"));
    canvas.setAttribute(
      "aria-label",
      `Cores over time: ${length(app.span.to - app.span.from)} of ${traces.map((t) => t.name).join(" and ")}, coloured by ${app.view.colour}`,
    );
  });
  new ResizeObserver(() => app.redraw()).observe(byId("plot"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.redraw());
  const restore = (): void => {
    if (app.view.named && !location.hash.includes("colour=") && !location.hash.includes("rows="))
      apply(app, app.view.named);
    void follow.restore();
    if (app.view.area) mark(app.view.area);
    sql.restore();
  };
  window.addEventListener("hashchange", () => {
    app.readHash();
    restore();
  });
  restore();
}

start().catch((error: unknown) => {
  document.documentElement.dataset.state = "failed";
  tell(api.errorText(error));
});
