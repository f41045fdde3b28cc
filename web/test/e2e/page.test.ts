// The page in Chromium, with generated traces and a mock server.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { HOSTILE } from "../mock/schedule";
import { serve, type Mock } from "../mock/server";
import { colours, launch, open, pixel, ready, view } from "./browser";

let browser: Browser;
let mock: Mock;
const ASKED = { cores: 8, duration: 4e8, seed: 7 };

before(async () => {
  [browser, mock] = await Promise.all([
    launch(),
    serve([
      { ...ASKED, name: "cfs.trace", spread: true, lossy: true },
      { ...ASKED, name: "nest.trace", spread: false },
    ]),
  ]);
});
after(async () => {
  await browser.close();
  await mock.close();
});

async function fresh(
  hash = "",
  options: Parameters<typeof open>[2] = {},
): Promise<Page & { errors: string[] }> {
  const { page, errors } = await open(browser, `${mock.url}${hash}`, options);
  return Object.assign(page, { errors });
}

const span = (page: Page) =>
  page.evaluate(
    () => (/t=(\d+)-(\d+)/.exec(location.hash)?.slice(1).map(Number) ?? null) as [number, number] | null,
  );
const settle = (page: Page) => page.waitForTimeout(200).then(() => ready(page));
/** A point in the first row of the first panel. */
async function row(page: Page): Promise<[number, number]> {
  const box = (await page.locator("#picture").boundingBox())!;
  return [700, box.y + 26 + 30 + 8];
}
const IN = "#t=100000000-106000000";

test("two traces are drawn above each other, with lost events", async () => {
  const page = await fresh();
  assert.ok((await colours(page, 120, 60, 1000, 200)) > 20, "the upper trace");
  assert.ok((await colours(page, 120, 420, 1000, 200)) > 20, "the lower trace");
  assert.match(await page.textContent("#legend .lost").then(String), /^⚠ 63 events lost, incomplete/);
  assert.equal(await page.textContent("#legend .inferred"), "5 events inferred");
  assert.match(await page.title(), /cfs\.trace and nest\.trace/);
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

/** Waits until the page has sent no request for 400 ms: prefetching has ended too. */
async function untilQuiet(page: Page): Promise<void> {
  for (let asked = -1; asked !== mock.asked.length;) {
    asked = mock.asked.length;
    await page.waitForTimeout(400);
  }
}

test("only visible and adjacent tiles are fetched; zooming fetches finer tiles", async () => {
  const page = await fresh();
  mock.asked.length = 0;
  await page.mouse.move(700, 300);
  for (let i = 0; i < 8; i++) await page.keyboard.press("w");
  await settle(page);
  const [from, to] = (await span(page))!;
  assert.ok(to - from < 4e8 / 4, `${from}-${to}`);
  await view(page, `#t=100000000-101000000`);
  await untilQuiet(page);
  mock.asked.length = 0;
  await view(page, `#t=200000000-201000000`);
  await untilQuiet(page);
  const tiles = mock.asked
    .filter((path) => path.includes("/tiles/"))
    .map((path) => path.split(/[/?]/).slice(4, 6).map(Number) as [number, number]);
  assert.ok(tiles.length > 0 && tiles.length <= 30, `${tiles.length} tiles`);
  for (const [level, index] of tiles) {
    const width = 2 ** (18 + 2 * level);
    assert.ok(
      (index - 1) * width < 201e6 && (index + 2) * width > 200e6,
      `tile ${level}/${index} is out of sight`,
    );
  }
  await page.context().close();
});

test("idle time is used for prefetching", async () => {
  mock.asked.length = 0;
  const page = await fresh("#t=100000000-140000000");
  const inSight = () => mock.asked.filter((path) => /\/tiles\/2\/(26|27|28|29|30)\?/.test(path));
  await untilQuiet(page);
  const ahead = inSight().length;
  assert.ok(ahead > 0, "tiles of level 2 are prefetched while level 3 is shown");
  await view(page, "#t=110000000-130000000");
  assert.equal(inSight().length, ahead, "none of them is asked for again");
  await page.context().close();
});

test("keys, wheel and drags move the window", async () => {
  const page = await fresh("#t=100000000-140000000");
  const moved = async (act: () => Promise<unknown>): Promise<[number, number]> => {
    await act();
    await settle(page);
    return (await span(page))!;
  };
  await page.mouse.move(640, 300);
  const before = (await span(page))!;
  const right = await moved(() => page.keyboard.press("d"));
  assert.ok(right[0] > before[0] && Math.abs(right[1] - right[0] - 4e7) < 10);
  const left = await moved(() => page.keyboard.press("ArrowLeft"));
  assert.ok(left[0] < right[0]);
  const zoomed = await moved(async () => {
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -240);
    await page.keyboard.up("Control");
  });
  assert.ok(Math.abs((zoomed[1] - zoomed[0]) / 2e7 - 1) < 0.02, "240 pixels of the wheel halve the window");
  const panned = await moved(async () => {
    await page.keyboard.down("Shift");
    await page.mouse.down();
    await page.mouse.move(440, 300, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
  });
  assert.ok(panned[0] > zoomed[0]);
  await page.keyboard.press("0");
  await settle(page);
  assert.equal(await span(page), null);
  await page.context().close();
});

test("a coarser picture is shown while finer tiles load", async () => {
  const page = await fresh();
  page.setDefaultTimeout(5000);
  mock.delay = 1500;
  try {
    await page.evaluate(() => (location.hash = "#t=100000000-140000000"));
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.state), "loading");
    assert.ok((await colours(page, 120, 60, 1000, 200)) > 20, "something is drawn");
    // Moving aborts the requests of the old window.
    const [failed] = await Promise.all([
      page.waitForEvent("requestfailed"),
      page.evaluate(() => (location.hash = "#t=300000000-301000000")),
    ]);
    assert.match(failed.failure()?.errorText ?? "", /ABORTED/);
  } finally {
    mock.delay = 0;
  }
  await ready(page);
  await page.context().close();
});

