// The playground with the real server. HEARTH is the path of the built command.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser";

const binary = process.env.HEARTH;
const options = { skip: binary ? false : "HEARTH is not set" };
/** Screenshots are written here, to be looked at. */
const pictures = process.env.PICTURES;

const TEXT = `/// Keeps a core warm while its thread sleeps briefly.
policy patient extends cfs {
    /// A core spins for at most this time after its thread blocks.
    param linger : time in 0ms..100ms = 4ms;

    on block (thread t) {
        if (linger > 0ns) keep_warm(t.core, linger);
        super;
    }
}
`;

let browser: Browser;
let folder = "";
let file = "";
const servers: ChildProcess[] = [];

/** Starts \`hearth view\` and returns its address. */
function serve(...args: string[]): Promise<string> {
  const server = spawn(binary!, ["view", "--no-open", ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(server);
  return new Promise((done, failed) => {
    server.stdout!.on("data", (bytes: Buffer) => done(String(bytes).trim()));
    server.on("exit", (code) => failed(new Error(`the server ended with ${code}`)));
  });
}

before(async () => {
  if (!binary) return;
  folder = mkdtempSync(join(tmpdir(), "hearth-playground-"));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  servers.forEach((server) => server.kill());
  if (folder) rmSync(folder, { recursive: true });
});

type Opened = Page & { errors: string[] };

async function open(url: string, dark = false): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 720 },
    colorScheme: dark ? "dark" : "light",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  return Object.assign(page, { errors });
}

/** A server of a fresh policy, and its page, with a small machine and workload. */
async function fresh(dark = false): Promise<Opened> {
  file = join(folder, "patient.ipa");
  writeFileSync(file, TEXT);
  return open(`${await serve(file, "-m", "ryzen-3400g", "-w", "fork-wait")}#seed=3`, dark);
}

const state = (page: Page, wanted: string) =>
  page.waitForFunction((wanted) => document.documentElement.dataset.state === wanted, wanted, { timeout: 60_000 });

/** Replaces a word of the text as a user does. */
async function replace(page: Page, from: string, to: string): Promise<void> {
  const before = (await page.evaluate(() => document.documentElement.dataset.state)) ?? "";
  await page.locator(".cm-line", { hasText: from }).first().click();
  await page.keyboard.press("Home");
  const line = (await page.locator(".cm-activeLine").first().textContent())!;
  for (let at = line.trimStart().indexOf(from); at > 0; at--) await page.keyboard.press("ArrowRight");
  for (const _ of from) await page.keyboard.press("Delete");
  await page.keyboard.type(to);
  void before;
}

/** The colours of the picture in the frame. */
async function colours(page: Page): Promise<number> {
  const frame = page.frameLocator("#picture iframe:not(.coming)");
  return frame.locator("#picture").evaluate((element) => {
    const canvas = element as HTMLCanvasElement;
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

const shot = async (page: Page, name: string) => {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
};

test("a broken line has a diagnostic; mended, numbers, verdict and picture appear", options, async () => {
  const page = await fresh();
  await state(page, "ready");
  const numbers = () => page.textContent("#numbers");
  const first = await numbers();
  assert.match(first!, /patienteevdf.*time, s/s);
  await replace(page, "4ms", "400ms");
  await state(page, "broken");
  assert.match((await page.textContent("#problems"))!, /4:39 /);
  await page.waitForSelector(".cm-lintRange-error");
  assert.match((await page.textContent("#stale"))!, /An error in the policy/);
  await shot(page, "broken-light");
  await replace(page, "400ms", "8ms");
  await state(page, "ready");
  await page.waitForSelector("#picture iframe:not(.coming)");
  assert.equal(await page.locator("#problems").isVisible(), false);
  assert.notEqual(await numbers(), first);
  await page.waitForTimeout(500);
  assert.ok((await colours(page)) > 20, `${await colours(page)} colours`);
  const verdict = (await page.textContent("#verdict"))!;
  assert.match(verdict, /no violation|violated in/);
  assert.match(verdict, /This is not a proof/);
  assert.equal(await page.locator("#proof").textContent(), "", "nothing is proved unless it is asked");
  await shot(page, "ready-light");
  assert.deepEqual(page.errors, []);
  await page.context().close();
});
