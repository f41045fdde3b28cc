// Names of threads, asked for as they are needed.

import * as api from "./api";
import type { Thread } from "./api";

/** Up to so many threads, all names are fetched at once. */
const ALL = 20000;
const AT_ONCE = 6;

export class Threads {
  private readonly known = new Map<number, Thread>();
  private readonly asked = new Set<number>();
  private readonly waiting: number[] = [];
  private running = 0;
  /** Grows when names come in. */
  version = 0;
  readonly whole: Promise<void>;

  constructor(
    readonly trace: number,
    count: number,
    private readonly changed: () => void,
  ) {
    this.known.set(0, { thread: 0, name: "idle", parent: null, traced: false });
    this.whole = count <= ALL ? this.all(count) : Promise.resolve();
  }

  get(tid: number): Thread | undefined {
    return this.known.get(tid);
  }

  name(tid: number): string {
    return this.known.get(tid)?.name || `thread ${tid}`;
  }

  /** All that are known, and whether that is all there are. */
  list(): Thread[] {
    return [...this.known.values()];
  }

  learn(threads: readonly Thread[]): void {
    for (const thread of threads) this.known.set(thread.thread, { ...this.known.get(thread.thread), ...thread });
    this.version++;
    this.changed();
  }

  /** Asks for names that are not known yet. */
  want(tids: Iterable<number>): void {
    for (const tid of tids) {
      if (this.known.has(tid) || this.asked.has(tid)) continue;
      this.asked.add(tid);
      this.waiting.push(tid);
    }
    this.pump();
  }

  private async all(count: number): Promise<void> {
    const threads = await api.search(this.trace, "", count + 1).catch(() => []);
    this.learn(threads);
  }

  private pump(): void {
    while (this.running < AT_ONCE && this.waiting.length > 0) {
      const tid = this.waiting.pop()!;
      this.running++;
      api
        .thread(this.trace, tid)
        .then((thread) => this.learn([thread]))
        .catch(() => {})
        .finally(() => {
          this.running--;
          this.pump();
        });
    }
  }
}
