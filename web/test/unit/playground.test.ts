// The playground's pure parts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { StringStream } from "@codemirror/language";
import type { Param, Question, Simulated } from "../../src/playground/api";
import { parts } from "../../src/playground/assist";
import { tokenizer } from "../../src/playground/language";
import { fitting, fromHash, toHash } from "../../src/playground/link";
import { comparison, digits, percent } from "../../src/playground/numbers";
import { scaleOf, shown } from "../../src/playground/params";
import { sentence } from "../../src/playground/verdict";

const START = { machine: "m", workload: "w", governor: "schedutil", seed: 1, baseline: "eevdf" };
const param = (patch: Partial<Param>): Param => ({
  name: "x",
  doc: "",
  unit: "int",
  min: 0,
  max: 10,
  initial: 5,
  ...patch,
});

test("a link holds the setting and the parameters", () => {
  const setting = { ...START, workload: "kbuild:jobs=8,files=2", baseline: "as opened", seed: 9 };
  const hash = toHash(setting, { s_max: 4_000_000, a: 1 });
  assert.deepEqual(fromHash(hash, START), { setting, params: { s_max: 4_000_000, a: 1 } });
  assert.deepEqual(fromHash("", START), { setting: START, params: {} });
  assert.deepEqual(fromHash("#seed=-1&param.a=x&param.b=1.5", START), { setting: START, params: {} });
});

test("only values within the bounds are kept", () => {
  const known = [param({}), param({ name: "y" })];
  assert.deepEqual(fitting({ x: 11, y: 7, z: 1 }, known), { y: 7 });
  assert.deepEqual(fitting({ x: 5, y: 0 }, known), { y: 0 });
});

test("documentation has code in fences and in backticks", () => {
  const code = (text: string) => ({ code: true, text });
  const plain = (text: string) => ({ code: false, text });
  assert.deepEqual(parts("```ipanema\nparam x : int in 0..9 = 1;\n```\n\nAs `y`, but <b>."), [
    code("param x : int in 0..9 = 1;"),
    plain("\n\nAs "),
    code("y"),
    plain(", but <b>."),
  ]);
  assert.deepEqual(parts("an unclosed ` is text"), [plain("an unclosed ` is text")]);
});

test("numbers have three digits", () => {
  assert.deepEqual([0, 1.23456, 12.3456, 1234.5, 0.0012345, -2.5].map(digits), [
    "0",
    "1.23",
    "12.3",
    "1235",
    "0.00123",
    "-2.50",
  ]);
  assert.deepEqual([0.1234, -0.05, 0.0001, Infinity].map(percent), ["+12.3 %", "−5.0 %", "same", "–"]);
});

test("a slider reaches both bounds and the initial value", () => {
  for (const one of [
    param({}),
    param({ min: 0, max: 1, initial: 1 }),
    param({ max: 100_000_000, initial: 1_000_000, unit: "time" }),
    param({ min: 100_000, max: 1_000_000_000, initial: 3_000_000, unit: "time" }),
    param({ min: -500, max: 500, initial: 0 }),
  ]) {
    const scale = scaleOf(one);
    assert.equal(scale.at(0), one.min);
    assert.equal(scale.at(scale.steps), one.max);
    const back = scale.at(scale.step(one.initial));
    assert.ok(Math.abs(back - one.initial) <= (one.initial - one.min) * 0.1 + 3, `${back} of ${one.initial}`);
    for (let step = 1; step <= scale.steps; step++) assert.ok(scale.at(step) >= scale.at(step - 1));
  }
});

test("values have their units", () => {
  const values = [
    shown(1, "bool"),
    shown(0, "time"),
    shown(4_000_000, "time"),
    shown(2_100_000, "frequency"),
  ];
  assert.deepEqual(values, ["true", "0 ns", "4 ms", "2.1 GHz"]);
});

/** The tokens of a line, by kind. */
function tokens(text: string): [string, string | null][] {
  const token = tokenizer(
    new Set(["policy", "extends", "on", "time", "true", "because", "in"]),
    new Set(["now", "claim"]),
  );
  const state = { comment: false, member: false, before: "" };
  const found: [string, string | null][] = [];
  for (const line of text.split("\n")) {
    const stream = new StringStream(line, 4, 4);
    while (!stream.eol()) {
      stream.start = stream.pos;
      const kind = token(stream, state);
      assert.ok(stream.pos > stream.start, `no progress in ${line}`);
      if (kind) found.push([stream.current(), kind]);
    }
  }
  return found;
}

test("tokens have the kinds of the language", () => {
  assert.deepEqual(tokens("policy my-nest extends fifo+all {"), [
    ["policy", "keyword"],
    ["my-nest", "typeName"],
    ["extends", "keyword"],
    ["fifo+all", "typeName"],
  ]);
  assert.deepEqual(tokens("on block (thread t) x.time = now - 4ms; /* a\nb */ claim(x) // c"), [
    ["on", "keyword"],
    ["block", "labelName"],
    ["thread", "variableName"],
    ["t", "variableName"],
    ["x", "variableName"],
    ["time", "propertyName"],
    ["=", "operator"],
    ["now", "standard"],
    ["-", "operator"],
    ["4ms", "number"],
    ["/*", "comment"],
    [" a", "comment"],
    ["b */", "comment"],
    ["claim", "function"],
    ["x", "variableName"],
    ["// c", "comment"],
  ]);
});

test("a comparison says what is better, and nothing of unknown energy", () => {
  const of = (speedup: number, energy_saving: number) => comparison({ speedup, energy_saving } as Simulated);
  assert.equal(of(0.053, -0.0651), "5.3 % faster, 6.5 % more energy");
  assert.equal(of(-0.2, 0.1), "20.0 % slower, 10.0 % less energy");
  assert.equal(of(0.0004, 0), "equally fast, the same energy");
  assert.equal(of(0.1, NaN), "10.0 % faster");
});

test("a sentence says what was not explored", () => {
  const question: Question = {
    question: "q",
    what: "no thread is lost",
    violation: null,
    scenarios: 30,
    complete: 9,
    cut: 21,
    vacuous: 0,
    violated: 0,
  };
  assert.equal(
    sentence(question, 2000),
    "no violation in all states of 9 scenarios, nor in the first 2000 of 21 others",
  );
  assert.equal(
    sentence({ ...question, complete: 30, cut: 0, vacuous: 2 }, 2000),
    "no violation in all states of 30 scenarios; 2 are too short for waiting",
  );
  assert.equal(sentence({ ...question, complete: 8, violated: 1 }, 2000), "violated in 1 of 30 scenarios");
});
