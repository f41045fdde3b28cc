// The report as a file in Chromium. HEARTH_SAMPLE is the path of the built crates/report/examples/sample.rs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import type { Locator } from "playwright-core";
import { browse, colours, drawn, program, temporary } from "./browser";

const openPage = browse();
const file = join(temporary(), "report.html");

before(() => writeFileSync(file, execFileSync(program("HEARTH_SAMPLE"), { maxBuffer: 64 << 20 })));

const open = (dark = false) => openPage(`file://${file}`, { dark, height: 900 });
const picture = (canvas: Locator) => canvas.evaluate((element: HTMLCanvasElement) => element.toDataURL());

test("traces are drawn in the colours of the legend, without network", async () => {
  const page = await open();
  const canvas = page.locator("canvas").first();
  const legend = await page
    .locator(".setting[open] .legend li:not(.end)")
    .evaluateAll((all) => all.map((li) => (li as HTMLElement).style.getPropertyValue("--c").trim()));
  const decimal = (hex: string) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join();
  const known = legend.map(decimal);
  const found = (await colours(canvas, 100, 30, 900, 240)).filter((colour) => known.includes(colour));
  assert.ok(found.length >= 4, `${found.length} colours of ${known.length}`);
  assert.deepEqual(page.asked, [`file://${file}`]);
});

test("drag, wheel, keys, button and double click change the window of all traces of a group", async () => {
  const page = await open();
  const [first, second] = [page.locator("canvas").nth(0), page.locator("canvas").nth(1)];
  const button = page.locator(".setting[open] .tools button");
  await first.scrollIntoViewIfNeeded();
  const whole = [await picture(first), await picture(second)];
  const box = (await first.boundingBox())!;
  const changes = async (act: () => Promise<unknown>) => {
    const before = await picture(second);
    await act();
    await drawn(page);
    assert.notEqual(await picture(second), before);
  };
  await changes(async () => {
    await page.mouse.move(box.x + 400, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 600, box.y + 60, { steps: 4 });
    assert.ok(await page.locator(".brush").first().isVisible());
    await page.mouse.up();
  });
  assert.ok(await button.isEnabled());
  await changes(async () => {
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -240);
    await page.keyboard.up("Control");
  });
  await first.focus();
  for (const key of ["+", "ArrowRight", "ArrowLeft", "-", "w", "d"])
    await changes(() => page.keyboard.press(key));
  await page.keyboard.press("0");
  await drawn(page);
  assert.deepEqual([await picture(first), await picture(second)], whole);
  await page.keyboard.press("+");
  await button.click();
  await drawn(page);
  assert.ok(await button.isDisabled());
  await page.keyboard.press("+");
  await first.dblclick({ position: { x: 500, y: 60 } });
  await drawn(page);
  assert.equal(await picture(first), whole[0]);
});

test("the tip shows core, frequency and load; unused cores can be shown", async () => {
  const page = await open();
  const canvas = page.locator("canvas").first();
  await canvas.scrollIntoViewIfNeeded();
  const tip = page.locator(".tip");
  let text = "";
  for (let x = 110; x < 900 && !text.includes("GHz"); x += 40) {
    await canvas.hover({ position: { x, y: 36 } });
    text = (await tip.textContent()) ?? "";
  }
  assert.match(text, /core \d+, socket \d+at\d.* sfrequency\d\.\d\d GHzload\d+%/);
  const bounds = (await tip.boundingBox())!;
  assert.ok(
    bounds.x >= 0 && bounds.x + bounds.width <= 1280 && bounds.y >= 0 && bounds.y + bounds.height <= 900,
  );
  const height = () => canvas.evaluate((element) => element.clientHeight);
  const used = await height();
  await page.locator(".setting[open] input").check();
  await drawn(page);
  assert.notEqual(await height(), used);
  await page.mouse.move(2, 2);
  assert.ok(await tip.isHidden());
});

test("a column sorts descending, ascending, and back, within groups", async () => {
  const page = await open();
  const names = () => page.locator(".numbers tbody:first-of-type tr:not(.group) th").allTextContents();
  const original = await names();
  const title = page.locator(".numbers thead th").nth(6);
  const values = () =>
    page
      .locator(".numbers tbody:first-of-type tr:not(.group)")
      .evaluateAll((rows) => rows.map((row) => Number((row as HTMLTableRowElement).cells[6]!.dataset.v)));
  await title.locator("button").click();
  assert.equal(await title.getAttribute("aria-sort"), "descending");
  const down = await values();
  assert.deepEqual(
    down,
    down.toSorted((a, b) => b - a),
  );
  await title.locator("button").click();
  assert.deepEqual(await values(), down.toReversed());
  await title.locator("button").click();
  assert.deepEqual(await names(), original);
});

test("no column of the table is cut off at 1280 pixels", async () => {
  const page = await open();
  const room = await page.locator(".wide").evaluate((wide) => {
    // As wide as in a prediction of all policies for a recorded command.
    const texts =
      "cfs-cwc-flat|5|0.1308 <small>± 0.0003</small>|<b>−25.7%</b><small>−26.7 to −24.6</small>|9.03|<b>−40.8%</b><small>−42.8 to −38.9</small>|22,135|19.8|7.82|3.34|16.4|1.8|60.2|2.90";
    const { cells } = wide.querySelector<HTMLTableRowElement>("tbody tr:not(.group)")!;
    texts.split("|").forEach((text, i) => (cells[i]!.innerHTML = text));
    return [wide.scrollWidth, wide.clientWidth];
  });
  assert.ok(room[0]! <= room[1]!, String(room));
});

test("dark theme from the system, light in print", async () => {
  const page = await open(true);
  const canvas = page.locator("canvas").first();
  const corner = () => colours(canvas, 0, 0, 1, 1);
  assert.deepEqual(await corner(), ["21,23,27"]);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.deepEqual(await corner(), ["255,255,255"]);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.deepEqual(await corner(), ["21,23,27"]);
  // A closed group is drawn when it opens.
  await page.locator(".setting summary").nth(1).click();
  await drawn(page);
  assert.ok(
    (await colours(page.locator(".setting").nth(1).locator("canvas").first(), 100, 30, 900, 100)).length > 4,
  );
});
