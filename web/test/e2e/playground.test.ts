// The playground with the real server. HEARTH is the path of the built command.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Frame, Page } from "playwright-core";
import { serve, type Served } from "../../bench/serve";
import { browse, colours, program, temporary, type Opened } from "./browser";

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

const open = browse();
const folder = temporary();
const file = join(folder, "patient.ipa");
const servers: Served[] = [];

after(() => servers.forEach((server) => server.stop()));

/** A page for a policy, with a small machine and workload. */
async function fresh(policy = file, dark = false): Promise<Opened> {
  writeFileSync(file, TEXT);
  const args = [policy, "-m", "ryzen-3400g", "-w", "fork-wait"];
  const server = await serve(program("HEARTH"), args, { cwd: folder });
  servers.push(server);
  return open(`${server.address}#seed=3`, { dark, height: 720 });
}

const state = (page: Page, wanted: string) =>
  page.waitForFunction((wanted) => document.documentElement.dataset.state === wanted, wanted, {
    timeout: 60_000,
  });

/** Waits until a run is shown, and returns its name. */
async function simulated(page: Page): Promise<string> {
  await page.waitForFunction(() => document.documentElement.dataset.run);
  const run = (await page.evaluate(() => document.documentElement.dataset.run))!;
  await page.waitForSelector(`#picture iframe[src^="runs/${run}/"]:not(.coming)`);
  return run;
}

/** Replaces a word of the text as a user does. */
async function replace(page: Page, from: string, to: string): Promise<void> {
  await page.locator(".cm-line", { hasText: from }).first().click();
  await page.keyboard.press("Home");
  const line = (await page.locator(".cm-activeLine").first().textContent())!;
  for (let at = line.trimStart().indexOf(from); at > 0; at--) await page.keyboard.press("ArrowRight");
  for (const _ of from) await page.keyboard.press("Delete");
  await page.keyboard.type(to);
}

/** The middle of a word on the screen. */
function middleOf(page: Page, line: string, word: string): Promise<[number, number]> {
  return page
    .locator(".cm-line", { hasText: line })
    .first()
    .evaluate((element, word) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.textContent!.indexOf(word);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        const { x, y, width, height } = range.getBoundingClientRect();
        return [x + width / 2, y + height / 2];
      }
      throw new Error(`no ${word}`);
    }, word);
}

const shot = async (page: Page, name: string) => {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
};

test("a broken line has a diagnostic; mended, numbers, verdict and picture appear", async () => {
  const page = await fresh();
  await simulated(page);
  const numbers = () => page.textContent("#numbers");
  const first = await numbers();
  assert.match(first!, /patienteevdf.*time, s/s);
  await replace(page, "4ms", "400ms");
  await state(page, "broken");
  assert.match((await page.textContent("#problems"))!, /4:41 /);
  await page.waitForSelector(".cm-lintRange-error");
  assert.match((await page.textContent("#stale"))!, /An error in the policy/);
  await shot(page, "broken-light");
  await replace(page, "400ms", "0ms");
  await state(page, "ready");
  await simulated(page);
  assert.equal(await page.locator("#problems, #stale").filter({ visible: true }).count(), 0);
  assert.notEqual(await numbers(), first);
  const picture = page.frameLocator("#picture iframe:not(.coming)").locator("#picture");
  assert.ok((await colours(picture, 0, 0, 1000, 400)).length > 20);
  const verdict = (await page.textContent("#verdict"))!;
  assert.match(verdict, /no violation|violated in/);
  assert.match(verdict, /This is not a proof/);
  assert.equal(await page.textContent("#proof"), "", "nothing is proved unless it is asked");
  await shot(page, "ready-light");
});

/** Elements whose text is cut off: by their own box, or by the window. The editor scrolls. */
function cutOff(page: Page | Frame): Promise<string[]> {
  return page.evaluate(() => {
    const { clientWidth: right, clientHeight: bottom } = document.documentElement;
    const seen = [...document.body.querySelectorAll<HTMLElement>("*")].filter(
      (element) =>
        element.checkVisibility() && !element.closest(".cm-editor, .hidden, datalist, option, canvas"),
    );
    const cut = seen.filter((element) => {
      const box = element.getBoundingClientRect();
      const outside = box.right > right + 1 || box.bottom > bottom + 1 || box.left < -1 || box.top < -1;
      const { overflowX, overflowY } = getComputedStyle(element);
      const wider = overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
      const higher = overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1;
      return outside || (element.clientWidth > 0 && (wider || higher));
    });
    return cut.map(
      (element) =>
        `${element.tagName} ${element.id || element.className}: ${element.textContent!.slice(0, 60)}`,
    );
  });
}

