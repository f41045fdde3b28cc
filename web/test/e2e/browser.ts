// Chromium, and helpers of the tests.

import { chromium, type Browser, type Page } from "playwright-core";

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

export interface Opened {
  page: Page;
  /** Errors on the page's console. */
  errors: string[];
}

export async function open(
  browser: Browser,
  url: string,
  options: { width?: number; height?: number; dark?: boolean; scale?: number } = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    colorScheme: options.dark ? "dark" : "light",
    deviceScaleFactor: options.scale ?? 1,
    acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(8000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  await ready(page);
  return { page, errors };
}

/** Waits until all visible data is drawn. */
export async function ready(page: Page): Promise<void> {
  // The state changes with the next frame, so wait for that first.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(() => document.documentElement.dataset.state === "ready", undefined, {
    timeout: 60_000,
  });
}

/** Changes the view of the open page through its URL. */
export async function view(page: Page, hash: string): Promise<void> {
  await page.evaluate((h) => (location.hash = h), hash);
  await ready(page);
}

/** The colour of a pixel of the picture. */
export function pixel(page: Page, x: number, y: number): Promise<[number, number, number]> {
  return page.evaluate(
    ([x, y]) => {
      const canvas = document.getElementById("picture") as HTMLCanvasElement;
      const ratio = canvas.width / canvas.clientWidth;
      const [r, g, b] = canvas.getContext("2d")!.getImageData(x! * ratio, y! * ratio, 1, 1).data;
      return [r!, g!, b!] as [number, number, number];
    },
    [x, y],
  );
}

/** The number of different colours in a rectangle of the picture. */
export function colours(page: Page, x: number, y: number, w: number, h: number): Promise<number> {
  return page.evaluate(
    ([x, y, w, h]) => {
      const canvas = document.getElementById("picture") as HTMLCanvasElement;
      const data = new Uint32Array(canvas.getContext("2d")!.getImageData(x!, y!, w!, h!).data.buffer);
      return new Set(data).size;
    },
    [x, y, w, h],
  );
}
