// Chromium, and helpers of the tests.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: FLAGS });
}

/** The path of a built program. */
export function program(variable: "HEARTH" | "HEARTH_SERVE" | "HEARTH_SAMPLE"): string {
  const path = process.env[variable];
  if (!path) throw new Error(`${variable} is not set; run the tests with: scripts/test web`);
  return path;
}

/** A folder that is removed after the tests of a file. */
export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "hearth-web-"));
  after(() => rmSync(folder, { recursive: true }));
  return folder;
}

export type Opened = Page & {
  /** Errors on the page's console. */
  errors: string[];
  /** The addresses of all requests. */
  asked: string[];
  /** The number of requests without an answer yet. */
  running: number;
};

type Open = (url: string, options?: { dark?: boolean; height?: number }) => Promise<Opened>;

/** Gives the tests of a file a browser. A test fails if a page has an error that the test did not remove from `errors`. */
export function browse(): Open {
  let browser: Browser;
  const opened: Opened[] = [];
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());
  afterEach(async () => {
    const errors = opened.splice(0).flatMap((page) => page.errors);
    await Promise.all(browser.contexts().map((context) => context.close()));
    assert.deepEqual(errors, []);
  });
  return async (url, { dark, height = 800 } = {}) => {
    const options = { viewport: { width: 1280, height }, colorScheme: dark ? "dark" : "light" } as const;
    const seen = { errors: [] as string[], asked: [] as string[], running: 0 };
    const page = Object.assign(await browser.newPage(options), seen);
    opened.push(page);
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => page.errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
    page.on("request", (request) => (page.running++, page.asked.push(request.url())));
    page.on("requestfinished", () => page.running--);
    page.on("requestfailed", () => page.running--);
    await page.goto(url);
    return page;
  };
}

/** Waits for two frames, because changes are drawn in the next one. */
export const drawn = (page: Page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Waits until all visible data is drawn. */
export async function ready(page: Page): Promise<void> {
  // The state changes with the next frame, so wait for that first.
  await drawn(page);
  await page.waitForFunction(() => document.documentElement.dataset.state === "ready", undefined, {
    timeout: 60_000,
  });
}

/** The colours in a rectangle of a canvas. */
export function colours(canvas: Locator, x: number, y: number, w: number, h: number): Promise<string[]> {
  return canvas.evaluate(
    (element: HTMLCanvasElement, [x, y, w, h]) => {
      const { data } = element.getContext("2d")!.getImageData(x!, y!, w!, h!);
      const all = new Set<string>();
      for (let i = 0; i < data.length; i += 4) all.add(data.subarray(i, i + 3).join());
      return [...all];
    },
    [x, y, w, h],
  );
}