test("nothing is cut off at 1280 × 720", async () => {
  for (const [policy, dark] of [
    ["nest", false],
    [file, true],
  ] as const) {
    const page = await fresh(policy, dark);
    await simulated(page);
    await state(page, "ready");
    assert.deepEqual(await cutOff(page), []);
    const viewer = page.frames().find((frame) => frame.url().includes("/runs/"))!;
    await viewer.waitForFunction(() => document.documentElement.dataset.state === "ready");
    assert.deepEqual(await cutOff(viewer), []);
  }
});

test("numbers, energy and verdict follow the governor; a machine may have none", async () => {
  const page = await fresh();
  await simulated(page);
  await state(page, "ready");
  const cell = (name: string) =>
    page.locator("#numbers tr", { hasText: name }).locator("td").first().textContent();
  const shown = async () => ({
    setting: await page.textContent("#numbers .setting"),
    comparison: await page.textContent("#numbers .comparison"),
    numbers: [await cell("time, s"), await cell("energy, J"), await cell("busy GHz")],
    latency: await page.textContent("#numbers tr:has-text('wake-up, µs')"),
  });
  const verdicts = () => page.asked.filter((url) => url.endsWith("/api/verdict")).length;
  const first = await shown();
  assert.match(first.setting!, /^fork-wait on ryzen-3400g, schedutil, seed 3$/);
  const asked = verdicts();
  // The numbers of the old governor are pale until the new ones are there.
  await page.route("**/api/simulate", async (route) => {
    await new Promise((done) => setTimeout(done, 600));
    await route.continue();
  });
  await page.selectOption("#governor", "performance");
  for (const part of ["numbers", "explored", "picture"])
    assert.equal(await page.getAttribute(`#${part}`, "aria-busy"), "true", part);
  await simulated(page);
  await state(page, "ready");
  for (const part of ["numbers", "explored", "picture"])
    assert.equal(await page.getAttribute(`#${part}`, "aria-busy"), null, part);
  const second = await shown();
  assert.match(second.setting!, /performance, seed 3$/);
  assert.notDeepEqual(second.numbers, first.numbers);
  assert.notEqual(second.latency, first.latency);
  assert.notEqual(second.comparison, first.comparison);
  assert.equal(verdicts(), asked + 1, "the verdict is asked for again");
  await page.click("#explain");
  assert.match(
    (await page.textContent("#about"))!,
    /no frequencies, so the answer is the same under every governor/,
  );
  await page.keyboard.press("Escape");
  await page.selectOption("#machine", "cloud-guest");
  await state(page, "loading");
  await state(page, "ready");
  assert.ok(await page.isDisabled("#governor"));
  assert.match((await page.textContent("#numbers .setting"))!, /on cloud-guest, no governor/);
  assert.equal(await cell("energy, J"), "–");
});

