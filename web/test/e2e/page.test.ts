// The viewer in Chromium: two simulations with `hearth view`, and a poor recording with crates/view/examples/serve.rs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { start, serve, type Served } from "../../bench/serve";
import type { Slice, TraceInfo, Why } from "../../src/data/api";
import { LIGHT } from "../../src/model/colour";
import { AXIS, GUTTER, RIGHT } from "../../src/model/layout";
import { browse, colours, program, ready, temporary, type Opened } from "./browser";

const HOSTILE = `<img src=x onerror="window.hacked=1">`;
const NAMES = ["cc1", "as", "ld", "sh", HOSTILE, '\u202egnp.exe\u0007 & <b>"bold"</b>', "x".repeat(300)];
/** A program with 12 threads that compute, sleep, and wake each other; on 8 cores some of them wait. */
const WORKLOAD = {
  hearth_workload: 1,
  semaphores: Array(12).fill(2),
  threads: [
    { name: "make", ops: [...each((i) => ({ fork: i + 1 })), ...each((i) => ({ join: i + 1 }))] },
    ...each((i) => ({
      name: NAMES[i] ?? "sed",
      ops: [
        {
          repeat: [
            120,
            [
              { run: 200_000 * (i + 1) },
              { post: i },
              { wait: (i + 1) % 12 },
              { run: 1_000_000 * (1 + (i % 5)) },
              { sleep: 300_000 * (1 + (i % 4)) },
            ],
          ],
        },
      ],
    })),
  ],
};

function each<T>(of: (i: number) => T): T[] {
  return Array.from({ length: 12 }, (_, i) => of(i));
}

const open = browse();
const folder = temporary();
let viewer: Served;
let poor: Served;
let recorded: Served;

/** A recording as text, with the kernel's numbers: `sh` has two threads and forks two processes of one name. */
const RECORDING = (() => {
  const lines: string[] = [];
  const line = (us: number, [comm, tid, pid]: readonly [string, number, number], event: string) =>
    lines.push(`${comm}-${tid} (${pid}) [000] d..2. 1.${String(us).padStart(6, "0")}: ${event}`);
  const [sh, helper] = [
    ["sh", 10, 10],
    ["helper", 11, 10],
  ] as const;
  const [one, two] = [
    ["cc1", 20, 20],
    ["cc1", 21, 21],
  ] as const;
  type Task = typeof sh | typeof helper | typeof one | typeof two;
  const go = (us: number, prev: Task, next: Task) =>
    line(
      us,
      prev,
      `sched_switch: prev_comm=${prev[0]} prev_pid=${prev[1]} prev_prio=120 prev_state=S ==> next_comm=${next[0]} next_pid=${next[1]} next_prio=120`,
    );
  const fork = (us: number, child: Task) => {
    line(us, sh, `task_newtask: pid=${child[1]} comm=sh clone_flags=1200011 oom_score_adj=0`);
    line(us, sh, `sched_process_fork: comm=sh pid=10 child_comm=${child[0]} child_pid=${child[1]}`);
    line(us + 1, sh, `sched_wakeup_new: comm=${child[0]} pid=${child[1]} prio=120 target_cpu=000`);
  };
  fork(100, one);
  fork(200, two);
  let now = 1000;
  for (const next of [one, two, helper, sh, one, two]) {
    const prev = ({ 1000: sh, 2000: one, 3000: two, 4000: helper, 5000: sh, 6000: one } as const)[now]!;
    go(now, prev, next);
    now += 1000;
  }
  go(now, two, sh);
  line(now + 500, sh, "sched_process_exit: comm=sh pid=10 prio=120");
  return lines.join("\n") + "\n";
})();

