// A cache with a limit in bytes, and a queue of fetches that cancels stale ones.

/** The most recently used values, at most `budget` bytes in total. */
export class Lru<V> {
  private readonly values = new Map<string, { value: V; bytes: number }>();
  bytes = 0;

  constructor(
    readonly budget: number,
    private readonly dropped: (value: V) => void = () => {},
  ) {}

  get(key: string): V | undefined {
    const found = this.values.get(key);
    if (!found) return undefined;
    this.values.delete(key);
    this.values.set(key, found);
    return found.value;
  }

  set(key: string, value: V, bytes: number): void {
    this.delete(key);
    this.values.set(key, { value, bytes });
    this.bytes += bytes;
    for (const oldest of this.values.keys()) {
      if (this.bytes <= this.budget || oldest === key) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const found = this.values.get(key);
    if (!found) return;
    this.values.delete(key);
    this.bytes -= found.bytes;
    this.dropped(found.value);
  }

  clear(): void {
    for (const key of [...this.values.keys()]) this.delete(key);
  }

  get size(): number {
    return this.values.size;
  }
}

interface Job {
  run: (signal: AbortSignal) => Promise<void>;
  abort: AbortController;
  running: boolean;
}

/**
 * A queue of fetches. Each change of the picture calls `want` with all fetches that it needs, most
 * urgent first; fetches that are no longer needed are aborted.
 */
export class Fetches {
  private readonly jobs = new Map<string, Job>();
  private running = 0;

  constructor(
    private readonly most: number,
    private readonly failed: (key: string, error: unknown) => void,
  ) {}

  want(wanted: Map<string, (signal: AbortSignal) => Promise<void>>): void {
    for (const [key, job] of this.jobs) {
      if (wanted.has(key)) continue;
      this.jobs.delete(key);
      job.abort.abort();
    }
    const order = new Map<string, Job>();
    for (const [key, run] of wanted)
      order.set(key, this.jobs.get(key) ?? { run, abort: new AbortController(), running: false });
    this.jobs.clear();
    for (const [key, job] of order) this.jobs.set(key, job);
    this.pump();
  }

  /** Whether no fetch runs or waits. */
  get idle(): boolean {
    return this.jobs.size === 0;
  }

  private pump(): void {
    for (const [key, job] of this.jobs) {
      if (this.running >= this.most) return;
      if (job.running) continue;
      job.running = true;
      this.running++;
      void this.start(key, job);
    }
  }

  private async start(key: string, job: Job): Promise<void> {
    try {
      await job.run(job.abort.signal);
    } catch (error) {
      if (!job.abort.signal.aborted) this.failed(key, error);
    } finally {
      this.running--;
      if (this.jobs.get(key) === job) this.jobs.delete(key);
      this.pump();
    }
  }
}