test("the editor completes, explains and formats", async () => {
  const page = await fresh();
  await simulated(page);
  const content = async () => (await page.locator(".cm-line").allTextContents()).join("\n");
  // A word of the text, after its first letters.
  await replace(page, "super;", "lin");
  await page.waitForSelector(".cm-tooltip-autocomplete li");
  const first = page.locator(".cm-tooltip-autocomplete li").first();
  assert.match((await first.textContent())!, /^linger.*param linger : time in 0ms\.\.100ms/);
  await shot(page, "complete-light");
  // The editor takes no key for a suggestion that has just appeared.
  await page.waitForTimeout(200);
  await page.keyboard.press("Enter");
  assert.match(await content(), /^ {8}linger$/m);
  // Members after a dot.
  for (const _ of "linger") await page.keyboard.press("Backspace");
  await page.keyboard.type("t.");
  await page.waitForSelector(".cm-tooltip-autocomplete li");
  const members = await page.locator(".cm-tooltip-autocomplete .cm-completionLabel").allTextContents();
  assert.ok(members.includes("vruntime") && !members.includes("if"), String(members));
  await page.keyboard.press("Escape");
  await page.waitForSelector(".cm-tooltip-autocomplete", { state: "detached" });
  for (const _ of "t.") await page.keyboard.press("Backspace");
  await page.keyboard.type("super;");
  await page.keyboard.press("Escape");
  await simulated(page);
  // A parameter, with its bounds and its documentation.
  await page.mouse.move(...(await middleOf(page, "if (linger", "linger")));
  await page.waitForSelector(".cm-tooltip-hover .word");
  assert.match(
    (await page.textContent(".cm-tooltip-hover .word"))!,
    /param linger : time in 0ms\.\.100ms = 4ms;[^]*spins for at most this time/,
  );
  await shot(page, "meaning-light");
  await page.mouse.move(2, 2);
  // Formatting mends spaces; a broken text stays as it is.
  await replace(page, "super;", "super  ;");
  await page.click("#format");
  await page.waitForFunction(() => document.querySelector(".cm-content")!.textContent!.includes(" super;"));
  assert.equal(await content(), TEXT);
  await replace(page, "super;", "super (");
  await page.keyboard.press("Shift+Alt+F");
  await page.waitForSelector("#status.bad");
  assert.match((await page.textContent("#status"))!, /syntax error/);
  assert.match(await content(), /super \($/m);
  assert.match(page.errors.splice(0).join(), /^[^,]*422[^,]*$/, "only the refusal");
});

test("Ctrl-S saves the file, but not over another editor's text", async () => {
  const page = await fresh();
  await simulated(page);
  assert.equal(await page.textContent("#file"), "patient.ipa");
  await replace(page, "4ms", "8ms");
  assert.equal(await page.textContent("#file"), "patient.ipa •");
  await page.keyboard.press("Control+s");
  await page.waitForFunction(() => document.getElementById("status")!.textContent!.startsWith("saved "));
  assert.equal(readFileSync(file, "utf8"), TEXT.replace("4ms", "8ms"));
  assert.equal(await page.textContent("#file"), "patient.ipa");
  // What it has saved itself is no other editor's.
  await replace(page, "8ms", "5ms");
  await page.keyboard.press("Control+s");
  await page.waitForFunction(() => document.getElementById("file")!.textContent === "patient.ipa");
  assert.equal(readFileSync(file, "utf8"), TEXT.replace("4ms", "5ms"));
  writeFileSync(file, "another editor's");
  await replace(page, "5ms", "9ms");
  await page.keyboard.press("Control+s");
  await page.waitForSelector("#status.bad");
  assert.match(
    (await page.textContent("#status"))!,
    /changed on disk since it was opened here; nothing is written/,
  );
  assert.equal(readFileSync(file, "utf8"), "another editor's");
  assert.match(page.errors.splice(0).join(), /^[^,]*409[^,]*$/, "only the refusal");
});

test("a link holds the setting; sliders change the run; a proof belongs to one text", async () => {
  const page = await fresh();
  const first = await simulated(page);
  await page.click("#params summary");
  await page.locator("[data-param=linger]").focus();
  await page.keyboard.press("Home");
  await page.waitForFunction(() => !document.documentElement.dataset.run);
  const second = await simulated(page);
  assert.notEqual(second, first);
  assert.match(page.url(), /machine=ryzen-3400g.*workload=fork-wait.*seed=3.*param\.linger=0/);
  const again = await open(page.url());
  assert.equal(await simulated(again), second);
  await page.fill("#seed", "4");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => location.hash.includes("seed=4"));
  assert.notEqual(await simulated(page), second);
  // A proof under way belongs to one text: the next letter stops it.
  const proving = () => page.textContent("#proving");
  if (await page.isEnabled("#prove")) {
    await page.click("#prove");
    assert.match((await proving())!, /^proving/);
    assert.equal(await page.textContent("#prove"), "Stop");
    await replace(page, "4ms", "7ms");
    assert.equal(`${await proving()}${await page.textContent("#proof")}`, "");
  } else {
    assert.match((await proving())!, /^Not available: /);
  }
});

test("a built-in policy is a copy that needs a name; dark theme", async () => {
  const page = await fresh("nest", true);
  await simulated(page);
  assert.equal(await page.textContent("#file"), "nest (copy)");
  await page.click(".cm-content");
  await page.keyboard.press("Control+s");
  await page.fill("#new-name", "nest");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#status.bad");
  assert.match((await page.textContent("#status"))!, /`nest` cannot be the name/);
  assert.match(page.errors.splice(0).join(), /^[^,]*422[^,]*$/, "only the refusal");
  await page.keyboard.press("Control+s");
  await page.fill("#new-name", "mine");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("file")!.textContent === "mine.ipa");
  assert.match(readFileSync(join(folder, "mine.ipa"), "utf8"), /policy nest extends cfs/);
  await state(page, "ready");
  await shot(page, "ready-dark");
  await page.click("#explored .link");
  assert.match((await page.textContent("#schedule pre"))!, /=> /);
  await shot(page, "schedule-dark");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#schedule").isVisible(), false);
  const { origin } = new URL(page.url());
  assert.ok(
    page.asked.every((url) => url.startsWith(origin)),
    "no other server is asked",
  );
});
