// The filter of threads.

import type { Threads } from "../data/threads";
import type { Look } from "./colour";
import type { View } from "./state";

/** Matches a regular expression, or plain text if it is not valid as one. */
export function pattern(text: string): (name: string) => boolean {
  try {
    const expression = new RegExp(text, "i");
    return (name) => expression.test(name);
  } catch {
    const lower = text.toLowerCase();
    return (name) => name.toLowerCase().includes(lower);
  }
}

/** The look of each thread under filter and selection; `null`: all threads have their full colour. */
export function looks(
  view: View,
  trace: number,
  threads: Pick<Threads, "get">,
): ((thread: number) => Look) | null {
  const { filter } = view;
  const selected = view.selection?.trace === trace ? view.selection.thread : null;
  const tests: ((thread: number) => boolean)[] = [];
  if (selected !== null) tests.push((thread) => thread === selected);
  if (filter.thread?.length) {
    const wanted = new Set(filter.thread);
    tests.push((thread) => wanted.has(thread));
  }
  if (filter.traced === false) tests.push((thread) => !threads.get(thread)?.traced);
  if (filter.name) {
    const matches = pattern(filter.name);
    tests.push((thread) => matches(threads.get(thread)?.name ?? ""));
  }
  const foreign = (thread: number) => filter.traced === true && threads.get(thread)?.traced === false;
  if (tests.length === 0 && !filter.traced) return null;
  const known = new Map<number, Look>();
  return (thread) => {
    let look = known.get(thread);
    if (look === undefined) {
      if (thread === selected) look = "full";
      else if (foreign(thread)) look = "foreign";
      else look = tests.every((test) => test(thread)) ? "full" : "dimmed";
      known.set(thread, look);
    }
    return look;
  };
}
