// The server's API. URLs are relative: the page's URL holds the token.

import type { Colour, Filter, Group, Mark, Rows, Strip } from "../model/state";
import type { Energy } from "../model/energy";
import { BINS } from "../model/levels";

export interface Core {
  physical: number;
  llc: number;
  numa: number;
  socket: number;
}

export interface TraceInfo {
  name: string;
  machine: string;
  source: string;
  duration: number;
  events: number;
  /** By core, including inferred events. */
  lost: number[];
  /** Events that the recorder inserted because the kernel did not report them. */
  inferred: number;
  cores: Core[];
  reasons: string[];
  sets: string[];
  khz_range: [number, number];
  /** Whether the frequency of any core was ever known. */
  frequency_known: boolean;
  waiting_known: boolean;
  wakeups_known: boolean;
  /** Of the whole machine; empty: unknown. */
  energy: Energy;
  /** Whether the hardware counted it. */
  energy_measured: boolean;
  threads: number;
  /** Threads of the command. */
  traced_threads: number;
  levels: { finest_stored: number; coarsest: number };
  complete: boolean;
  /** Whether the server answers SQL about the trace. */
  sql: boolean;
  warnings: string[];
}

export interface Thread {
  thread: number;
  name: string;
  parent: number | null;
  traced: boolean;
  /** The kernel's number; `null`: unknown. */
  tid: number | null;
  process: Process | null;
  /** The number of the colour of its program; `null`: not known yet. */
  colour: number | null;
  names?: string[];
}

export interface Process {
  /** Number in the trace. */
  process: number;
  /** The kernel's number. */
  pid: number;
  name: string;
}

/** A process among the others. */
export interface Family extends Process {
  /** Its parent, the parent of that, and so on. */
  ancestors: Process[];
  /** The first of them, and the number of all. */
  children: Process[];
  child_count: number;
  threads: number[];
  thread_count: number;
}

/** A single event. What its kind does not have is `null`. */
export interface RawEvent {
  seq: number;
  time: number;
  core: number;
  kind: string;
  /** Of a switch, the thread that ran. */
  thread: number | null;
  /** Of a switch, the next thread; of a wake-up, the waker; of a fork, the child. */
  other: number | null;
  target: number | null;
  detail: string | null;
}

export interface RawEvents {
  events: RawEvent[];
  /** Whether there are more. */
  truncated: boolean;
  until: number;
}

export type Stop = string;

export interface Wake {
  time: number;
  /** `null` means an interrupt. */
  waker: number | null;
  /** The waker's core. */
  core: number;
  /** The thread's previous core. */
  from_core?: number | null;
}

export interface Slice {
  core: number;
  thread: number;
  from: number;
  to: number;
  khz: number;
  stop: Stop | null;
  wake?: Wake | null;
  reason?: number | null;
}

export interface EventMark {
  time: number;
  core: number;
  kind: string;
  thread: number;
  other?: number | null;
  target?: number | null;
  detail?: number | string | null;
}

export interface Events {
  truncated: boolean;
  slices: Slice[];
  marks: EventMark[];
}

export interface At {
  core: number;
  time: number;
  thread: number;
  name?: string | null;
  from?: number | null;
  to?: number | null;
  stop?: Stop | null;
  waker?: number | null;
  waker_name?: string | null;
  wake_time?: number | null;
  latency?: number | null;
  reason?: string | number | null;
  seen_khz?: number | null;
  khz?: number | null;
  queue?: number | null;
  sets?: (string | number)[] | null;
}

/** The policy's decision of a placement, and what the policy saw. */
export interface Why {
  thread: number;
  placed: {
    time: number;
    /** The core on which the policy ran. */
    core: number;
    target: number;
    reason: number;
    seen_khz: number | null;
  } | null;
  /** A move after the decision. */
  migrated: { time: number; from: number; to: number } | null;
  /** The core of the previous slice. */
  previous: number | null;
  /** Just before the decision. */
  before: { idle: number; target: Seen; previous: Seen | null; set_sizes: number[] } | null;
}

