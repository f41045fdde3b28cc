// Names of threads, fetched on demand.

import * as api from "./api";
import type { Process, Thread } from "./api";

/** The server's limit of threads in one answer. Traces with fewer threads are fetched at once. */
const MOST = 1000;
const AT_ONCE = 2;
const BATCH = 500;
/** Limit of names that wait to be fetched. */
const QUEUE = 20_000;

/** A thread of which only the number is known. */
export const unknownThread = (thread: number, name = `thread ${thread}`): Thread => ({
  thread,
  name,
  parent: null,
  traced: false,
  tid: null,
  process: null,
  colour: null,
});

export const processText = ({ name, pid }: Process): string => `${name || "process"} ${pid}`;

export class Threads {
  private readonly known = new Map<number, Thread>();
  private readonly asked = new Set<number>();
  private readonly waiting: number[] = [];
  private readonly seen = new WeakSet<Uint32Array>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly running = new Set<Promise<void>>();
  /** Grows when names arrive. */
  version = 0;

  constructor(
    readonly trace: number,
    count: number,
    private readonly changed: () => void,
  ) {
    this.known.set(0, unknownThread(0, "idle"));
    if (count <= MOST) this.run(this.all());
  }

  get(tid: number): Thread | undefined {
    return this.known.get(tid);
  }

  name(tid: number): string {
    return this.known.get(tid)?.name || `thread ${tid}`;
  }

  /** Name and number: names are not unique. */
  label(tid: number): string {
    const name = this.known.get(tid)?.name;
    return name ? `${name} (${tid})` : `thread ${tid}`;
  }

  /** Name and number of the thread's process; its own name, if that is unknown. */
  process(tid: number): string {
    const process = this.known.get(tid)?.process;
    return process ? processText(process) : this.name(tid);
  }

  learn(threads: readonly Thread[]): void {
    for (const thread of threads)
      this.known.set(thread.thread, { ...this.known.get(thread.thread), ...thread });
    // Names arrive one by one; redraw a few times a second.
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.version++;
      this.changed();
    }, 60);
  }

  /** Requests the names of the threads in a tile, once. */
  wantTile(threads: Uint32Array | undefined): void {
    if (!threads || this.seen.has(threads)) return;
    this.seen.add(threads);
    this.want(new Set(threads));
  }

  /** Requests the unknown names. */
  want(tids: Iterable<number>): void {
    for (const tid of tids) {
      if (this.known.has(tid) || this.asked.has(tid)) continue;
      this.asked.add(tid);
      this.waiting.push(tid);
    }
    // Drop the oldest requests.
    for (const tid of this.waiting.splice(0, Math.max(0, this.waiting.length - QUEUE)))
      this.asked.delete(tid);
    this.pump();
  }

  private async all(): Promise<void> {
    this.learn(await api.search(this.trace, "", MOST).catch(() => []));
  }

  private pump(): void {
    while (this.running.size < AT_ONCE && this.waiting.length > 0) {
      const ids = this.waiting.splice(-BATCH);
      this.run(
        api
          .threadsById(this.trace, ids)
          .then((threads) => this.learn(threads))
          .catch(() => ids.forEach((tid) => this.asked.delete(tid))),
      );
    }
  }

  private run(job: Promise<void>): void {
    const running: Promise<void> = job.finally(() => {
      this.running.delete(running);
      this.pump();
    });
    this.running.add(running);
  }

  /** Waits until all requested names are there. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }
}
