import assert from "node:assert/strict";
import { test } from "node:test";
import { energyAt, watts } from "../../src/model/energy";
import { looks, pattern } from "../../src/model/filter";
import {
  ancestor,
  binWidth,
  levelFor,
  levelForSums,
  next,
  tilesOf,
  tileSpan,
  tileWidth,
} from "../../src/model/levels";
import {
  clampSpan,
  fromHash,
  initial,
  startOf,
  toHash,
  withNamed,
  zoom,
  type View,
} from "../../src/model/state";
import { complete, tablesOf } from "../../src/model/complete";
import type { Process } from "../../src/data/api";
import { unknownThread } from "../../src/data/threads";
import { byProcess, trackedThreads } from "../../src/draw/compose";
import { place, threadUnits } from "../../src/model/layout";
import { cellText, placeOf } from "../../src/model/rows";
import { length, moment, niceStep, ticks } from "../../src/model/time";

test("bins and tiles have the widths of the format", () => {
  assert.equal(binWidth(0), 1024);
  assert.equal(binWidth(1), 4096);
  assert.equal(tileWidth(0), 262_144);
  assert.deepEqual(tileSpan({ level: 1, index: 2 }), { from: 2 * 1_048_576, to: 3 * 1_048_576 });
});

test("a bin is half a pixel to two pixels wide, except at the ends", () => {
  for (let ns = 600; ns < 1e9; ns *= 1.37) {
    const pixels = binWidth(levelFor(ns, 20)) / ns;
    assert.ok(pixels >= 0.5 - 1e-9 && pixels <= 2 + 1e-9, `${ns}: ${pixels}`);
  }
  assert.equal(levelFor(0.01, 20), 0);
  assert.equal(levelFor(1e15, 7), 7);
});

test("the tiles of a span overlap it, and end with the trace", () => {
  const w = tileWidth(0);
  assert.deepEqual(
    tilesOf(0, { from: 0, to: w }, 10 * w).map((t) => t.index),
    [0],
  );
  assert.deepEqual(
    tilesOf(0, { from: w - 1, to: w + 1 }, 10 * w).map((t) => t.index),
    [0, 1],
  );
  assert.deepEqual(
    tilesOf(0, { from: -5 * w, to: 50 * w }, 2.5 * w).map((t) => t.index),
    [0, 1, 2],
  );
  assert.deepEqual(tilesOf(0, { from: 5 * w, to: 6 * w }, 2 * w), []);
});

test("a tile is inside its ancestor", () => {
  const up = ancestor({ level: 2, index: 77 }, 5);
  assert.deepEqual(up, { level: 5, index: 1 });
  const [inner, outer] = [tileSpan({ level: 2, index: 77 }), tileSpan(up)];
  assert.ok(outer.from <= inner.from && inner.to <= outer.to);
});

test("sums of an area need at most five tiles", () => {
  for (let span = 1e6; span < 1e13; span *= 1.7) {
    const level = levelForSums({ from: 0, to: span }, 20);
    assert.ok(tilesOf(level, { from: 0, to: span }, 1e13).length <= 5);
  }
});

test("prefetches the neighbours, and finer tiles around the zoom position", () => {
  const [w, pixels] = [tileWidth(3), 1024];
  const window = { from: 10 * w, to: 14 * w };
  const level = levelFor((4 * w) / pixels, 20);
  assert.equal(level, 3);
  const all = next(level, window, pixels, 11 * w, 100 * w);
  assert.deepEqual(
    all.filter((t) => t.level === 3).map((t) => t.index),
    [9, 14],
  );
  // The finer level begins with a window of two tiles, of which a quarter is before the moment.
  const finer = all.filter((t) => t.level === 2).map((t) => t.index);
  assert.deepEqual(finer, [42, 43, 44, 45, 46, 47, 48, 49]);
  // There is no finer level, and no neighbour inside the trace.
  assert.deepEqual(next(0, { from: 0, to: tileWidth(0) }, pixels, 0, tileWidth(0)), []);
});

