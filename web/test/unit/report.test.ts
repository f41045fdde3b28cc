import assert from "node:assert/strict";
import { test } from "node:test";
import { frequency, UNKNOWN } from "../../src/model/colour";
import { binned, cells, decode, find, underload, type TraceData } from "../../src/report/data";
import { compare } from "../../src/report/sort";

const base64 = (...bytes: number[]) => btoa(String.fromCharCode(...bytes));

/** 8 s in 8 steps. Core 0 is idle. Core 1 is busy at 1 GHz from 0 to 2 s, and half busy at an unknown frequency from 4 to 5 s. */
const DATA: TraceData = {
  duration: 8,
  steps: 8,
  low: 0.9,
  step: 0.5,
  bins: 3,
  cores: [
    ["0", 0],
    ["7", 1],
  ],
  rows: base64(0, 2, 0, 2, 40, 255, 2, 1, 0, 128),
  underload: base64(0, 20, 4, 0, 2, 0x80, 1),
  units: [0.025, 0.1],
};

test("traces decode to what the report encoded", () => {
  const { duration, cores, lanes, underload } = decode(DATA);
  assert.equal(duration, 8e9);
  assert.deepEqual(cores[1], { label: "7", socket: 1 });
  assert.equal(lanes[0]!.from.length, 0);
  assert.deepEqual([...lanes[1]!.from], [0, 4e9]);
  assert.deepEqual([...lanes[1]!.to], [2e9, 5e9]);
  assert.deepEqual([...lanes[1]!.mhz], [1000, 0]);
  assert.deepEqual(
    underload.map(([time, value]) => [time, Math.round(value * 10)]),
    [
      [0, 20],
      [4e9, 0],
      [6e9, 128],
    ],
  );
  assert.deepEqual(
    [0, 2e9, 4.5e9, 5e9].map((time) => find(lanes[1]!, time)),
    [0, 1, 1, 2],
  );
});

test("cells hold load and mean frequency of their columns", () => {
  const { lanes } = decode(DATA);
  const whole = cells(lanes, { from: 0, to: 8e9 }, 4);
  assert.deepEqual([...whole.busy!], [0, 0, 0, 0, 255, 0, 64, 0]);
  assert.deepEqual([...whole.mhz!], [0, 0, 0, 0, 1000, 0, 0, 0]);
  const part = cells(lanes, { from: 1e9, to: 5e9 }, 2);
  assert.deepEqual([...part.busy!], [0, 0, 128, 64]);
});

test("underload columns have mean and peak", () => {
  const { mean, peak } = underload(decode(DATA), { from: 0, to: 8e9 }, 1);
  assert.ok(Math.abs(mean[0]! - (4 * 2 + 2 * 12.8) / 8) < 1e-4, `${mean[0]}`);
  assert.ok(Math.abs(peak[0]! - 12.8) < 1e-4);
});

test("bins include their upper edge", () => {
  const colour = binned(DATA);
  assert.deepEqual([900, 1400, 1401, 1900, 5000].map(colour), [0, 0, 0.5, 0.5, 1].map(frequency));
  assert.equal(colour(0), UNKNOWN);
});

test("unknown values sort last in either order", () => {
  const sorted = (order: "ascending" | "descending") =>
    [2, NaN, 10, 1].sort((a, b) => compare(a, b, order)).map(String);
  assert.deepEqual(sorted("ascending"), ["1", "2", "10", "NaN"]);
  assert.deepEqual(sorted("descending"), ["10", "2", "1", "NaN"]);
  assert.ok(compare("nest", "nest (s_max=2)", "ascending") < 0);
});
