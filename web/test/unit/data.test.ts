import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApiError,
  FIELDS,
  decodeTile,
  entries,
  type Core,
  type Field,
  type Slice,
  type TraceInfo,
} from "../../src/data/api";
import { Fetches, Lru } from "../../src/data/cache";
import { join } from "../../src/data/chunks";
import { drawBrackets, lostEvents, lostText } from "../../src/draw/frame";
import { fieldsFor, parts, raster, type Style } from "../../src/draw/raster";
import { ellipsis, escapeXml, type Painter } from "../../src/draw/painter";
import { niceTop } from "../../src/draw/strips";
import { trackOf } from "../../src/draw/track";
import { ranges } from "../../src/ui/details";
import { LIGHT, OVERLOAD, css, frequency, looking, pack, rgb } from "../../src/model/colour";
import {
  AXIS,
  bands,
  coreUnits,
  GUTTER,
  labelled,
  layout,
  order,
  place,
  RIGHT,
  rowAt,
  type LayoutInput,
} from "../../src/model/layout";
import { BINS } from "../../src/model/levels";
import { initial } from "../../src/model/state";
import { addTiles } from "../../src/ui/area";

test("a tile is split into its fields, in the requested order", () => {
  const fields = Object.keys(FIELDS).reverse() as Field[];
  const parts = fields.map((field, i) => new FIELDS[field](entries(field, 3, 2)).fill(i + 1));
  const bytes = new Uint8Array(Buffer.concat(parts.map((part) => new Uint8Array(part.buffer)))).buffer;
  const decoded = decodeTile(bytes, fields, 3, 2);
  fields.forEach((field, i) => assert.deepEqual(decoded[field], parts[i], field));
  assert.equal(entries("set_sizes", 8, 2), 512);
  assert.throws(() => decodeTile(bytes.slice(0, -8), fields, 3, 2), ApiError);
});

test("the cache keeps the most recently used values within its limit", () => {
  const dropped: string[] = [];
  const lru = new Lru<string>(100, (value) => dropped.push(value));
  lru.set("a", "a", 40);
  lru.set("b", "b", 40);
  lru.get("a");
  lru.set("c", "c", 40);
  assert.deepEqual(dropped, ["b"]);
  assert.equal(lru.bytes, 80);
  lru.set("a", "A", 10);
  assert.equal(lru.bytes, 50);
  lru.set("big", "big", 1000);
  assert.deepEqual([lru.get("big"), lru.size], ["big", 1], "one value always has room");
});

test("fetches that are no longer needed are aborted, others continue", async () => {
  const log: string[] = [];
  const failed: string[] = [];
  const fetches = new Fetches(2, (key) => failed.push(key));
  const job =
    (name: string, fails = false) =>
    (signal: AbortSignal) =>
      new Promise<void>((done, no) => {
        log.push(`start ${name}`);
        const timer = setTimeout(() => (fails ? no(new Error(name)) : done()), 5);
        signal.addEventListener(
          "abort",
          () => (clearTimeout(timer), log.push(`abort ${name}`), no(new Error("aborted"))),
        );
      });
  const [a, b, c] = [job("a"), job("b"), job("c", true)];
  fetches.want(
    new Map([
      ["a", a],
      ["b", b],
      ["c", c],
    ]),
  );
  assert.deepEqual(log, ["start a", "start b"], "two at a time");
  fetches.want(
    new Map([
      ["c", c],
      ["b", b],
    ]),
  );
  await new Promise((done) => setTimeout(done, 30));
  assert.deepEqual(log, ["start a", "start b", "abort a", "start c"]);
  assert.deepEqual(failed, ["c"], "an abort is no failure");
  assert.ok(fetches.idle);
});