before(async () => {
  const hearth = program("HEARTH");
  writeFileSync(join(folder, "make.json"), JSON.stringify(WORKLOAD));
  for (const policy of ["cfs", "nest"])
    execFileSync(
      hearth,
      ["sim", "-p", policy, "-m", "ryzen-3400g", "-w", "./make.json", "-o", `${policy}.trace`],
      { cwd: folder, stdio: ["ignore", "ignore", "inherit"] },
    );
  const few = ["sim", "-p", "nest", "-m", "xeon-5218", "-w", "fork-wait:iterations=20", "-o", "few.trace"];
  execFileSync(hearth, few, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  writeFileSync(join(folder, "recording.txt"), RECORDING);
  execFileSync(hearth, ["import", "recording.txt", "-o", "recorded.trace"], { cwd: folder, stdio: "ignore" });
  const env = { ...process.env, EVENTS: "200000", POOR: "1" };
  [viewer, recorded, poor] = await Promise.all([
    serve(hearth, ["cfs.trace", "nest.trace"], { cwd: folder }),
    serve(hearth, ["recorded.trace"], { cwd: folder }),
    start(program("HEARTH_SERVE"), [], { env }),
  ]);
});
after(() => {
  viewer?.stop();
  poor?.stop();
  recorded?.stop();
});

async function fresh(hash = "", options: Parameters<typeof open>[1] & { server?: Served } = {}) {
  const page = await open(`${(options.server ?? viewer).address}${hash}`, options);
  await ready(page);
  return page;
}

/** Selects the first thread that a search finds. */
async function search(page: Opened, text: string) {
  await page.keyboard.press("/");
  await page.keyboard.type(text);
  await page.waitForSelector("#found li[role=option]");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#details:not([hidden]) h3");
  await settle(page);
}

const settle = (page: Opened) => page.waitForTimeout(200).then(() => ready(page));
/** Changes the view of the open page through its URL. */
const view = (page: Opened, hash: string) =>
  page.evaluate((h) => (location.hash = h), hash).then(() => ready(page));
const seen = async (page: Opened, x: number, y: number, w: number, h: number) =>
  (await colours(page.locator("#picture"), x, y, w, h)).length;
/** The numbers of a value of the URL. */
const numbers = (page: Opened, name: string) =>
  new RegExp(`[#&]${name}=([\\d.-]+)`).exec(page.url())?.[1]!.split(/[.-]/).map(Number);
const span = (page: Opened) => numbers(page, "t") as [number, number];
/** Acts, and waits until the URL has the changed view. */
async function changes(page: Opened, act: () => Promise<unknown>): Promise<void> {
  const before = page.url();
  await act();
  await page.waitForURL((url) => url.href !== before);
  await settle(page);
}
/** The text of the details when it contains another text. */
async function details(page: Opened, text: string): Promise<string> {
  await page.locator("#details", { hasText: text }).waitFor();
  return (await page.textContent("#details"))!;
}
/** An answer of the server. */
const answer = <T>(page: Opened, path: string) =>
  page.evaluate(async (path) => (await fetch(path)).json(), path) as Promise<T>;
const slices = async (page: Opened, from: number, to: number) =>
  (await answer<{ slices: Slice[] }>(page, `api/traces/0/events?from=${from}&to=${to}&limit=5000`)).slices;

const IN = "#t=100000000-106000000&height=normal";
/** The longest slice in `IN` that followed a wake-up, and a point inside it. */
async function longest(page: Opened): Promise<[slice: Slice, x: number, y: number]> {
  const [slice] = (await slices(page, 100e6, 106e6))
    .filter((s) => s.wake && s.from > 100e6 && s.to < 106e6)
    .sort((a, b) => b.to - b.from - (a.to - a.from));
  const { x, y, width } = (await page.locator("#picture").boundingBox())!;
  const share = ((slice!.from + slice!.to) / 2 - 100e6) / 6e6;
  // The middle of a row of 12 pixels. A gap of two pixels is between physical cores.
  const row = slice!.core * 12 + (slice!.core >> 1) * 2;
  return [slice!, x + GUTTER + share * (width - GUTTER - RIGHT), y + AXIS + 30 + 6 + row];
}
async function pick(page: Opened): Promise<Slice> {
  const [slice, x, y] = await longest(page);
  await changes(page, () => page.mouse.click(x, y));
  return slice;
}
async function drag(page: Opened, y: number, to: number): Promise<void> {
  await page.mouse.move(400, y);
  await page.mouse.down();
  await page.mouse.move(800, to, { steps: 4 });
  await page.mouse.up();
}

test("two traces are drawn above each other, without requests to other hosts", async () => {
  const page = await fresh();
  assert.ok((await seen(page, 120, 60, 1000, 200)) > 20, "the upper trace");
  assert.ok((await seen(page, 120, 420, 1000, 200)) > 20, "the lower trace");
  assert.equal(await page.locator("#legend .lost, #legend .inferred").count(), 0);
  assert.match(await page.title(), /cfs\.trace and nest\.trace/);
  assert.deepEqual(
    page.asked.filter((url) => !url.startsWith(viewer.address)),
    [],
  );
});

/** Waits until the page has had no request for 400 ms: prefetching has ended too. */
async function untilQuiet(page: Opened): Promise<void> {
  for (let asked = -1; asked !== page.asked.length || page.running > 0;) {
    asked = page.asked.length;
    await page.waitForTimeout(400);
  }
}

test("only visible and adjacent tiles are fetched; zooming fetches finer tiles", async () => {
  const page = await fresh();
  await page.mouse.move(700, 300);
  for (let i = 0; i < 8; i++) await page.keyboard.press("w");
  await settle(page);
  const [from, to] = span(page);
  assert.ok(to - from < 4e8 / 4, `${from}-${to}`);
  await view(page, `#t=100000000-101000000`);
  await untilQuiet(page);
  page.asked.length = 0;
  await view(page, `#t=200000000-201000000`);
  await untilQuiet(page);
  const tiles = page.asked.flatMap((url) => [...url.matchAll(/\/tiles\/(\d+)\/(\d+)\?/g)]);
  assert.ok(tiles.length > 0 && tiles.length <= 30, `${tiles.length} tiles`);
  for (const [, level, index] of tiles) {
    const width = 2 ** (18 + 2 * Number(level));
    assert.ok(
      (Number(index) - 1) * width < 201e6 && (Number(index) + 2) * width > 200e6,
      `tile ${level}/${index} is out of sight`,
    );
  }
  await view(page, "#t=100000000-100001000");
});

test("idle time is used for prefetching", async () => {
  const page = await fresh("#t=100000000-140000000");
  const inSight = () => page.asked.filter((path) => /\/tiles\/2\/(26|27|28|29|30)\?/.test(path));
  await untilQuiet(page);
  const ahead = inSight().length;
  assert.ok(ahead > 0, "tiles of level 2 are prefetched while level 3 is shown");
  await view(page, "#t=110000000-130000000");
  assert.equal(inSight().length, ahead, "none of them is asked for again");
});

test("keys, wheel and drags move the window", async () => {
  const page = await fresh("#t=100000000-140000000");
  const moved = async (act: () => Promise<unknown>): Promise<[number, number]> => {
    await changes(page, act);
    return span(page);
  };
  await page.mouse.move(640, 300);
  const before = span(page);
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
  assert.equal(await moved(() => page.keyboard.press("0")), undefined);
});

test("a coarser picture is shown while finer tiles load", async () => {
  const page = await fresh();
  let slow = true;
  await page.route("**/tiles/**", async (route) => {
    if (slow) await new Promise((done) => setTimeout(done, 1500));
    await route.continue().catch(() => {});
  });
  await page.evaluate(() => (location.hash = "#t=100000000-140000000"));
  await page.waitForTimeout(300);
  assert.equal(await page.getAttribute("html", "data-state"), "loading");
  assert.ok((await seen(page, 120, 60, 1000, 200)) > 10, "something is drawn");
  // Moving aborts the requests of the old window.
  const [failed] = await Promise.all([
    page.waitForEvent("requestfailed"),
    page.evaluate(() => (location.hash = "#t=300000000-301000000")),
  ]);
  assert.match(failed.failure()?.errorText ?? "", /ABORTED/);
  slow = false;
  await ready(page);
});

test("hover shows what runs there", async () => {
  const page = await fresh(IN);
  const [slice, x, y] = await longest(page);
  await page.mouse.move(x, y);
  await page.locator("#tip", { hasText: "frequency seen" }).waitFor();
  const text = (await page.textContent("#tip"))!;
  for (const part of [
    `· ${slice.thread}`,
    `core ${slice.core}, socket 0`,
    "GHz",
    "wake-up latency",
    "woken by",
    "placed",
  ])
    assert.ok(text.includes(part), `${part} in ${text}`);
  // 64 rows of 5 pixels on two sockets, in physical cores of two.
  const large = await fresh("#height=small&unused=1", { server: poor });
  const top = (await large.locator("#picture").boundingBox())!.y + AXIS + 30;
  await large.mouse.move(700, top + 63 * 5 + 30 + 8 + 2);
  await large.locator("#tip", { hasText: "core 63, socket 1" }).waitFor();
});

test("a click selects a thread; , and . follow it", async () => {
  const page = await fresh(IN);
  const slice = await pick(page);
  const selected = () => numbers(page, "select")!;
  const first = selected();
  assert.deepEqual(first, [0, slice.thread, slice.from, slice.core]);
  await changes(page, () => page.keyboard.press("."));
  const next = selected();
  assert.equal(next[1], first[1], "the same thread");
  assert.ok(next[2]! > first[2]!, "later");
  await changes(page, () => page.keyboard.press(","));
  assert.deepEqual(selected(), first);
  await changes(page, () => page.keyboard.press("f"));
  const [from, to] = span(page);
  assert.ok(from <= first[2]! && to - from < 6e6 * 4);
  await page.keyboard.press("m");
  await details(page, "wake-ups");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await settle(page);
  assert.equal(await page.isVisible("#details"), false);
});

test("a drag marks an area and shows its sums", async () => {
  const page = await fresh(IN);
  await drag(page, 300, 320);
  const text = await details(page, "overload");
  assert.match(text, /length2\.\d+ ms/);
  assert.match(text, /cfs\.trace.*nest\.trace/s);
});

test("a drag across rows marks their cores and lists the threads that ran there", async () => {
  const page = await fresh(IN);
  const y = (await page.locator("#picture").boundingBox())!.y + AXIS + 30 + 6;
  await drag(page, y, y + 60);
  await page.waitForSelector("#details .threads td");
  await settle(page);
  const [trace, ...cores] = numbers(page, "cores")!;
  assert.equal(trace, 0);
  assert.ok(cores.length > 1 && cores.length < 8, String(cores));
  const asked = page.asked.filter((path) => path.includes("/usage?")).pop()!;
  assert.ok(asked.endsWith(`&cores=${cores.join()}`), asked);
  const text = (await page.textContent("#details"))!;
  assert.match(text, /cores0-\d/);
  assert.doesNotMatch(text, /nest\.trace|underload/);
  await page.click("#details .threads .link");
  await details(page, "Whole run");
});

test("a selected slice tells why it is there; its thread has totals and a track", async () => {
  const page = await fresh(IN);
  const { core, from } = await pick(page);
  const why = await answer<Why>(page, `api/traces/0/why?core=${core}&time=${from}`);
  assert.match(
    await details(page, "Whole run"),
    new RegExp(
      `Why here.*placed(cfs|balance|none).*idle cores${why.before!.idle} of 8.*Whole run.*longest wake-up latency`,
      "s",
    ),
  );
  assert.match((await page.textContent("#legend"))!, /selected: running/);
  assert.ok(page.asked.some((path) => /threads\/\d+\/states\//.test(path)));
});

test("keys go to the next and previous long wake-up and overload", async () => {
  const page = await fresh();
  const selected = () => numbers(page, "select")![2]!;
  const press = (key: string) => changes(page, () => page.keyboard.press(key));
  await page.click("summary[title='Long wake-ups and overloads']");
  await page.selectOption("#least", "10000");
  await changes(page, () => page.click("#next-wakeup"));
  const first = selected();
  await press("l");
  const second = selected();
  assert.ok(second > first, `${second} after ${first}`);
  await press("Shift+L");
  assert.equal(selected(), first);
  assert.ok(span(page)[1] < 4e8, "it zooms");
  await press("o");
  assert.match(page.url(), /area=\d+-\d+&cores=0\.\d+/);
  await page.selectOption("#least", "100000000");
  await page.keyboard.press("o");
  await page.waitForSelector("#message:not([hidden])");
  assert.match((await page.textContent("#message"))!, /^no later overload of at least 100 ms\n/);
});

test("a query is answered below the picture; a row leads to its place; a link holds the query", async () => {
  const query = "SELECT name, start, duration, core, thread FROM slices JOIN threads USING (thread)";
  const page = await fresh();
  assert.ok(!(await page.isVisible("#sql")));
  await page.keyboard.press("q");
  await page.keyboard.type(query);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#sql[data-state=ready]");
  assert.match(
    (await page.textContent("#sql p"))!,
    /^the first 1,000 rows in .* s; a row leads to its place/,
  );
  const cells = await page.locator("#sql tbody tr").first().locator("td").allTextContents();
  const [, name, start, duration, core, thread] = cells as [string, string, string, string, string, string];
  await page.locator("#sql tbody tr button").first().click();
  await page.waitForFunction((tid) => location.hash.includes(`select=0.${tid}.`), thread);
  await settle(page);
  assert.deepEqual(numbers(page, "select"), [0, thread, start, core].map(Number));
  assert.equal(await page.textContent("#details h2"), name);
  const [from, to] = span(page);
  assert.ok(from < Number(start) && Number(start) + Number(duration) < to, "the window shows it");
  assert.equal(await page.locator("#sql img").count(), 0);

  const other = await fresh(new URL(page.url()).hash);
  await other.waitForSelector("#sql[data-state=ready]");
  assert.equal(await other.inputValue("#sql textarea"), query);

  await page.selectOption("#sql-trace", "1");
  await page.fill("#sql textarea", "SELECT * FROM none");
  await page.click("#sql-run");
  await page.waitForSelector("#sql[data-state=failed]");
  assert.match((await page.textContent("#sql p"))!, /^Catalog Error: Table with name none/);
  assert.match(page.errors.splice(0).join(), /^[^,]*400[^,]*$/, "only the refusal");
  assert.equal(await page.locator("#sql tbody tr").count(), 0, "no rows of another query");
  assert.ok(page.asked.some((path) => path.includes("api/traces/1/sql?query=SELECT%20*%20FROM%20none")));
  await page.click("#sql .close");
  assert.ok(!(await page.isVisible("#sql")));
  await settle(page);
  assert.doesNotMatch(page.url(), /sql=/);
});

test("tables and columns are completed as one types", async () => {
  const page = await fresh();
  await page.keyboard.press("q");
  const words = () => page.locator("#sql-words b").allTextContents();
  const text = () => page.inputValue("#sql textarea");
  await page.keyboard.type("SELECT * FROM sli");
  await page.waitForSelector("#sql-words:not([hidden])");
  assert.deepEqual(await words(), ["slices"]);
  assert.match((await page.textContent("#sql-words li"))!, /pieces of time in which a thread runs/);
  await page.keyboard.press("Tab");
  assert.equal(await text(), "SELECT * FROM slices");
  await page.keyboard.type(" WHERE ");
  assert.ok(!(await page.isVisible("#sql-words")), "nothing is typed of a word");
  await page.keyboard.press("Control+Space");
  await page.waitForSelector("#sql-words:not([hidden])");
  assert.deepEqual((await words()).slice(0, 3), ["core", "thread", "start"]);
  // Escape closes the words, not the box; Enter takes a word that was moved to.
  await page.keyboard.press("Escape");
  assert.ok(!(await page.isVisible("#sql-words")));
  await page.keyboard.type("s");
  await page.waitForSelector("#sql-words:not([hidden])");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getAttribute("#sql textarea", "aria-activedescendant"), "sql-word-1");
  await page.keyboard.press("Enter");
  assert.equal(await text(), "SELECT * FROM slices WHERE stop");
  await page.keyboard.type(" > 0");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("#sql[data-state=ready]");
});

test("a thread has its process, with who forked it and its threads; rows are grouped by process", async () => {
  const page = await fresh("", { server: recorded });
  await search(page, "21");
  await page.waitForSelector("#details dt:text-is('forked by')");
  const fact = (name: string) => page.textContent(`#details dt:text-is("${name}") + dd`);
  assert.deepEqual(
    [
      await page.textContent("#details h2"),
      await fact("tid"),
      await fact("process"),
      await fact("forked by"),
    ],
    ["cc1", "21", "cc1 21", "sh 10"],
  );
  await page.click("#parent");
  await page.waitForSelector('#details ul[aria-label="Processes that it forked"]');
  assert.equal(await fact("process"), "sh 10");
  const items = (name: string) => page.locator(`#details ul[aria-label="${name}"] li`).allTextContents();
  assert.deepEqual(await items("Processes that it forked"), ["cc1 20", "cc1 21"]);
  const own = (await items("Threads of the process")).map((text) => text.replace(/ \(\d+\)/, ""));
  assert.deepEqual(own.sort(), ["helper", "sh"]);

  // Two processes of one name are two rows, and one program; threads have their process above them.
  const labels = async (rows: string) => {
    await page.selectOption("#rows", rows);
    await settle(page);
    await page.click("summary[title='Save the picture']");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save-svg")]);
    await page.keyboard.press("Escape");
    const svg = await readFile(await download.path(), "utf8");
    const texts = [...svg.matchAll(/<text[^>]* x="([\d.]+)"[^>]* font-size="10"[^>]*>([^<]*)<\/text>/g)];
    const left = texts.filter(([, x]) => Number(x) <= GUTTER - 8).map((found) => found[2]!);
    return left.filter((text) => /^(sh|cc1|helper)\b/.test(text)).sort();
  };
  assert.deepEqual(await labels("process"), ["cc1 20", "cc1 21", "sh 10"]);
  assert.deepEqual(await labels("program"), ["cc1", "helper", "sh"]);
  const threads = (await labels("thread")).filter((label) => !label.includes("("));
  assert.deepEqual(threads, ["cc1 20", "cc1 21", "sh 10"]);
});

test("a pinned thread keeps its track; a link holds the pins", async () => {
  const page = await fresh("", { server: recorded });
  const picture = async (of: Opened) => {
    // Without the tip and the sign of the focus.
    await of.mouse.move(5, 5);
    await of.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await settle(of);
    return createHash("md5")
      .update(await of.locator("#picture").screenshot())
      .digest("hex");
  };
  const plain = await picture(page);
  await search(page, "helper");
  await page.click("#pin");
  await settle(page);
  assert.match(page.url(), /pin=0\.\d+/);
  assert.equal(await page.textContent("#pin"), "unpin");
  await page.click("#details .close");
  await settle(page);
  await page.keyboard.press("0");
  await settle(page);
  assert.doesNotMatch(page.url(), /select=/);
  const pinned = await picture(page);
  assert.notEqual(pinned, plain, "its track stays without the selection");
  const other = await fresh(new URL(page.url()).hash, { server: recorded });
  await settle(other);
  assert.equal(await picture(other), pinned);
  await search(page, "helper");
  await page.keyboard.press("p");
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
  await settle(page);
  assert.doesNotMatch(page.url(), /pin=/);
  assert.equal(await picture(page), plain);
});

test("the events of a selection are listed one by one", async () => {
  const page = await fresh("#area=2800000-6000000", { server: recorded });
  await page.click("#details button:text-is('events')");
  await page.waitForSelector("#events[data-state=ready]");
  assert.match((await page.textContent("#events p"))!, /^\d+ events of the marked area$/);
  const kinds = () => page.locator("#events tbody td:nth-child(3)").allTextContents();
  assert.ok(
    (await kinds()).every((kind) => ["switch", "wakeup"].includes(kind)),
    String(await kinds()),
  );
  await page.locator("#events tbody button:has-text('helper')").first().click();
  await page.waitForSelector("#details h2:text-is('helper')");
  await page.keyboard.press("e");
  await page.waitForFunction(() =>
    /helper .*, the marked area/.test(document.querySelector("#events p")!.textContent!),
  );
  const rows = await page.locator("#events tbody tr").allTextContents();
  assert.ok(rows.length >= 2 && rows.every((row) => row.includes("helper")), rows.join("\n"));
  await page.click("#events .close");
  assert.ok(!(await page.isVisible("#events")));
});

test("search finds a thread by name; names are not interpreted as HTML", async () => {
  const page = await fresh();
  await page.keyboard.press("/");
  await page.keyboard.type("<img");
  await page.waitForSelector("#found li[role=option]");
  assert.equal(await page.locator("#found li .who").first().textContent(), HOSTILE);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#details:not([hidden]) h3");
  await settle(page);
  assert.equal(await page.textContent("#details h2"), HOSTILE);
  await view(page, new URL(page.url()).hash.replace(/#/, "#colour=process&"));
  assert.equal(await page.evaluate("window.hacked"), undefined);
  assert.equal(await page.locator("#details img, #found img, #tip img, #legend img").count(), 0);
});

test("a link restores the view", async () => {
  const page = await fresh(IN);
  await pick(page);
  await page.selectOption("#colour", "reason");
  await page.selectOption("#height", "large");
  await changes(page, () => page.click("#theme"));
  const picture = await page.locator("#picture").screenshot();
  const other = await fresh(new URL(page.url()).hash);
  await other.waitForSelector("#details:not([hidden]) h3");
  await settle(other);
  assert.equal(await other.inputValue("#colour"), "reason");
  assert.equal(await other.getAttribute("html", "data-theme"), "dark");
  assert.equal(await other.textContent("#details h2"), await page.textContent("#details h2"));
  assert.ok(picture.equals(await other.locator("#picture").screenshot()), "the same picture");
});

test("all colourings, kinds of rows and named views are drawn", async () => {
  const page = await fresh("#t=100000000-160000000");
  const legends = new Set<string>();
  const choose = async (what: string, value: string) => {
    await page.selectOption(what, value);
    await settle(page);
    assert.ok((await seen(page, 120, 60, 1000, 180)) > 3, value);
  };
  for (const colour of ["frequency", "queue", "thread", "process", "reason"]) {
    await choose("#colour", colour);
    legends.add((await page.textContent("#legend"))!);
  }
  assert.equal(legends.size, 5, "each has its legend");
  for (const rows of ["thread", "process"]) await choose("#rows", rows);
  const [, ...names] = await page.locator("#named option").allTextContents();
  assert.ok(names.includes("placement"), String(names));
  for (const name of names) {
    await choose("#named", name);
    assert.match(page.url(), new RegExp(`view=${name}`));
    const colour = { queue: "queue", threads: "thread", placement: "reason" }[name] ?? "frequency";
    assert.equal(await page.inputValue("#colour"), colour);
  }
});

test("the power of a machine is a strip; facts of an area agree with the server", async () => {
  const page = await fresh();
  await page.click("summary[title='Parts of the picture']");
  assert.ok(!(await page.isChecked("[data-check=power]")), "it was not measured");
  await page.check("[data-check=power]");
  await settle(page);
  assert.match(page.url(), /strips=[^&]*power/);
  const [from, to] = [100e6, 160e6];
  const marked = await fresh(`#area=${from}-${to}&t=${from}-${to}`);
  const facts = await details(marked, "power, mean");
  const close = (name: string, value: number) => {
    const shown = Number(new RegExp(`${name}, mean([\\d.]+)`).exec(facts)![1]);
    assert.ok(Math.abs(shown - value) < 0.02 * value, `${name}: ${shown}, ${value}`);
  };
  const [{ energy }] = await answer<[TraceInfo]>(marked, "api/traces");
  const until = (end: number) => energy.findLast(([time]) => time <= end)![1];
  close("power", ((until(to) - until(from)) / (to - from)) * 1e3);
  const ran = (await slices(marked, from, to)).map((s) => Math.min(s.to, to) - Math.max(s.from, from));
  close("cores busy", ran.reduce((a, b) => a + b, 0) / (to - from));
});

test("a poor recording: lost events are told, programs have colours, other threads are dimmed", async () => {
  const page = await fresh("", { server: poor });
  assert.match((await page.textContent("#legend .lost"))!, /^⚠ 63 events lost, incomplete/);
  assert.equal(await page.textContent("#legend .inferred"), "5 events inferred");
  assert.equal(await page.inputValue("#colour"), "process");
  assert.equal(await page.locator("#show-sql").count(), 0, "no files, no SQL");
  assert.ok(await page.isChecked("#filter-traced"));
  assert.match((await page.textContent("#legend"))!, /make.*not of the command/);
  assert.ok((await seen(page, 120, 60, 1000, 400)) > 3);
  // Switched off, it stays so in the link.
  await page.click("summary[title='Filter of threads']");
  await page.uncheck("#filter-traced");
  await settle(page);
  assert.match(page.url(), /traced=any/);
  await page.reload();
  await ready(page);
  assert.ok(!(await page.isChecked("#filter-traced")));
});

test("a dimmed thread of the command does not look like one that is not of the command", async () => {
  const page = await fresh("", { server: poor });
  const threads = await answer<{ thread: number; traced: boolean }[]>(
    page,
    "api/traces/0/threads?q=&limit=1000",
  );
  const { thread } = threads.find(({ traced }) => traced)!;
  const grey = LIGHT.foreign.join();
  const shown = () => colours(page.locator("#picture"), 120, 60, 1000, 400);
  const patterns = () =>
    page
      .locator("#legend [data-pattern]")
      .evaluateAll((all) => all.map((item) => (item as HTMLElement).dataset.pattern));
  assert.ok((await shown()).includes(grey), "others are grey");
  assert.deepEqual(await patterns(), ["foreign", "spinning", "underload"]);
  await view(page, `#select=0.${thread}`);
  await settle(page);
  assert.ok((await shown()).includes(grey), "they stay grey beside a selection");
  assert.deepEqual(await patterns(), ["selected", "dimmed", "foreign", "spinning", "underload"]);
  await view(page, `#traced=any&select=0.${thread}`);
  await settle(page);
  const without = await shown();
  assert.ok(!without.includes(grey) && without.length > 3, "a selection alone makes nothing grey");
  assert.deepEqual(await patterns(), ["selected", "dimmed", "spinning", "underload"]);
});

test("unused cores are folded away until they are asked for", async () => {
  const server = await serve(program("HEARTH"), ["few.trace"], { cwd: folder });
  try {
    const page = await fresh("#strips=underload", { server });
    const rows = (of: Opened) => colours(of.locator("#picture"), 60, 60, 30, 500);
    const folded = await rows(page);
    await page.click("summary[title='Parts of the picture']");
    assert.ok(!(await page.isChecked("#unused")));
    await changes(page, () => page.check("#unused"));
    assert.match(page.url(), /unused=1/);
    await page.keyboard.press("Escape");
    assert.notDeepEqual(await rows(page), folded, "more labels");
  } finally {
    server.stop();
  }
});

test("dark and light themes, from the system and the toolbar", async () => {
  const page = await fresh("", { dark: true });
  const corner = () => colours(page.locator("#picture"), 40, 5, 1, 1);
  assert.deepEqual(await corner(), ["21,23,27"]);
  await page.click("#theme");
  await settle(page);
  assert.deepEqual(await corner(), ["255,255,255"]);
});

test("the picture is saved as PNG and SVG, with names as text", async () => {
  const page = await fresh(IN);
  const save = async (kind: string): Promise<Buffer> => {
    await page.click("summary[title='Save the picture']");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`#save-${kind}`)]);
    await page.keyboard.press("Escape");
    assert.equal(download.suggestedFilename(), `cfs-and-nest.${kind}`);
    return readFile(await download.path());
  };
  const png = await save("png");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  assert.ok(png.readUInt32BE(16) >= 2 * 1200, "twice the pixels");
  const svg = await save("svg");
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
  page.errors.length = 0;
});
