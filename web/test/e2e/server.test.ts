// The page with the real server. HEARTH_SERVE is the path of the built crates/view/examples/serve.rs.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { TraceInfo } from "../../src/data/api";
import { colours, launch, open, ready, view } from "./browser";

const binary = process.env.HEARTH_SERVE;
const HOSTILE = `<img src=x onerror="window.hacked=1">`;
const IN = "#t=100000000-100400000&height=normal";
const options = { skip: binary ? false : "HEARTH_SERVE is not set" };

let browser: Browser;
let server: ChildProcess;
let url = "";

before(async () => {
  if (!binary) return;
  server = spawn(binary, [], {
    env: { ...process.env, EVENTS: "200000", TRACES: "2" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said = new Promise<string>((done, failed) => {
    server.stdout!.on("data", (bytes: Buffer) => done(String(bytes).trim()));
    server.on("exit", (code) => failed(new Error(`the server ended with ${code}`)));
  });
  [browser, url] = await Promise.all([launch(), said]);
});
after(async () => {
  await browser?.close();
  server?.kill();
});

const settle = (page: Page) => page.waitForTimeout(200).then(() => ready(page));
const close = (page: Page) => page.context().close();
const infos = (page: Page) =>
  page.evaluate(async () => (await (await fetch("api/traces")).json()) as TraceInfo[]);

test("draws the server's data without errors", options, async () => {
  const { page, errors } = await open(browser, url);
  assert.equal((await infos(page)).length, 2);
  assert.ok((await colours(page, 120, 60, 1000, 150)) > 10);
  assert.ok((await colours(page, 120, 430, 1000, 150)) > 10);
  for (const colour of ["queue", "thread", "process", "reason"]) {
    await page.selectOption("#colour", colour);
    await settle(page);
    assert.ok((await colours(page, 120, 60, 1000, 150)) > 3, colour);
  }
  for (const rows of ["thread", "process"]) {
    await page.selectOption("#rows", rows);
    await settle(page);
    assert.ok((await colours(page, 120, 60, 1000, 150)) > 2, rows);
  }
  assert.deepEqual(errors, []);
  await close(page);
});

test("the server's named views can be applied", options, async () => {
  const { page, errors } = await open(browser, url);
  const names = await page.locator("#named option").allTextContents();
  assert.ok(names.length > 1, String(names));
  for (const name of names.slice(1)) {
    await page.selectOption("#named", name);
    await settle(page);
  }
  assert.deepEqual(errors, []);
  await close(page);
});

test("zoomed in, slices, hover, click, following and search agree with the server", options, async () => {
  const { page, errors } = await open(browser, `${url}${IN}`);
  // The threads that run in the middle of the window.
  const { from, to } = { from: 100_000_000, to: 100_400_000 };
  const { slices } = (await page.evaluate(
    async ([a, b]) => await (await fetch(`api/traces/0/events?from=${a}&to=${b}&limit=5000`)).json(),
    [from, to],
  )) as { slices: { core: number; thread: number; from: number; to: number }[] };
  const inside = slices
    .filter((s) => s.from > from && s.to < to)
    .sort((a, b) => b.to - b.from - (a.to - a.from));
  assert.ok(inside.length > 0, "a slice to look at");
  const slice = inside[0]!;
  const box = (await page.locator("#picture").boundingBox())!;
  const x = 96 + ((slice.from + slice.to) / 2 - from) * ((box.width - 96 - 14) / (to - from));
  // Rows are ordered by socket, die, and physical core.
  const { cores } = (await infos(page))[0]!;
  const order = cores
    .map((_, i) => i)
    .sort(
      (a, b) =>
        cores[a]!.socket - cores[b]!.socket ||
        cores[a]!.llc - cores[b]!.llc ||
        cores[a]!.physical - cores[b]!.physical ||
        a - b,
    );
  const nth = order.indexOf(slice.core);
  let y = box.y + 26 + 30 + 6 + nth * 12;
  for (let i = 1; i <= nth; i++) {
    const [a, b] = [cores[order[i - 1]!]!, cores[order[i]!]!];
    y += a.socket !== b.socket ? 8 : a.physical !== b.physical ? 2 : 0;
  }
  await page.mouse.move(x, y);
  await page.waitForFunction(
    (tid) => document.querySelector("#tip b")?.textContent?.endsWith(`· ${tid}`),
    slice.thread,
  );
  await page.mouse.click(x, y);
  await page.waitForFunction(
    (tid) => document.querySelector("#details .sub")?.textContent?.startsWith(`thread ${tid} `),
    slice.thread,
  );
  await settle(page);
  const selected = () =>
    page.evaluate(() => /select=([\d.]+)/.exec(location.hash)![1]!.split(".").map(Number));
  assert.deepEqual(await selected(), [0, slice.thread, slice.from, slice.core]);
  for (const [key, later] of [
    [".", true],
    [",", false],
  ] as const) {
    const before = (await selected())[2]!;
    await page.keyboard.press(key);
    await page.waitForFunction(
      (t) => Number(/select=[\d]+\.\d+\.(\d+)/.exec(location.hash)?.[1]) !== t,
      before,
    );
    await settle(page);
    assert.equal((await selected())[2]! > before, later, key);
  }
  assert.deepEqual((await selected())[2], slice.from, "there and back again");
  await page.keyboard.press("/");
  await page.keyboard.type("<img");
  await page.waitForSelector("#found li[role=option]");
  await page.keyboard.press("Enter");
  await page.waitForFunction((name) => document.querySelector("#details h2")?.textContent === name, HOSTILE);
  assert.equal(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), undefined);
  assert.equal(await page.locator("#details img, #found img").count(), 0);
  assert.deepEqual(errors, []);
  await close(page);
});

test("sums of an area agree with the events", options, async () => {
  const { page } = await open(browser, `${url}#area=100000000-100400000&t=100000000-100400000`);
  await page.waitForFunction(() => document.getElementById("details")!.textContent!.includes("overload"));
  const text = (await page.textContent("#details"))!;
  const told = Number(/cores busy, mean([\d.]+)/.exec(text)![1]);
  const { slices } = (await page.evaluate(
    async () => await (await fetch("api/traces/0/events?from=100000000&to=100400000&limit=5000")).json(),
  )) as { slices: { from: number; to: number }[] };
  const busy =
    slices.reduce(
      (sum, s) => sum + Math.max(0, Math.min(s.to, 100_400_000) - Math.max(s.from, 100_000_000)),
      0,
    ) / 400_000;
  assert.ok(Math.abs(told - busy) < 0.02 * busy + 0.05, `${told} against ${busy}`);
  await close(page);
});

test("a link restores the view; dark theme; no external requests", options, async () => {
  const { page } = await open(browser, `${url}${IN}&colour=reason&theme=dark&marks=overload.place`);
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  await page.reload();
  await ready(page);
  assert.equal(await page.inputValue("#colour"), "reason");
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  assert.deepEqual(
    [...hosts].filter((host) => host && host !== new URL(url).host),
    [],
  );
  await view(page, "#t=100000000-100001000");
  await close(page);
});