test("ticks are round, spaced, inside the span, and have units", () => {
  for (const [from, to] of [
    [0, 2e9],
    [5e8, 5.2e8],
    [1_234_567_000, 1_234_569_000],
    [0, 40],
    [3e12, 3e12 + 500],
  ] as const) {
    const { ticks: all, step, base } = ticks(from, to, 1200);
    assert.ok(all.length >= 2 && all.length <= 1200 / 60, `${from}-${to}: ${all.length}`);
    assert.match(String(step), /^[125]0*$/);
    for (const tick of all) {
      assert.ok(tick.time >= from && tick.time <= to);
      assert.ok(tick.label.length <= 14, tick.label);
      assert.match(tick.label, / (s|ms|µs|ns)$/);
    }
    assert.equal(new Set(all.map((t) => t.label)).size, all.length, "labels differ");
    assert.equal(base !== null, all[0]!.label.startsWith("+"));
  }
});

test("tables are completed after FROM and JOIN, columns elsewhere", () => {
  const column = (table: string, name: string | null, unit: string | null = null) => ({
    table,
    column: name,
    type: name && "BIGINT",
    unit,
    meaning: `${table} ${name}`,
  });
  const schema = [
    column("threads", null),
    column("threads", "thread"),
    column("threads", "tid"),
    column("threads", "name"),
    column("slices", null),
    column("slices", "thread"),
    column("slices", "start", "ns"),
    column("processes", null),
    column("processes", "pid"),
    column("processes", "name"),
  ];
  /** The words at the `|` of a text. */
  const words = (text: string) => {
    const { from, words } = complete(text.replace("|", ""), text.indexOf("|"), schema);
    assert.ok(from <= text.indexOf("|"));
    return words.map(({ word }) => word).join(" ");
  };
  assert.equal(words("SELECT * FROM |"), "threads slices processes");
  assert.equal(words("select * from s|"), "slices");
  assert.equal(words("SELECT * FROM slices JOIN pr|"), "processes");
  assert.equal(words("SELECT t| FROM threads"), "thread tid threads");
  assert.equal(words("SELECT st| FROM threads"), "", "of no table of the query");
  assert.equal(words("SELECT s| FROM slices AS x, threads"), "start slices");
  assert.equal(
    words("SELECT p.| FROM slices JOIN threads USING (thread) JOIN processes p USING (process)"),
    "pid name",
  );
  assert.equal(words("SELECT threads.n| FROM threads"), "name");
  assert.equal(words("SELECT x.| FROM slices x WHERE x.start > 1"), "thread start");
  for (const inside of [
    "SELECT 'na| FROM threads",
    "SELECT 1 -- na| FROM threads",
    "SELECT 'from | ' FROM threads",
  ])
    assert.equal(words(inside), "", inside);
  assert.equal(words("SELECT 'it', -- no\n na| FROM threads"), "name");
  assert.deepEqual(
    [
      ...tablesOf("SELECT 'from x' FROM a, b AS c LEFT JOIN d USING (e) JOIN (SELECT 1 FROM f) g ON true"),
    ].flat(),
    ["a", "a", "b", "b", "c", "b", "d", "d", "f", "f"],
  );
  assert.deepEqual(complete("SELECT st FROM slices", 9, schema), {
    from: 7,
    words: [{ word: "start", note: "BIGINT, ns – slices start" }],
  });
});

test("a row of an answer has a place if it says a time or a thread", () => {
  const slice = ["name", "duration", "start", "core", "thread"];
  assert.deepEqual(placeOf(slice, ["cc1", 30, 100, 2, 7]), { from: 100, to: 130, thread: 7, core: 2 });
  // A latency leads to the core on which the thread then ran.
  const latency = ["latency", "woken", "ran", "target", "on_core", "thread"];
  assert.deepEqual(placeOf(latency, [5, 10, 15, 3, 4, 7]), { from: 10, to: 15, thread: 7, core: 4 });
  assert.deepEqual(placeOf(["time", "core"], [9, 0]), { from: 9, to: null, thread: null, core: 0 });
  assert.deepEqual(placeOf(["thread"], [7]), { from: null, to: null, thread: 7, core: null });
  // The kernel's number of a thread is not its number in the trace.
  assert.equal(placeOf(["tid", "name"], [7, "sh"]), null);
  for (const [columns, row] of [
    [
      ["thread", "core"],
      [0, 1],
    ],
    [
      ["reason", "n"],
      ["primary", 3],
    ],
    [["time"], ["12"]],
    [["time"], [1.5]],
    [["time"], [null]],
    [["time"], [-1]],
  ] as const)
    assert.equal(placeOf(columns, row), null, `${columns}: ${row}`);
  assert.deepEqual([null, 0.1 + 0.2, 12345678901, true, "<b>", [1, null]].map(cellText), [
    "–",
    "0.3",
    "12345678901",
    "true",
    "<b>",
    "[1,null]",
  ]);
});

