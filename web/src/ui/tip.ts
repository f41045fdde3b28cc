// The tip at the pointer.

import type { App } from "../app";
import * as api from "../data/api";
import type { At } from "../data/api";
import { facts, el } from "./dom";
import type { Hit } from "./follow";
import { ghz, latency, length, moment, place, reasonText, setsText, threadText } from "./words";

export class Tip {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private abort = new AbortController();

  constructor(
    private readonly app: App,
    private readonly element: HTMLElement,
    private readonly cursor: HTMLElement,
  ) {}

  hide(): void {
    this.element.hidden = true;
    this.cursor.hidden = true;
    clearTimeout(this.timer);
    this.abort.abort();
  }

  move(x: number, y: number, at: Hit | null): void {
    this.cursor.hidden = false;
    this.cursor.style.left = `${x}px`;
    clearTimeout(this.timer);
    this.abort.abort();
    if (!at || at.core < 0) {
      this.element.hidden = true;
      return;
    }
    const slice = this.app.sliceAt(at.source, at.core, at.time);
    const quick: At | null = slice && {
      ...slice,
      time: at.time,
      waker: slice.wake ? slice.wake.waker : null,
      wake_time: slice.wake?.time ?? null,
    };
    if (quick) this.show(x, y, at, quick);
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.timer = setTimeout(() => {
      api
        .at(at.source.index, at.core, at.time, signal)
        .then((exact) => this.show(x, y, at, { ...quick, ...exact }))
        .catch(() => {});
    }, 60);
  }

  private show(x: number, y: number, hit: Hit, at: At): void {
    const { source } = hit;
    const idle = !at.thread;
    const name = idle ? "idle" : at.name || source.threads.name(at.thread);
    const bounded = at.from !== null && at.from !== undefined && at.to !== null && at.to !== undefined;
    const woken = !idle && at.wake_time !== null && at.wake_time !== undefined;
    this.element.replaceChildren(
      el("b", {}, idle ? name : `${name} · ${at.thread}`),
      facts([
        ["on", place(source, hit.core)],
        ["at", moment(hit.time)],
        ["for", bounded ? length(at.to! - at.from!) : null],
        ["frequency", idle ? null : (ghz(at.khz) ?? "unknown")],
        [
          "woken by",
          woken ? (at.waker_name ? `${at.waker_name} (${at.waker})` : threadText(source, at.waker)) : null,
        ],
        [
          "wake-up latency",
          woken ? latency(null, { ...at, latency: at.latency ?? at.from! - at.wake_time! }) : null,
        ],
        ["placed", idle ? null : reasonText(source, at.reason)],
        ["frequency seen", idle ? null : ghz(at.seen_khz)],
        ["runnable here", (at.queue ?? 0) > 1 ? String(at.queue) : null],
        ["in", setsText(source, at.sets)],
      ]),
    );
    this.element.hidden = false;
    const around = this.element.parentElement!;
    placeTip(this.element, x, y, { left: 0, right: around.clientWidth, bottom: around.clientHeight });
  }
}

/** Puts a tip beside the pointer, on the side with room. */
export function placeTip(
  tip: HTMLElement,
  x: number,
  y: number,
  room: { left: number; right: number; bottom: number },
): void {
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > room.right ? x - 16 - width : x + 16;
  tip.style.left = `${Math.max(room.left + 4, left)}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, room.bottom - height - 6))}px`;
}
