// The filter of threads.

import type { Threads } from "../data/threads";
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

/** Whether a thread passes filter and selection; `null`: all threads pass. */
export function passes(
  view: View,
  trace: number,
  threads: Pick<Threads, "get">,
): ((thread: number) => boolean) | null {
  const { filter, selection } = view;
  if (selection && selection.trace === trace) return (thread) => thread === selection.thread;
  const tests: ((thread: number) => boolean)[] = [];
  if (filter.thread?.length) {
    const wanted = new Set(filter.thread);
    tests.push((thread) => wanted.has(thread));
  }
  if (filter.traced !== undefined)
    tests.push((thread) => (threads.get(thread)?.traced ?? filter.traced) === filter.traced);
  if (filter.name) {
    const matches = pattern(filter.name);
    tests.push((thread) => matches(threads.get(thread)?.name ?? ""));
  }
  if (tests.length === 0) return null;
  const known = new Map<number, boolean>();
  return (thread) => {
    let answer = known.get(thread);
    if (answer === undefined) known.set(thread, (answer = tests.every((test) => test(thread))));
    return answer;
  };
}
