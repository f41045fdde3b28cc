// A mock of the server's API, with generated schedules.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { FIELDS, type Field, type Slice } from "../../src/data/api";
import { tileSpan } from "../../src/model/levels";
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

export async function serve(asked: readonly Asked[], pages = "../crates/view/page", port = 0): Promise<Mock> {
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

function threads(response: ServerResponse, s: Schedule, [tid, next]: string[], url: URL): void {
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