test("hover shows what runs there", async () => {
  const page = await fresh(IN);
  await page.mouse.move(...(await row(page)));
  await page.waitForSelector("#tip:not([hidden]) dd");
  await page.waitForFunction(() => document.getElementById("tip")!.textContent!.includes("frequency seen"));
  const text = (await page.textContent("#tip"))!;
  for (const part of ["core 0, socket 0", "GHz", "wake-up latency", "woken by", "placed"])
    assert.ok(text.includes(part), `${part} in ${text}`);
  await page.context().close();
});

test("a click selects a thread; , and . follow it", async () => {
  const page = await fresh(IN);
  await page.mouse.click(...(await row(page)));
  await page.waitForSelector("#details:not([hidden]) h3");
  const selected = () =>
    page.evaluate(() => /select=([\d.]+)/.exec(location.hash)?.[1]?.split(".").map(Number));
  await settle(page);
  const first = (await selected())!;
  await page.keyboard.press(".");
  await settle(page);
  const next = (await selected())!;
  assert.equal(next[1], first[1], "the same thread");
  assert.ok(next[2]! > first[2]!, "later");
  await page.keyboard.press(",");
  await settle(page);
  assert.deepEqual(await selected(), first);
  await page.keyboard.press("f");
  await settle(page);
  const [from, to] = (await span(page))!;
  assert.ok(from <= first[2]! && to - from < 6e6 * 4);
  await page.keyboard.press("m");
  await page.waitForFunction(() => document.getElementById("details")!.textContent!.includes("wake-ups"));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await settle(page);
  assert.equal(await page.isVisible("#details"), false);
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test("a drag marks an area and shows its sums", async () => {
  const page = await fresh(IN);
  await page.mouse.move(400, 200);
  await page.mouse.down();
  await page.mouse.move(800, 220, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => document.getElementById("details")!.textContent!.includes("overload"));
  const text = (await page.textContent("#details"))!;
  assert.match(text, /length2\.\d+ ms/);
  assert.match(text, /cfs\.trace.*nest\.trace/s);
  await page.context().close();
});

test("a drag across rows marks their cores and lists the threads that ran there", async () => {
  const page = await fresh(IN);
  const [, y] = await row(page);
  await page.mouse.move(400, y);
  await page.mouse.down();
  await page.mouse.move(800, y + 60, { steps: 4 });
  await page.mouse.up();
  await page.waitForSelector("#details .threads td");
  await settle(page);
  const [trace, ...cores] = await page.evaluate(() =>
    /cores=([\d.]+)/.exec(location.hash)![1]!.split(".").map(Number),
  );
  assert.equal(trace, 0);
  assert.ok(cores.length > 1 && cores.length < 8, String(cores));
  const asked = mock.asked.filter((path) => path.includes("/usage?")).pop()!;
  assert.ok(asked.endsWith(`&cores=${cores.join()}`), asked);
  const text = (await page.textContent("#details"))!;
  assert.match(text, /cores0-\d/);
  assert.doesNotMatch(text, /nest\.trace|underload/);
  await page.click("#details .threads .link");
  await page.waitForFunction(() => document.getElementById("details")!.textContent!.includes("Whole run"));
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test("a selected slice tells why it is there; its thread has totals and a track", async () => {
  const page = await fresh(IN);
  const panel = (await page.locator("#picture").boundingBox())!;
  await page.mouse.click(...(await row(page)));
  await page.waitForFunction(() => document.getElementById("details")!.textContent!.includes("Whole run"));
  await settle(page);
  const text = (await page.textContent("#details"))!;
  assert.match(
    text,
    /Why here.*placed(attached|primary|reserve|cfs).*idle cores3 of 8.*Whole run.*longest wake-up latency/s,
  );
  assert.match((await page.textContent("#legend"))!, /selected: running/);
  assert.ok(mock.asked.some((path) => /threads\/\d+\/states\//.test(path)));
  assert.ok(panel.width > 0);
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test("keys go to the next and previous long wake-up and overload", async () => {
  const page = await fresh();
  const selected = () =>
    page.evaluate(() => /select=([\d.]+)/.exec(location.hash)?.[1]?.split(".").map(Number)[2]);
  const press = async (key: string) => {
    await page.keyboard.press(key);
    await page.waitForTimeout(400);
    await settle(page);
  };
  await page.click("summary[title='Long wake-ups and overloads']");
  await page.selectOption("#least", "10000");
  await page.click("#next-wakeup");
  await settle(page);
  await page.waitForTimeout(300);
  const first = (await selected())!;
  await press("l");
  const second = (await selected())!;
  assert.ok(second > first, `${second} after ${first}`);
  await press("Shift+L");
  assert.equal(await selected(), first);
  assert.ok((await span(page))![1] < 4e8, "it zooms");
  await press("o");
  assert.match(await page.evaluate(() => location.hash), /area=\d+-\d+&cores=0\.\d+/);
  await page.selectOption("#least", "100000000");
  await press("o");
  assert.match((await page.textContent("#message"))!, /^no later overload of at least 100 ms\n/);
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test("a query is answered below the picture; a row leads to its place; a link holds the query", async () => {
  const page = await fresh();
  assert.ok(!(await page.isVisible("#sql")));
  await page.keyboard.press("q");
  await page.keyboard.type("SELECT * FROM slices");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#sql[data-state=ready]");
  assert.match(
    (await page.textContent("#sql p"))!,
    /^(the first 1,000|\d+) rows in .* s; a row leads to its place/,
  );
  const cells = await page.locator("#sql tbody tr").first().locator("td").allTextContents();
  const [, name, start, duration, core, thread] = cells as [string, string, string, string, string, string];
  await page.locator("#sql tbody tr button").first().click();
  await page.waitForFunction((tid) => location.hash.includes(`select=0.${tid}.`), thread);
  await settle(page);
  const selected = await page.evaluate(() => /select=([\d.]+)/.exec(location.hash)![1]);
  assert.equal(selected, `0.${thread}.${start}.${core}`);
  assert.equal(await page.textContent("#details h2"), name);
  const [from, to] = (await span(page))!;
  assert.ok(from < Number(start) && Number(start) + Number(duration) < to, "the window shows it");
  assert.equal(await page.locator("#sql img").count(), 0);

  const other = await fresh(await page.evaluate(() => location.hash));
  await other.waitForSelector("#sql[data-state=ready]");
  assert.equal(await other.inputValue("#sql textarea"), "SELECT * FROM slices");
  await other.context().close();

  await page.selectOption("#sql-trace", "1");
  await page.fill("#sql textarea", "SELECT * FROM none");
  await page.click("#sql-run");
  await page.waitForSelector("#sql[data-state=failed]");
  assert.match((await page.textContent("#sql p"))!, /^Catalog Error: Table with name none/);
  assert.equal(await page.locator("#sql tbody tr").count(), 0, "no rows of another query");
  assert.ok(mock.asked.some((path) => path.startsWith("api/traces/1/sql?query=SELECT%20*%20FROM%20none")));
  await page.click("#sql .close");
  assert.ok(!(await page.isVisible("#sql")));
  await settle(page);
  assert.doesNotMatch(await page.evaluate(() => location.hash), /sql=/);
  await page.context().close();
});

test("search finds a thread by name; names are not interpreted as HTML", async () => {
  const page = await fresh();
  await page.keyboard.press("/");
  await page.keyboard.type("<img");
  await page.waitForSelector("#found li[role=option]");
  assert.equal(await page.textContent("#found li .who"), HOSTILE);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#details:not([hidden]) h3");
  await settle(page);
  assert.equal(await page.textContent("#details h2"), HOSTILE);
  await view(page, (await page.evaluate(() => location.hash)).replace(/#/, "#colour=process&"));
  assert.equal(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked), undefined);
  assert.equal(await page.locator("#details img, #found img, #tip img, #legend img").count(), 0);
  await page.context().close();
});

test("a link restores the view", async () => {
  const page = await fresh(IN);
  await page.selectOption("#colour", "reason");
  await page.selectOption("#height", "large");
  await page.mouse.click(...(await row(page)));
  await page.waitForSelector("#details:not([hidden]) h3");
  await page.click("#theme");
  await settle(page);
  const [link, picture] = [
    await page.evaluate(() => location.href),
    await page.locator("#picture").screenshot(),
  ];
  const other = await fresh(link.slice(mock.url.length));
  await other.waitForSelector("#details:not([hidden]) h3");
  await settle(other);
  assert.equal(await other.inputValue("#colour"), "reason");
  assert.equal(await other.getAttribute("html", "data-theme"), "dark");
  assert.equal(await other.textContent("#details h2"), await page.textContent("#details h2"));
  assert.ok(picture.equals(await other.locator("#picture").screenshot()), "the same picture");
  await page.context().close();
  await other.context().close();
});

test("all colourings and kinds of rows are drawn", async () => {
  const page = await fresh("#t=100000000-160000000");
  const seen = new Set<string>();
  for (const colour of ["frequency", "queue", "thread", "process", "reason"]) {
    await page.selectOption("#colour", colour);
    await settle(page);
    assert.ok((await colours(page, 120, 60, 1000, 180)) > 3, colour);
    seen.add((await page.textContent("#legend"))!);
  }
  assert.equal(seen.size, 5, "each has its legend");
  for (const rows of ["thread", "process"]) {
    await page.selectOption("#rows", rows);
    await settle(page);
    assert.ok((await colours(page, 120, 60, 1000, 180)) > 3, rows);
  }
  await page.selectOption("#named", "compilers");
  await settle(page);
  assert.match(page.url(), /view=compilers/);
  assert.equal(await page.inputValue("#colour"), "process");
  assert.deepEqual(page.errors, []);
  await page.context().close();
});

test("the power of a machine is a strip, and a fact of an area", async () => {
  const page = await fresh();
  await page.click("summary[title='Parts of the picture']");
  assert.ok(!(await page.isChecked("[data-check=power]")), "it was not measured");
  await page.check("[data-check=power]");
  await settle(page);
  assert.match(await page.evaluate(() => location.hash), /strips=[^&]*power/);
  await page.context().close();
  const marked = await fresh("#area=100000000-300000000");
  await marked.waitForSelector("text=power, mean");
  // 20 W, and 5 W for each busy core.
  const facts = (await marked.textContent("#details"))!;
  const [watts] = facts.match(/(?<=power, mean)[\d.]+(?= W)/)!;
  const [busy] = facts.match(/(?<=cores busy, mean)[\d.]+/)!;
  assert.ok(Math.abs(Number(watts) - 20 - 5 * Number(busy)) < 1, `${watts} W, ${busy} cores`);
  await marked.context().close();
});

test("without frequencies, programs have colours and other threads are dimmed", async (t) => {
  const blind = await serve([{ ...ASKED, name: "vm.trace", spread: true, blind: true }]);
  t.after(() => blind.close());
  const { page, errors } = await open(browser, blind.url);
  await settle(page);
  assert.equal(await page.inputValue("#colour"), "process");
  assert.equal(await page.locator("#show-sql").count(), 0, "no files, no SQL");
  assert.ok(await page.isChecked("#filter-traced"));
  assert.match((await page.textContent("#legend"))!, /make.*not of the command/);
  assert.ok((await colours(page, 120, 60, 1000, 400)) > 3);
  // Switched off, it stays so in the link.
  await page.click("summary[title='Filter of threads']");
  await page.uncheck("#filter-traced");
  await settle(page);
  assert.match(await page.evaluate(() => location.hash), /traced=any/);
  await page.reload();
  await ready(page);
  assert.ok(!(await page.isChecked("#filter-traced")));
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("dark and light themes, from the system and the toolbar", async () => {
  const page = await fresh("", { dark: true });
  const [dark] = await pixel(page, 40, 5);
  assert.ok(dark < 60, `${dark}`);
  await page.click("#theme");
  await settle(page);
  const [light] = await pixel(page, 40, 5);
  assert.ok(light > 240, `${light}`);
  await page.context().close();
});

test("the picture is saved as PNG and SVG, with names as text", async () => {
  const page = await fresh(IN);
  const save = async (button: string): Promise<[string, Buffer]> => {
    await page.click("summary[title='Save the picture']");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
    await page.keyboard.press("Escape");
    return [download.suggestedFilename(), await readFile(await download.path())];
  };
  const [pngName, png] = await save("#save-png");
  assert.equal(pngName, "cfs-and-nest.png");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  assert.ok(png.readUInt32BE(16) >= 2 * 1200, "twice the pixels");
  const [svgName, svg] = await save("#save-svg");
  assert.equal(svgName, "cfs-and-nest.svg");
  const counted = await page.evaluate((text) => {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      error: parsed.querySelector("parsererror")?.textContent ?? null,
      rects: parsed.querySelectorAll("rect").length,
      texts: [...parsed.querySelectorAll("text")].map((t) => t.textContent),
    };
  }, svg.toString());
  assert.equal(counted.error, null);
  assert.ok(counted.rects > 50 && counted.texts.includes("cfs.trace") && counted.texts.includes("underload"));
  await page.context().close();
});

test("keys are listed; all controls have keyboard focus and names", async () => {
  const page = await fresh();
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("#help"));
  await page.keyboard.press("Escape");
  assert.equal(await page.isVisible("#help"), false);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, select, input, summary, canvas:not([aria-hidden])")]
      .filter((e) => {
        const labelled =
          e.getAttribute("aria-label") || (e as HTMLInputElement).labels?.length || e.textContent?.trim();
        return !labelled;
      })
      .map((e) => e.outerHTML),
  );
  assert.deepEqual(nameless, []);
  const focused: string[] = [];
  for (let i = 0; i < 14; i++) {
    await page.keyboard.press("Tab");
    focused.push(
      await page.evaluate(() => document.activeElement!.id || document.activeElement!.textContent || ""),
    );
  }
  for (const id of ["colour", "query", "theme", "picture"])
    assert.ok(focused.includes(id), `${id} in ${focused}`);
  await page.context().close();
});

test("errors of the server are shown with help", async () => {
  const page = await fresh();
  await page.route("**/tiles/**", (route) =>
    route.fulfill({
      status: 500,
      contentType: "application/json",
      body: JSON.stringify({ error: "the index is <b>damaged</b>", help: "remove T/tiles" }),
    }),
  );
  await page.evaluate(() => (location.hash = "#t=100000000-101000000"));
  await page.waitForSelector("#message:not([hidden])");
  assert.equal(await page.textContent("#message"), "the index is <b>damaged</b>\nremove T/tiles");
  await page.context().close();
});