test("slices that chunks cut are joined", () => {
  const slice = (thread: number, from: number, to: number): Slice => ({
    core: 0,
    thread,
    from,
    to,
    khz: 0,
    stop: null,
  });
  const chunk = (from: number, to: number, slices: Slice[]) => ({
    span: { from, to },
    dense: false,
    busiest: 0,
    slices,
    marks: [],
  });
  const whole = join([
    chunk(0, 100, [slice(1, 10, 40), slice(1, 40, 60), slice(2, 80, 100)]),
    chunk(100, 200, [slice(2, 100, 130)]),
  ]);
  assert.deepEqual(
    whole.map((s) => [s.thread, s.from, s.to]),
    [
      [1, 10, 40],
      [1, 40, 60],
      [2, 80, 130],
    ],
  );
  const twice = join([chunk(0, 100, [slice(2, 80, 130)]), chunk(100, 200, [slice(2, 80, 130)])]);
  assert.equal(twice.length, 1);
});

/** Physical cores of two on four sockets, of two dies each if there are many; a small machine has one socket. */
const topology = (count: number): Core[] =>
  Array.from({ length: count }, (_, core) => {
    const physical = core % (count / 2);
    const part = (parts: number) => Math.floor((physical * parts) / (count / 2));
    const socket = count <= 8 ? 0 : part(4);
    return { physical, llc: count < 640 ? socket : part(8), numa: socket, socket };
  });

const info = (cores: Core[], sets: string[] = []): TraceInfo => ({
  name: "t",
  machine: "m",
  source: "s",
  duration: 1e9,
  events: 1,
  lost: [],
  inferred: 0,
  frequency_known: true,
  waiting_known: true,
  wakeups_known: true,
  energy: [],
  energy_measured: false,
  traced_threads: 1,
  cores,
  reasons: [],
  sets,
  khz_range: [1e6, 4e6],
  threads: 1,
  levels: { finest_stored: 0, coarsest: 6 },
  complete: true,
  sql: false,
  warnings: [],
});

test("cores of one socket, die and SMT pair are adjacent", () => {
  const cores = topology(640);
  const sorted = order(cores, ["socket", "llc", "physical"], () => true);
  const keys = sorted.map((c) => [cores[c]!.socket, cores[c]!.llc, cores[c]!.physical]);
  for (let i = 1; i < keys.length; i++)
    assert.ok(keys[i]!.join("/").localeCompare(keys[i - 1]!.join("/"), "en", { numeric: true }) >= 0);
  assert.deepEqual(
    order(topology(8), [], (c) => c !== 3),
    [0, 1, 2, 4, 5, 6, 7],
  );
});

test("a layout fits its room if possible, without overlaps", () => {
  for (const n of [8, 160, 640]) {
    const panel = { info: info(topology(n), ["primary"]), shown: () => true, others: null };
    for (const panels of [[panel], [panel, panel]]) {
      const { panels: placed, height } = layout({
        panels,
        group: ["socket", "llc", "physical"],
        strips: ["underload", "sets"],
        height: "fit",
        room: 800,
      });
      assert.ok(height <= 800, `${n}: ${height}`);
      let end = 0;
      for (const p of placed) {
        assert.ok(p.y >= end);
        end = p.y + p.height;
        let y = 0;
        for (const row of p.rows.rows) {
          assert.ok(row.y >= y && row.h >= (n < 640 ? 1 : 0.25));
          y = row.y + row.h;
          assert.equal(rowAt(p.rows.rows, row.y + row.h / 2), row);
        }
        assert.equal(y, p.rows.height);
        assert.equal(bands(p.rows.rows, 64).flat().length, n);
        const labels = labelled(p.rows.rows);
        for (let i = 1; i < labels.length; i++) assert.ok(labels[i]!.y - labels[i - 1]!.y >= 10.9);
        assert.equal(
          p.rows.brackets.filter((b) => b.kind === "socket").length,
          new Set(topology(n).map((c) => c.socket)).size,
        );
      }
    }
  }
  assert.equal(rowAt([], 5), null);
});