test("times have fitting units", () => {
  assert.deepEqual(
    [0, 7, 1500, 2_340_000, 1e9, 61.5e9].map((ns) => length(ns)),
    ["0 s", "7 ns", "1.5 µs", "2.34 ms", "1 s", "61.5 s"],
  );
  assert.equal(length(999_999), "1 ms");
  assert.equal(moment(1_234_567_890), "1.234 567 890 s");
  assert.equal(moment(500_000_000), "0.500 s");
  assert.deepEqual([0.7, 1, 1.2, 3, 7].map(niceStep), [1, 1, 2, 5, 10]);
});

test("threads of a process are together, below its name", () => {
  const rows = [5, 1, 7, 6, 9, 8].map((key) => ({ key, label: `t${key}` }));
  const process = (process: number, name: string) => ({ process, pid: process + 27, name });
  const of: Record<number, Process> = {
    5: process(3, "sh"),
    6: process(3, "sh"),
    9: process(4, "t9"),
    8: process(5, "x"),
  };
  const grouped = byProcess(rows, ({ key }) => of[key] ?? null);
  assert.deepEqual(
    grouped.map(({ key, label, header }) => [key, label, header]),
    [
      [5, "t5", "sh 30"],
      [6, "t6", undefined],
      [9, "t9 31", undefined],
      [8, "t8", "x 32"],
      [1, "t1", "unknown"],
      [7, "t7", undefined],
    ],
  );
  assert.deepEqual(
    byProcess(rows, () => null),
    rows,
    "a trace without processes has no headers",
  );
  const tops = (h: number) => place(threadUnits(grouped), h).rows.map(({ y }) => y);
  assert.deepEqual(tops(12), [15, 27, 42, 69, 96, 108]);
  assert.deepEqual(tops(5), [3, 8, 16, 24, 32, 37], "low rows have gaps in place of headers");
});

test("a thread has a track if it is pinned or selected", () => {
  const pins = [
    { trace: 0, thread: 4 },
    { trace: 1, thread: 5 },
  ];
  assert.deepEqual(trackedThreads({ pins, selection: { trace: 0, thread: 7 } }, 0), [4, 7]);
  assert.deepEqual(trackedThreads({ pins, selection: { trace: 0, thread: 4 } }, 0), [4]);
  assert.deepEqual(trackedThreads({ pins, selection: null }, 1), [5]);
  assert.deepEqual(fromHash("#pin=0.4-x-1.5.6-1.5", initial()).pins, pins);
});

test("a link contains the whole view", () => {
  const view: View = {
    named: "a & b",
    span: { from: 17, to: 4200 },
    colour: "reason",
    rows: "thread",
    group: ["socket"],
    marks: [],
    strips: ["sets"],
    height: "large",
    unused: true,
    filter: { traced: true, name: "^cc1|<b>&=#", thread: [4, 5] },
    selection: { trace: 1, thread: 9, time: 33, core: 7 },
    pins: [
      { trace: 0, thread: 4 },
      { trace: 1, thread: 12 },
    ],
    area: { from: 20, to: 30, trace: 1, cores: [0, 4, 1] },
    sql: { trace: 1, query: "SELECT '&=#.%'\nFROM \"a\" -- ü" },
    scroll: 12,
    theme: "dark",
  };
  assert.deepEqual(fromHash(`#${toHash(view, initial())}`, initial()), view);
  assert.equal(toHash(initial(), initial()), "");
  assert.deepEqual(fromHash("", initial()), initial());
});

test("energy between samples is in proportion to time, and power is its mean", () => {
  const samples = [
    [10, 20],
    [20, 60],
    [40, 60],
  ] as const;
  assert.deepEqual(
    [0, 5, 10, 15, 20, 30, 50].map((time) => energyAt(samples, time)),
    [0, 10, 20, 40, 60, 60, 60],
  );
  // Microjoules per nanosecond are kilowatts.
  assert.equal(watts(samples, 0, 10), 2000);
  assert.equal(watts(samples, 15, 40), (20 / 25) * 1000);
  assert.equal(watts(samples, -5, 5), 2000, "nothing is before the beginning");
  assert.equal(watts(samples, 35, 99), 0);
  assert.ok(Number.isNaN(watts(samples, 40, 50)) && Number.isNaN(watts([], 0, 10)));
});

