// Jumping to the next or previous long wake-up or overload.

import type { App } from "../app";
import * as api from "../data/api";
import { length } from "../model/time";
import type { Span } from "../model/levels";
import type { Area } from "../model/state";
import type { Follow } from "./follow";

/** Least durations to choose from, in ns. */
export const LEAST = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000] as const;
const NAME: Record<api.Find, string> = { wakeup: "wake-up", overload: "overload" };

export class Find {
  least = 1_000_000;
  private last: { what: api.Find; trace: number; time: number } | null = null;
  private turn = 0;

  constructor(
    private readonly app: App,
    private readonly follow: Follow,
    private readonly mark: (area: Area) => void,
    private readonly tell: (text: string | null) => void,
  ) {}

  /** Goes to the next of what was found last, or of the window's start; `back`: to the previous. */
  async go(what: api.Find, back: boolean): Promise<void> {
    const { app, least, last } = this;
    const trace = app.view.selection?.trace ?? app.view.area?.trace ?? 0;
    const { info } = app.sources[trace]!;
    const { from, to } = app.span;
    const goesOn = last?.what === what && last.trace === trace && last.time >= from && last.time <= to;
    const time = goesOn ? last.time : Math.max(0, back ? to : from);
    const turn = ++this.turn;
    const answer = await api.find(trace, what, time, back, least).catch((error: unknown) => {
      this.tell(String(error));
      return null;
    });
    if (!answer || turn !== this.turn) return;
    const { found, until } = answer;
    if (!found) {
      const gaveUp = back ? until > 0 : until < info.duration;
      const where = gaveUp ? `; searched ${back ? "down" : "up"} to ${length(until, 5)}` : "";
      return this.tell(
        `no ${back ? "earlier" : "later"} ${NAME[what]} of at least ${length(least)}${where}\nchoose a shorter length under Find`,
      );
    }
    this.tell(null);
    this.last = { what, trace, time: found.to };
    bring(this.app, found);
    if (what === "overload") this.mark({ from: found.from, to: found.to, trace, cores: [found.core] });
    else await this.follow.selectAt(trace, found.core, found.to);
  }
}

/** Moves the window there, and zooms if the find would be tiny or too wide. */
export function bring(app: App, { from, to }: Span): void {
  const share = (to - from) / (app.span.to - app.span.from);
  const air = (to - from) * 2;
  if (to > from && (share < 0.02 || share > 0.7)) app.change({ span: { from: from - air, to: to + air } });
  else app.show(from, to);
}