test("the first row of each socket has a label, also if it is its only one", () => {
  const cores = [0, 1, 2, 3, 4].map((core) => ({
    physical: core,
    llc: 0,
    numa: 0,
    socket: core < 3 ? 0 : core,
  }));
  for (const h of [1, 3, 5, 12]) {
    const { rows, brackets } = place(
      coreUnits(cores, ["socket"], () => true),
      h,
    );
    const labels = labelled(rows).map(({ label }) => label);
    for (const first of ["0", "3", "4"]) assert.ok(labels.includes(first), `${first} in ${labels} at ${h}`);
    const texts: string[] = [];
    const p = { line: () => {}, text: (_x: number, _y: number, text: string) => texts.push(text) };
    const frame = { theme: LIGHT, height: 400, width: 400, span: { from: 0, to: 1 } };
    drawBrackets(p as unknown as Painter, frame, brackets, AXIS);
    assert.deepEqual(texts, ["S0", "S3", "S4"], `rows of ${h} pixels`);
  }
});

test("panels use the room that others leave", () => {
  const fit = (panels: [cores: number, sets: string[]][], room: number) =>
    layout({
      panels: panels.map(([n, sets]) => ({ info: info(topology(n), sets), shown: () => true, others: null })),
      group: ["socket"],
      strips: ["underload", "sets"],
      height: "fit",
      room,
    });
  // One panel has a strip more, and still has rows as high.
  const { panels, height } = fit(
    [
      [64, []],
      [64, ["primary"]],
    ],
    460,
  );
  assert.deepEqual(
    panels.map((panel) => panel.rows.rows[0]!.h),
    [2, 2],
  );
  assert.ok(height <= 460 && height > 440, String(height));
  // Two cores fill the window.
  const two = fit([[2, []]], 600);
  assert.ok(two.panels[0]!.rows.height > 300 && two.height <= 600, String(two.height));
  for (const room of [600, 1000, 1600]) {
    const { height } = fit([[2, []]], room);
    assert.ok(height <= room && height > room - 3, `${height} of ${room}`);
  }
});

test("strips give way to rows", () => {
  const placed = (traces: number, cores: number, room: number, more: Partial<LayoutInput> = {}) => {
    const panel = { info: info(topology(cores), ["primary"]), shown: () => true, others: null };
    return layout({
      panels: Array(traces).fill(panel),
      group: [],
      strips: initial().strips,
      height: "fit",
      room,
      ...more,
    });
  };
  const strips = (...of: Parameters<typeof placed>) =>
    placed(...of).panels.map((panel) => panel.strips.map(({ strip }) => strip));
  // Four traces keep their rows.
  assert.ok(placed(4, 64, 580).height <= 580);
  assert.deepEqual(strips(4, 64, 580), Array(4).fill(["underload"]));
  assert.deepEqual(strips(4, 64, 700), Array(4).fill(["underload", "sets"]));
  assert.deepEqual(strips(1, 2, 600), [initial().strips]);
  assert.deepEqual(
    strips(1, 2, 600, { strips: ["underload", "power"] }),
    [["underload"]],
    "no power is known",
  );
  // Cores share pixels, up to four of them; with more of them the picture scrolls.
  assert.deepEqual(strips(1, 640, 560), [["underload"]]);
  const rows = (...of: Parameters<typeof placed>) =>
    placed(...of).panels.map((panel) => panel.rows.rows[0]!.h);
  const [h] = rows(1, 640, 560);
  assert.ok(h! > 0.7 && h! < 1 && placed(1, 640, 560).height <= 560, `${h}`);
  assert.ok(rows(4, 640, 560).every((h) => h === 0.25) && placed(4, 640, 560).height > 560);
  // A trace of few cores leaves its room to one of many.
  const mixed = [2, 640].map((n) => ({ info: info(topology(n)), shown: () => true, others: null }));
  const both = layout({ panels: mixed, group: [], strips: [], height: "fit", room: 560 });
  assert.ok(both.height <= 560 && both.height > 559, `${both.height}`);
  assert.deepEqual(strips(4, 64, 580, { height: "small" })[0], initial().strips);
});

globalThis.ImageData ??= class {
  readonly data: Uint8ClampedArray;
  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.data = new Uint8ClampedArray(4 * width * height);
  }
} as unknown as typeof ImageData;