test("power is shown at first if it was measured", () => {
  const simulated = { frequency_known: true, traced_threads: 3, energy_measured: false };
  assert.ok(!startOf([simulated]).strips.includes("power"));
  const measured = { ...simulated, energy_measured: true };
  assert.ok(startOf([simulated, measured]).strips.includes("power"));
});

test("without frequencies, programs have colours and other threads are dimmed", () => {
  const known = { frequency_known: true, traced_threads: 3, energy_measured: false };
  const unknown = { frequency_known: false, traced_threads: 3, energy_measured: false };
  assert.deepEqual(startOf([unknown, known]), initial());
  const start = startOf([unknown, unknown]);
  assert.deepEqual([start.colour, start.filter], ["process", { traced: true }]);
  assert.deepEqual(startOf([unknown, { ...unknown, traced_threads: 0 }]).filter, {});
  // A link holds what differs from the start, also a filter that is switched off.
  assert.equal(toHash(start, start), "");
  assert.deepEqual(fromHash("", start), start);
  const all: View = { ...start, filter: {} };
  assert.deepEqual(fromHash(`#${toHash(all, start)}`, start), all);
  assert.deepEqual(fromHash("#colour=frequency", start).filter, { traced: true });
  assert.deepEqual(withNamed(all, { name: "" }, start).filter, { traced: true });
  assert.deepEqual(withNamed(start, { name: "x", filter: {} }, start).filter, {});
});

test("invalid values in links are ignored", () => {
  for (const hash of [
    "#t=5-1",
    "#t=a-b",
    "#colour=__proto__",
    "#select=1",
    "#select=-1.x",
    "#scroll=NaN",
    "#t=99999999999999999999-1",
    "#%E0%A4%A",
    "#marks=toString.overload",
  ]) {
    const view = fromHash(hash, initial());
    assert.equal(view.span, null);
    assert.equal(view.colour, "frequency");
    assert.equal(view.selection, null);
  }
  assert.deepEqual(fromHash("#marks=toString.overload", initial()).marks, ["overload"]);
});

test("a window stays near the trace and keeps its width", () => {
  const close = (a: number, b: number) =>
    assert.ok(Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(b)), `${a} ${b}`);
  const right = clampSpan({ from: 900, to: 1900 - 400 }, 1000);
  close(right.to, 1020);
  close(right.to - right.from, 600);
  const all = clampSpan({ from: -1e9, to: 1e9 }, 1e6);
  close(all.to - all.from, 1.04e6);
  assert.ok(
    clampSpan({ from: 5e5, to: 5e5 + 1 }, 1e6).to - clampSpan({ from: 5e5, to: 5e5 + 1 }, 1e6).from >= 100,
  );
  const zoomed = zoom({ from: 0, to: 100 }, 25, 0.5);
  assert.deepEqual(zoomed, { from: 12.5, to: 62.5 });
});

test("a filter matches a regular expression, or else plain text", () => {
  assert.ok(pattern("^cc")("cc1") && !pattern("^cc")("gcc"));
  assert.ok(pattern("a(b")("xA(By"));
  const threads = {
    get: (t: number) => ({ ...unknownThread(t, t === 1 ? "cc1" : "make"), traced: t < 3 }),
  };
  const view = initial();
  assert.equal(looks(view, 0, threads), null);
  const of = (trace: number) => [1, 2, 3].map(looks(view, trace, threads)!);
  view.filter = { name: "make", traced: true };
  assert.deepEqual(of(0), ["dimmed", "full", "foreign"]);
  view.selection = { trace: 1, thread: 1 };
  assert.deepEqual(of(1), ["full", "dimmed", "foreign"], "no thread of the command looks foreign");
  view.selection = { trace: 1, thread: 3 };
  assert.deepEqual(of(1), ["dimmed", "dimmed", "full"], "a selected thread has its colour");
  view.filter = {};
  assert.deepEqual(of(1), ["dimmed", "dimmed", "full"]);
  view.selection = null;
  view.filter = { traced: false };
  assert.deepEqual(of(0), ["dimmed", "dimmed", "full"]);
  // A thread of which nothing is known yet is not called foreign.
  assert.deepEqual([9].map(looks({ ...view, filter: { traced: true } }, 0, { get: () => undefined })!), [
    "full",
  ]);
});
