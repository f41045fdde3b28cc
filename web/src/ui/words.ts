// Texts about slices, for the tip and the details.

import type { At, Slice } from "../data/api";
import type { Source } from "../draw/scene";
import { length, moment } from "../model/time";

export function ghz(khz: number | null | undefined): string | null {
  return khz ? `${(khz / 1e6).toFixed(2)} GHz` : null;
}

export function threadText(source: Source, tid: number | null | undefined): string | null {
  if (tid === undefined) return null;
  if (tid === null || tid === 0) return "an interrupt";
  return source.threads.label(tid);
}

export function reasonText(source: Source, reason: string | number | null | undefined): string | null {
  if (reason === null || reason === undefined) return null;
  return typeof reason === "string" ? reason : (source.info.reasons[reason] ?? `reason ${reason}`);
}

export function setsText(source: Source, sets: At["sets"]): string | null {
  if (!sets || sets.length === 0) return null;
  return sets
    .map((set) => (typeof set === "number" ? (source.info.sets[set] ?? `set ${set}`) : set))
    .join(", ");
}

export function place(source: Source, core: number): string {
  const at = source.info.cores[core];
  return at ? `core ${core}, socket ${at.socket}` : `core ${core}`;
}

export const STOPS: Record<string, string> = {
  preempted: "preempted",
  yielded: "yielded",
  blocked: "blocked",
  exited: "ended",
};

export function latency(slice: Slice | null, at: At | null): string | null {
  const ns = at?.latency ?? (slice?.wake ? slice.from - slice.wake.time : null);
  return ns === null || ns === undefined ? null : length(ns);
}

export { length, moment };
