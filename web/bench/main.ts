// node out/bench/main.js ADDRESS [ROUNDS]: how fast the page draws what a running server offers.
//   first picture   from the start of the navigation to the first picture with content
//   complete        until everything in sight has come
//   redraw          from a zoom step to the next picture that is drawn (coarser tiles may stand in)
//   settled         from a zoom step until all tiles in sight have come
// Prints a table, and JSON below it.

import { launch } from "../test/e2e/browser";

const [address, rounds = "5"] = process.argv.slice(2);
if (!address) {
  console.error("error: which address?\n  help: node out/bench/main.js http://127.0.0.1:PORT/TOKEN/");
  process.exit(2);
}

function spread(values: number[]): { median: number; p95: number; max: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  return { median: Math.round(at(0.5) * 10) / 10, p95: Math.round(at(0.95) * 10) / 10, max: Math.round(at(1) * 10) / 10 };
}

const browser = await launch();
const samples: Record<string, number[]> = { "first picture": [], complete: [], draw: [], redraw: [], settled: [] };
let memory = 0;
let traces: { name: string; events: number; cores: number }[] = [];
for (let round = 0; round < Number(rounds); round++) {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForFunction(() => document.documentElement.dataset.state === "ready", undefined, { timeout: 120_000 });
  const marks = await page.evaluate(() => ["hearth:first-picture", "hearth:complete"].map((name) => performance.getEntriesByName(name)[0]!.startTime));
  samples["first picture"]!.push(marks[0]!);
  samples.complete!.push(marks[1]!);
  traces = await page.evaluate(async () => ((await (await fetch("api/traces")).json()) as { name: string; events: number; cores: unknown[] }[]).map((t) => ({ name: t.name, events: t.events, cores: t.cores.length })));
  // From the whole run into its middle, halving the window each time, and out again.
  const duration = await page.evaluate(async () => Math.max(...((await (await fetch("api/traces")).json()) as { duration: number }[]).map((t) => t.duration)));
  for (const direction of [0.5, 2]) {
    let width = direction < 1 ? duration : 200_000;
    for (let step = 0; step < 14; step++) {
      width = Math.min(duration, Math.max(100_000, width * direction));
      const from = Math.round(duration * 0.4137 * (1 - width / duration));
      const [redraw, settled] = await page.evaluate(async (hash) => {
        const frame = () => new Promise<number>((done) => requestAnimationFrame(() => done(performance.now())));
        const began = performance.now();
        location.hash = hash;
        await new Promise((done) => window.addEventListener("hashchange", done, { once: true }));
        // The page draws in the next frame; the one after it has been shown.
        await frame();
        const drawn = await frame();
        while (document.documentElement.dataset.state !== "ready") await frame();
        return [drawn - began, performance.now() - began] as [number, number];
      }, `t=${from}-${from + Math.round(width)}`);
      samples.redraw!.push(redraw);
      samples.settled!.push(settled);
    }
  }
  samples.draw!.push(...(await page.evaluate(() => performance.getEntriesByName("hearth:draw").map((entry) => entry.duration))));
  const session = await context.newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number; backingStorageSize?: number };
  memory = Math.max(memory, usedSize + backingStorageSize);
  await context.close();
}
await browser.close();

console.log(traces.map((t) => `${t.name}: ${t.events.toLocaleString("en")} events, ${t.cores} cores`).join("\n"));
console.log(`\n| ms | median | p95 | max |\n|---|---|---|---|`);
const table = Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, spread(values)]));
for (const [name, { median, p95, max }] of Object.entries(table)) console.log(`| ${name} | ${median} | ${p95} | ${max} |`);
console.log(`\npage memory (JavaScript heap and buffers, after collection): ${(memory / (1 << 20)).toFixed(0)} MiB`);
console.log(JSON.stringify({ traces, ms: table, page_bytes: memory }));