test("cells show load as height, frequency as colour, and overload at the top", () => {
  const style: Style = {
    colour: "frequency",
    marks: ["overload"],
    theme: LIGHT,
    frequency: (mhz) => frequency((mhz - 1000) / 2000),
    look: null,
    selected: null,
    program: () => null,
    sets: 0,
  };
  const busy = new Uint8Array(2 * BINS);
  const mhz = new Uint16Array(2 * BINS);
  const overload = new Uint8Array(2 * BINS);
  [busy[0], mhz[0]] = [255, 3000];
  [busy[1], mhz[1]] = [128, 1000];
  [busy[BINS + 2], mhz[BINS + 2], overload[BINS + 2]] = [255, 2000, 255];
  const rows = [
    { key: 0, label: "0", y: 0, h: 21 },
    { key: 1, label: "1", y: 21, h: 21 },
  ];
  const image = raster({ busy, mhz, overload, spin: new Uint8Array(2 * BINS) }, rows, 1, style);
  const pixels = new Uint32Array(image.data.buffer);
  const at = (x: number, y: number) => pixels[y * BINS + x];
  const column = (x: number, colour: number) =>
    Array.from({ length: 42 }, (_, y) => at(x, y)).filter((c) => c === colour).length;
  assert.equal(image.height, 42);
  assert.equal(column(0, pack(frequency(1))), 20, "all of the row but its first pixel");
  assert.equal(column(1, pack(frequency(0))), 10);
  assert.equal(at(2, 21), pack(OVERLOAD));
  assert.equal(at(2, 41), pack(frequency(0.5)));
  assert.equal(at(9, 5), pack(LIGHT.row));
});

test("selected, dimmed and foreign threads are drawn in three ways; spinning has teeth", () => {
  const style: Style = {
    colour: "frequency",
    marks: [],
    theme: LIGHT,
    frequency: () => frequency(0.5),
    look: (thread) => (["full", "dimmed", "foreign"] as const)[thread - 1]!,
    selected: 1,
    program: () => null,
    sets: 0,
  };
  const [busy, mhz, spin] = [new Uint8Array(BINS), new Uint16Array(BINS), new Uint8Array(BINS)];
  const thread = new Uint32Array(BINS);
  for (const bin of [0, 1, 2]) [busy[bin], mhz[bin], thread[bin]] = [255, 2000, bin + 1];
  spin.fill(255, 8, 16);
  const image = raster({ busy, mhz, spin, thread }, [{ key: 0, label: "0", y: 0, h: 21 }], 1, style);
  const pixels = new Uint32Array(image.data.buffer);
  const column = (x: number) => Array.from({ length: 21 }, (_, y) => pixels[y * BINS + x]);
  const [selected, dimmed, foreign] = [column(0), column(1), column(2)];
  assert.deepEqual(selected.slice(0, 3), [pack(LIGHT.row), pack(rgb(LIGHT.select)), pack(frequency(0.5))]);
  const pale = pack(looking(frequency(0.5), "dimmed", LIGHT));
  assert.deepEqual(new Set(dimmed), new Set([pack(LIGHT.row), pale]));
  assert.deepEqual(
    foreign.slice(-7).map((pixel) => pixel === pack(LIGHT.row)),
    [false, true, false, false, false, false, false],
  );
  assert.equal(foreign.at(-1), pack(LIGHT.foreign));
  assert.ok(!foreign.includes(pale) && !dimmed.includes(pack(LIGHT.foreign)));
  const teeth = (x: number) => column(x).filter((pixel) => pixel === pack(rgb(LIGHT.spinning))).length;
  assert.deepEqual([8, 9, 10, 11, 12, 13, 16].map(teeth), [3, 3, 1, 1, 3, 3, 0]);
});

test("only the fields that a picture shows are fetched", () => {
  const style = { colour: "queue" as const, marks: [], look: null, sets: 0 };
  assert.deepEqual(fieldsFor(style), ["busy", "queue", "spin"]);
  assert.deepEqual(fieldsFor({ ...style, colour: "thread", marks: ["overload", "inversion"], sets: 2 }), [
    "busy",
    "thread",
    "spin",
    "overload",
    "inverted",
    "sets",
  ]);
  assert.ok(parts(3, true, 1).flat && !parts(4, true, 1).flat);
});