export interface Seen {
  /** Runnable threads. */
  queue: number;
  khz: number | null;
  sets: number[];
}

export interface Used {
  thread: number;
  name: string;
  traced: boolean;
  running: number;
  ready: number;
  slices: number;
  wakeups: number;
  migrations: number;
  cores: number;
  longest_latency: number;
  from: number;
  to: number;
}

export interface Usage {
  /** The range ends here if the server had no time for all of it. */
  until: number;
  count: number;
  running: number;
  threads: Used[];
}

export const FINDS = ["wakeup", "overload"] as const;
export type Find = (typeof FINDS)[number];

export interface Found {
  found: { thread: number | null; core: number; from: number; to: number } | null;
  until: number;
}

export interface Table {
  columns: string[];
  rows: unknown[][];
  /** Whether there are more rows. */
  truncated: boolean;
}

export interface NamedView {
  name: string;
  rows?: Rows;
  group?: Group[];
  colour?: Colour;
  marks?: Mark[];
  strips?: Strip[];
  filter?: Filter;
}

/** An error that the server reports. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly help: string,
  ) {
    super(message);
  }
}

/** What went wrong, and below it what to do. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof ApiError && error.help ? `${error.message}\n${error.help}` : error.message;
}

/** A good answer. `restart`: what to do if there is none. */
export async function ask(
  path: string,
  { signal, ...init }: Omit<RequestInit, "signal"> & { signal?: AbortSignal | undefined } = {},
  restart = "Start it again and open the address that it prints",
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "the server does not answer", `is \`hearth view\` still running? ${restart}`);
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { error?: unknown; help?: unknown };
  const text = (value: unknown, otherwise: string) => (typeof value === "string" ? value : otherwise);
  throw new ApiError(response.status, text(body.error, `status ${response.status}`), text(body.help, ""));
}

async function json<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, { signal })).json()) as T;
}

export const traces = () => json<TraceInfo[]>("api/traces");

export const views = () => json<NamedView[]>("api/views");

export const thread = (trace: number, tid: number) => json<Thread>(`api/traces/${trace}/threads/${tid}`);

export const search = (trace: number, text: string, limit: number, signal?: AbortSignal) =>
  json<Thread[]>(`api/traces/${trace}/threads?q=${encodeURIComponent(text)}&limit=${limit}`, signal);

/** Threads by their numbers. A server without `ids` answers with other threads, which are ignored. */
export const threadsById = (trace: number, ids: readonly number[]) =>
  json<Thread[]>(`api/traces/${trace}/threads?ids=${ids.join(",")}&limit=${ids.length}`);

export const nextSlice = (
  trace: number,
  tid: number,
  time: number,
  direction: "forward" | "back",
  signal?: AbortSignal,
) =>
  json<Slice | null>(
    `api/traces/${trace}/threads/${tid}/next?time=${Math.round(time)}&direction=${direction}`,
    signal,
  );

export const at = (trace: number, core: number, time: number, signal?: AbortSignal) =>
  json<At>(`api/traces/${trace}/at?core=${core}&time=${Math.round(time)}`, signal);

export const why = (trace: number, core: number, time: number) =>
  json<Why | null>(`api/traces/${trace}/why?core=${core}&time=${Math.round(time)}`);

/** The threads that ran in a part of a trace: in some time, on all or some cores, all or one of them. */
export const usage = (
  trace: number,
  span: { from: number; to: number },
  only: { cores?: readonly number[] | undefined; thread?: number },
  signal?: AbortSignal,
) => {
  const cores = only.cores ? `&cores=${only.cores.join()}` : "";
  const thread = only.thread === undefined ? "" : `&thread=${only.thread}`;
  const [from, to] = [Math.round(span.from), Math.round(span.to)];
  return json<Usage>(`api/traces/${trace}/usage?from=${from}&to=${to}&limit=100${cores}${thread}`, signal);
};

export const family = (trace: number, process: number) =>
  json<Family>(`api/traces/${trace}/processes/${process}`);

