// A mock of the server's API, with generated schedules.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import {
  FIELDS,
  type Field,
  type Found,
  type Slice,
  type Usage,
  type Used,
  type Why,
} from "../../src/data/api";
import { BINS, binWidth, tileSpan } from "../../src/model/levels";
import { schedule, type Asked, type Schedule } from "./schedule";
import { encodeTile, makeTile } from "./tiles";

export interface Mock {
  url: string;
  /** Requested paths. */
  asked: string[];
  /** Delay of answers with tiles, in milliseconds. */
  delay: number;
  close(): Promise<void>;
}

const TYPES: Record<string, string> = {
  "index.html": "text/html; charset=utf-8",
  "view.js": "text/javascript",
  "view.css": "text/css",
};
const VIEWS = [
  { name: "nests", colour: "reason", marks: ["overload", "place", "migrate"], strips: ["sets", "underload"] },
  { name: "compilers", colour: "process", marks: ["fork", "exec"], filter: { name: "^(cc1|as|ld)$" } },
];

export async function serve(asked: readonly Asked[], pages = "page", port = 0): Promise<Mock> {
  const schedules = asked.map(schedule);
  const mock: Mock = {
    url: "",
    asked: [],
    delay: 0,
    close: () => new Promise((done) => (server.close(() => done()), server.closeAllConnections())),
  };
  const tiles = new Map<string, ReturnType<typeof makeTile>>();
  const server: Server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => fail(response, 500, String(error)));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (!url.pathname.startsWith("/token/")) return fail(response, 403, "no token");
    const path = url.pathname.slice("/token/".length);
    mock.asked.push(path + url.search);
    const name = path || "index.html";
    if (TYPES[name])
      return void response
        .writeHead(200, { "content-type": TYPES[name] })
        .end(await readFile(`${pages}/${name}`));
    if (path === "api/traces")
      return json(
        response,
        schedules.map((s) => s.info),
      );
    if (path === "api/views") return json(response, VIEWS);
    const [, , n, what, ...rest] = path.split("/");
    const s = schedules[Number(n)];
    if (!s) return fail(response, 404, "no such trace");
    if (what === "tiles")
      return tile(
        response,
        s,
        Number(n),
        rest.map(Number),
        (url.searchParams.get("fields") ?? "").split(",") as Field[],
      );
    if (what === "events")
      return json(response, events(s, num(url, "from"), num(url, "to"), num(url, "limit")));
    if (what === "threads") return threads(response, s, rest, url);
    if (what === "usage") return json(response, usage(s, url));
    if (what === "sql") return sql(response, s, url.searchParams.get("query")!);
    if (what === "find") return json(response, find(s, url));
    if (what === "why") return json(response, why(s, num(url, "core"), num(url, "time")));
    if (what === "at") return json(response, at(s, num(url, "core"), num(url, "time")));
    return fail(response, 404, `no '${path}'`);
  }

  async function tile(
    response: ServerResponse,
    s: Schedule,
    trace: number,
    [level, index]: number[],
    fields: Field[],
  ): Promise<void> {
    if (mock.delay) await new Promise((done) => setTimeout(done, mock.delay));
    const unknown = fields.find((field) => !FIELDS[field]);
    if (unknown !== undefined) return fail(response, 400, `no field '${unknown}'`);
    if (tileSpan({ level: level!, index: index! }).from >= s.info.duration)
      return fail(response, 404, "beyond the end");
    const key = `${trace}/${level}/${index}`;
    if (!tiles.has(key)) tiles.set(key, makeTile(s, level!, index!));
    response
      .writeHead(200, {
        "content-type": "application/octet-stream",
        "cache-control": "immutable, max-age=3600",
      })
      .end(encodeTile(tiles.get(key)!, fields));
  }

  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  mock.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token/`;
  return mock;
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function fail(response: ServerResponse, status: number, error: string): void {
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(JSON.stringify({ error, help: "look at test/mock" }));
}

function num(url: URL, key: string): number {
  return Number(url.searchParams.get(key) ?? "0");
}

function events(s: Schedule, from: number, to: number, limit: number): unknown {
  const slices = s.slices.flatMap((list) => list.filter((slice) => slice.to > from && slice.from < to));
  const marks = s.marks.filter((mark) => mark.time >= from && mark.time < to);
  if (slices.length + marks.length > limit) return { truncated: true, slices: [], marks: [] };
  return { truncated: false, slices, marks };
}

function thread(s: Schedule, tid: number): unknown {
  const known = s.names.get(tid);
  return (
    known && { thread: tid, name: known.name, parent: known.parent, traced: known.traced, names: known.names }
  );
}

function threads(response: ServerResponse, s: Schedule, [tid, next, ...rest]: string[], url: URL): void {
  if (tid === undefined) {
    const ids = url.searchParams.get("ids");
    if (ids)
      return json(
        response,
        ids
          .split(",")
          .map((id) => thread(s, Number(id)))
          .filter(Boolean),
      );
    const text = (url.searchParams.get("q") ?? "").toLowerCase();
    const found = [...s.names].filter(
      ([t, { name }]) => name.toLowerCase().includes(text) || String(t) === text,
    );
    return json(
      response,
      found.slice(0, Math.min(1000, num(url, "limit") || 50)).map(([t]) => thread(s, t)),
    );
  }
  if (next === "states") return json(response, states(s, Number(tid), rest.map(Number)));
  if (next !== "next")
    return s.names.has(Number(tid))
      ? json(response, thread(s, Number(tid)))
      : fail(response, 404, "no such thread");
  const time = num(url, "time");
  const mine = s.slices
    .flat()
    .filter((slice) => slice.thread === Number(tid))
    .sort((a, b) => a.from - b.from);
  const found: Slice | undefined =
    url.searchParams.get("direction") === "back"
      ? mine.filter((x) => x.from < time).pop()
      : mine.find((x) => x.from > time);
  json(response, found ?? null);
}

/** The overlap of a slice with a range. */
const inside = (slice: Slice, from: number, to: number): number =>
  Math.max(0, Math.min(slice.to, to) - Math.max(slice.from, from));

function usage(s: Schedule, url: URL): Usage {
  const [from, to] = [num(url, "from"), num(url, "to")];
  const [cores, only] = [
    url.searchParams.get("cores")?.split(",").map(Number),
    url.searchParams.get("thread"),
  ];
  const threads = new Map<number, Used>();
  for (const slice of s.slices.flat()) {
    if (inside(slice, from, to) === 0 || (only !== null && slice.thread !== Number(only))) continue;
    if (cores && !cores.includes(slice.core)) continue;
    const zero = { running: 0, ready: 0, slices: 0, wakeups: 0, migrations: 0, cores: 1, longest_latency: 0 };
    const { name, traced } = s.names.get(slice.thread)!;
    const one = threads.get(slice.thread) ?? { thread: slice.thread, name, traced, ...zero, from, to };
    one.running += inside(slice, from, to);
    one.slices++;
    one.wakeups++;
    one.longest_latency = Math.max(one.longest_latency, slice.from - slice.wake!.time);
    threads.set(slice.thread, one);
  }
  const all = [...threads.values()].sort((a, b) => b.running - a.running);
  const running = all.reduce((sum, one) => sum + one.running, 0);
  return { until: to, count: all.length, running, threads: all.slice(0, num(url, "limit")) };
}

/** The longest slices, whatever is asked, but for errors. */
function sql(response: ServerResponse, s: Schedule, query: string): void {
  if (query.includes("none"))
    return fail(response, 400, "Catalog Error: Table with name none does not exist!");
  const longest = s.slices.flat().sort((a, b) => b.to - b.from - (a.to - a.from));
  const rows = longest.map((x) => [s.names.get(x.thread)!.name, x.from, x.to - x.from, x.core, x.thread]);
  const columns = ["name", "start", "duration", "core", "thread"];
  json(response, { columns, rows: rows.slice(0, 1000), truncated: rows.length > 1000 });
}

function states(s: Schedule, thread: number, [level, index]: number[]): unknown {
  const { from } = tileSpan({ level: level!, index: index! });
  const bin = binWidth(level!);
  const mine = s.slices.flat().filter((slice) => slice.thread === thread);
  const sum = (at: number) => mine.reduce((sum, slice) => sum + inside(slice, at, at + bin), 0);
  const running = Array.from({ length: BINS }, (_, i) => sum(from + i * bin));
  return { until: s.info.duration, running, ready: running.map(() => 0) };
}

function find(s: Schedule, url: URL): Found {
  const [time, back] = [num(url, "time"), url.searchParams.get("direction") === "back"];
  const all: Found["found"][] =
    url.searchParams.get("what") === "wakeup"
      ? s.slices.flat().map((x) => ({ thread: x.thread, core: x.core, from: x.wake!.time, to: x.from }))
      : s.waiting.flat().map((wait) => ({ thread: null, ...wait }));
  const found = all
    .filter((one) => one!.to - one!.from >= num(url, "least") && (back ? one!.to < time : one!.to > time))
    .sort((a, b) => (back ? b!.to - a!.to : a!.to - b!.to))[0];
  return { found: found ?? null, until: back ? 0 : s.info.duration };
}

function why(s: Schedule, core: number, time: number): Why | null {
  const slice = s.slices[core]?.find((x) => x.from <= time && time < x.to);
  if (!slice) return null;
  const seen = { queue: 0, khz: slice.khz, sets: [] };
  const placed = {
    time: slice.wake!.time,
    core: slice.wake!.core,
    target: core,
    reason: slice.reason!,
    seen_khz: 0,
  };
  const before = { idle: 3, target: seen, previous: null, set_sizes: s.info.sets.map(() => 2) };
  return { thread: slice.thread, placed, migrated: null, previous: null, before };
}

function at(s: Schedule, core: number, time: number): unknown {
  const slice = s.slices[core]?.find((x) => x.from <= time && time < x.to);
  const queue = s.waiting[core]!.filter((w) => w.from <= time && time < w.to).length + (slice ? 1 : 0);
  const sets = [
    ...new Set(s.sets[core]!.filter((m) => m.from <= time && time < m.to).map((m) => s.info.sets[m.set]!)),
  ];
  if (!slice) return { core, time, thread: 0, name: "idle", from: null, to: null, queue, sets };
  return {
    core,
    time,
    thread: slice.thread,
    name: s.names.get(slice.thread)!.name,
    from: slice.from,
    to: slice.to,
    waker: slice.wake!.waker,
    wake_time: slice.wake!.time,
    latency: slice.from - slice.wake!.time,
    reason: s.info.reasons[slice.reason!],
    seen_khz: slice.khz && slice.khz - 300_000,
    khz: slice.khz,
    queue,
    sets,
  };
}