test("sums of an area count bins at its edges in part", () => {
  const f = {
    busy: new Uint8Array(2 * BINS).fill(255),
    mhz: new Uint16Array(2 * BINS).fill(2000),
    overload: new Uint8Array(2 * BINS),
    inverted: new Uint8Array(2 * BINS),
    wakeups: new Uint8Array(2 * BINS),
    migrations: new Uint8Array(2 * BINS),
    forks: new Uint8Array(2 * BINS),
    underload: new Float32Array(BINS).fill(1.5),
    runnable: new Uint16Array(BINS),
    cores_used: new Uint16Array(BINS).fill(1),
  };
  f.overload[1] = 255;
  f.wakeups[1] = 255;
  const sums = addTiles([{ fields: f, from: 0 }], 0, { from: 512, to: 1536 }, [0]);
  assert.deepEqual(
    [sums.busy, sums.khz, sums.underload, sums.used, sums.overload],
    [1, 2_000_000, 1.5, 1, 512],
  );
  assert.ok(sums.capped);
  const other = addTiles([{ fields: f, from: 0 }], 0, { from: 512, to: 1536 }, [1]);
  assert.deepEqual([other.busy, other.overload, other.wakeups], [1, 0, 0]);
});

test("text is cut to its room and escaped for XML", () => {
  const measure = (text: string) => text.length * 10;
  assert.equal(ellipsis("abcdef", 60, measure), "abcdef");
  assert.equal(ellipsis("abcdef", 50, measure), "abcd…");
  assert.equal(ellipsis("abcdef", 20, measure), "");
  assert.equal(escapeXml(`<a b="c">&\u0007\ud800x`), "&lt;a b=&quot;c&quot;&gt;&amp;\ufffd\ufffdx");
  assert.equal(escapeXml("😀"), "😀");
  assert.deepEqual([0, 0.1, 0.9, 7, 93, 160].map(niceTop), [1, 0.2, 1, 8, 100, 200]);
  assert.equal(css([1, 2, 3]), "rgb(1,2,3)");
});

test("lost and inferred events are counted apart", () => {
  const counts = { ...info(topology(4)), lost: [4, 0, 3], inferred: 5 };
  assert.equal(lostEvents(counts), 2);
  assert.equal(lostText(counts), "2 events lost (core 0, core 2)");
  assert.equal(lostText({ ...counts, inferred: 7 }), "");
  assert.equal(lostText({ ...counts, inferred: 0 }), "7 events lost (core 0: 4, core 2: 3)");
});

test("cores are named in ranges", () => {
  assert.equal(ranges([3, 0, 1, 2, 8, 10, 11]), "0-3, 8, 10-11");
  assert.equal(ranges([]), "");
});

test("each column of a thread's track is the mean of its bins", () => {
  // 256 bins of 1024 ns in 100 columns of 2.048 bins: the thread runs in the first bin, and is ready in the second.
  const [running, ready] = [new Float32Array(BINS), new Float32Array(BINS)];
  [running[0], ready[1]] = [1, 1];
  const tile = { from: 0, bin: 1024, running, ready };
  const source = { info: { ...info(topology(1)), duration: 1e6 }, states: { get: () => tile } };
  const scene = { span: { from: 0, to: 204_800 }, width: GUTTER + 100 + RIGHT, sources: [source], ratio: 1 };
  const track = trackOf(scene as never, source as never, 7);
  assert.equal(track.running.length, 100);
  assert.deepEqual([...track.running.slice(0, 3)], [0.5, 0, 0]);
  assert.deepEqual([...track.runnable.slice(0, 3)], [1, 0, 0]);
  // The trace ends in the middle of the first column.
  const short = { ...source, info: { ...source.info, duration: 1536 } };
  const cut = { ...scene, span: { from: -512, to: 204_288 } };
  assert.deepEqual([...trackOf(cut as never, short as never, 7).running.slice(0, 2)], [0.5, NaN]);
  const tiles = { ...source, states: { get: () => undefined } };
  assert.ok(trackOf(scene as never, tiles as never, 7).running.every(Number.isNaN));
});