/** The first events of a part of a trace. */
export const raw = (
  trace: number,
  span: { from: number; to: number },
  only: { cores?: readonly number[] | undefined; thread?: number | undefined },
  limit: number,
) => {
  const cores = only.cores ? `&cores=${only.cores.join()}` : "";
  const thread = only.thread === undefined ? "" : `&thread=${only.thread}`;
  const [from, to] = [Math.floor(span.from), Math.ceil(span.to)];
  const range = `from=${Math.max(0, from)}&to=${Math.max(1, to)}`;
  return json<RawEvents>(`api/traces/${trace}/raw?${range}&limit=${limit}${cores}${thread}`);
};

export const states = (
  trace: number,
  tid: number,
  { level, index }: { level: number; index: number },
  signal?: AbortSignal,
) =>
  json<{ until: number; running: number[]; ready: number[] }>(
    `api/traces/${trace}/threads/${tid}/states/${level}/${index}`,
    signal,
  );

export const find = (trace: number, what: Find, time: number, back: boolean, least: number) =>
  json<Found>(
    `api/traces/${trace}/find?what=${what}&time=${Math.round(time)}&direction=${back ? "back" : "forward"}&least=${least}`,
  );

export const sql = (trace: number, query: string, signal: AbortSignal) =>
  json<Table>(`api/traces/${trace}/sql?query=${encodeURIComponent(query)}`, signal);

export const events = (trace: number, from: number, to: number, limit: number, signal?: AbortSignal) =>
  json<Events>(
    `api/traces/${trace}/events?from=${Math.round(from)}&to=${Math.round(to)}&limit=${limit}&whole=true`,
    signal,
  );

// ---- tiles ----------------------------------------------------------------------------------------

export const FIELDS = {
  busy: Uint8Array,
  traced: Uint8Array,
  mhz: Uint16Array,
  thread: Uint32Array,
  queue: Uint8Array,
  overload: Uint8Array,
  inverted: Uint8Array,
  reason: Uint8Array,
  sets: Uint8Array,
  spin: Uint8Array,
  wakeups: Uint8Array,
  migrations: Uint8Array,
  forks: Uint8Array,
  underload: Float32Array,
  runnable: Uint16Array,
  cores_used: Uint16Array,
  set_sizes: Uint16Array,
} as const;
export type Field = keyof typeof FIELDS;
export type FieldArray = Uint8Array | Uint16Array | Uint32Array | Float32Array;
export type Fields = { [F in Field]?: InstanceType<(typeof FIELDS)[F]> };

const PER_BIN: readonly Field[] = ["underload", "runnable", "cores_used"];

export function entries(field: Field, cores: number, sets: number): number {
  if (PER_BIN.includes(field)) return BINS;
  return BINS * (field === "set_sizes" ? sets : cores);
}

/** Splits a tile into its fields, in the requested order; each is padded to 8 bytes. */
export function decodeTile(
  bytes: ArrayBuffer,
  fields: readonly Field[],
  cores: number,
  sets: number,
): Fields {
  const out: Record<string, FieldArray> = {};
  let offset = 0;
  for (const field of fields) {
    const kind = FIELDS[field];
    const count = entries(field, cores, sets);
    const length = count * kind.BYTES_PER_ELEMENT;
    if (offset + length > bytes.byteLength) {
      throw new ApiError(
        0,
        `a tile is too short: ${bytes.byteLength} bytes end in '${field}'`,
        "do the page and the server come from one build?",
      );
    }
    out[field] = new kind(bytes, offset, count);
    offset += Math.ceil(length / 8) * 8;
  }
  return out as Fields;
}

export async function tile(
  trace: number,
  info: TraceInfo,
  level: number,
  index: number,
  fields: readonly Field[],
  signal?: AbortSignal,
): Promise<Fields> {
  const response = await ask(`api/traces/${trace}/tiles/${level}/${index}?fields=${fields.join(",")}`, {
    signal,
  });
  return decodeTile(await response.arrayBuffer(), fields, info.cores.length, info.sets.length);
}
