// One page, from its start through zooming in, zooming out and moving.

import type { Browser, Page } from "playwright-core";
import { GUTTER, RIGHT } from "../src/model/layout";
import { cpu, peak, type Served } from "./serve";
import type { Result } from "./table";

export interface Step {
  kind: "in" | "out" | "move";
  /** Nanoseconds in the window. */
  width: number;
  /** Until a picture of the new window had been shown; coarser tiles may stand in. */
  redraw: number;
  /** Until all that belongs to it had come, and had been drawn. */
  sharp: number;
  /** The longest that drawing one picture took. */
  draw: number;
  /** Of the slowest answer: all of it, and the server's part; how many there were, and their bytes. */
  answer: number;
  work: number;
  answers: number;
  bytes: number;
  /** CPU time in ms, of the server and of the page's process: what a busy machine does not change much. */
  serverCpu: number;
  pageCpu: number;
}

const STEPS = 14;
const NARROWEST = 100_000;

interface Told {
  name: string;
  events: number;
  duration: number;
  cores: unknown[];
}

export async function measure(
  browser: Browser,
  server: Served,
  { round, pause }: { round: number; pause: number },
  result: Result,
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
  const page = await context.newPage();
  await page.goto(server.address);
  await page.waitForFunction(() => document.documentElement.dataset.state === "ready", undefined, {
    timeout: 120_000,
  });
  const [first, complete] = await page.evaluate(() =>
    ["hearth:first-picture", "hearth:complete"].map(
      (name) => performance.getEntriesByName(name)[0]!.startTime,
    ),
  );
  result.first.push(first!);
  result.complete.push(complete!);
  const traces = await page.evaluate(async () => (await (await fetch("api/traces")).json()) as Told[]);
  result.traces = traces.map(({ name, events, cores }) => ({ name, events, cores: cores.length }));
  const duration = Math.max(...traces.map((trace) => trace.duration));
  // Other places each time, all over the trace: what the server still holds from the last round is of no use.
  const place = (0.4137 + round * 0.618034) % 1;
  await point(page, place);
  const processes = await renderers(browser);
  for (const [kind, from, width] of walk(duration, place)) {
    await page.waitForTimeout(pause);
    const before = [server.cpu(), all(processes, cpu)] as const;
    const seen = await step(page, from, width);
    result.steps.push({
      kind,
      width,
      ...seen,
      serverCpu: server.cpu() - before[0],
      pageCpu: all(processes, cpu) - before[1],
    });
  }
  result.page = Math.max(result.page, await heap(page));
  result.renderer = Math.max(result.renderer, ...processes.map((id) => peak(id) ?? 0));
  await context.close();
}

/** Windows: halved again and again somewhere in the trace, doubled again, and moved by half of themselves in between. */
function* walk(duration: number, place: number): Generator<[Step["kind"], number, number]> {
  const at = (width: number) => Math.round(duration * place * (1 - width / duration));
  let width = duration;
  for (let n = 0; n < STEPS && width > NARROWEST; n++) {
    width = Math.max(NARROWEST, Math.round(width / 2));
    yield ["in", at(width), width];
    for (const part of n % 3 === 2 ? [0.5, 1] : [])
      yield ["move", Math.min(duration - width, at(width) + Math.round(part * width)), width];
  }
  while (width < duration) {
    width = Math.min(duration, width * 2);
    yield ["out", at(width), width];
  }
}

/** The pointer is where one zooms in. */
async function point(page: Page, place: number): Promise<void> {
  const box = (await page.locator("#picture").boundingBox())!;
  const [left, right] = [box.x + GUTTER, box.x + box.width - RIGHT];
  await page.mouse.move(left + place * (right - left), box.y + box.height / 2);
}

function step(
  page: Page,
  from: number,
  width: number,
): Promise<Omit<Step, "kind" | "width" | "serverCpu" | "pageCpu">> {
  return page.evaluate(
    async (hash) => {
      performance.clearResourceTimings();
      performance.clearMeasures("hearth:draw");
      const frame = () => new Promise<number>((done) => requestAnimationFrame(() => done(performance.now())));
      const began = performance.now();
      location.hash = hash;
      await new Promise((done) => window.addEventListener("hashchange", done, { once: true }));
      // The page draws in the next frame; when the one after it begins, that has been shown.
      await frame();
      const redraw = (await frame()) - began;
      while (document.documentElement.dataset.state !== "ready") await frame();
      const sharp = performance.now() - began;
      const most = (values: number[]) => Math.max(0, ...values);
      const answers = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
      return {
        redraw,
        sharp,
        draw: most(performance.getEntriesByName("hearth:draw").map((entry) => entry.duration)),
        answer: most(answers.map((entry) => entry.duration)),
        work: most(
          answers.map((entry) =>
            most(
              entry.serverTiming.filter((timing) => timing.name === "work").map((timing) => timing.duration),
            ),
          ),
        ),
        answers: answers.length,
        bytes: answers.reduce((sum, entry) => sum + entry.encodedBodySize, 0),
      };
    },
    `t=${from}-${from + width}`,
  );
}

/** JavaScript's heap with its buffers, after collection. */
async function heap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = (await session.send("Runtime.getHeapUsage")) as {
    usedSize: number;
    backingStorageSize?: number;
  };
  return usedSize + backingStorageSize;
}

/** The processes of pages. One is that of ours; the browser does not say which. */
async function renderers(browser: Browser): Promise<number[]> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = (await session.send("SystemInfo.getProcessInfo")) as {
    processInfo: { type: string; id: number }[];
  };
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

const all = (processes: readonly number[], value: (id: number) => number) =>
  processes.reduce((sum, id) => sum + value(id), 0);
